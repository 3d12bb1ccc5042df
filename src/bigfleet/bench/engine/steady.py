"""Shapes B11 to B13 and scaleway-500k: a shard's steady cycle, and the two snapshots alone.

B11 is defined with reconcile and execution; until the shard's own bench exists it is the engine's
cycle alone. `scale` multiplies the machines and the Needs (or units) of each cluster.
"""

from bigfleet.bench.engine.catalog import B8192, FIVE_TYPES, SAME_RACK, ZONES, amounts, of_types
from bigfleet.bench.engine.workload import (
    EngineWorkload,
    arrival_of,
    dealt,
    interned,
    scaled,
    tier_of,
)
from bigfleet.model.batches import MachineBatch, Offering
from bigfleet.model.machines import Assigned, CapacityType, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile

FIVE_SHAPES = (
    amounts(gpu=8),
    amounts("2", "8Gi"),
    amounts("16", "32Gi"),
    amounts("32", "128Gi"),
    amounts("4", "32Gi"),
)
SIX_TYPES = (
    "a3-highgpu-8g",
    "n2-standard-32",
    "c3-highcpu-176",
    "m3-megamem-128",
    "g2-standard-16",
    "h3-standard-88",
)
CLUSTERS = 50
NEEDS_PER_CLUSTER = 1_000


def steady(idle: int, scale: float) -> EngineWorkload:
    """B11: an Idle pool of five types, and a Need for one machine in every row."""
    profiles = {
        (kind, priority): Profile.of([of_types(FIVE_TYPES[kind])], (), priority, B8192, B8192)
        for kind in range(5)
        for priority in range(1_000, 11_000, 1_000)
    }
    needs = {
        f"c-{c}": [
            Need(
                f"c-{c}",
                profiles[(c + i) % 5, 1_000 + i % 10 * 1_000],
                FIVE_SHAPES[(c + i) % 5],
                FIVE_SHAPES[(c + i) % 5],
                arrival_of(c),
            )
            for i in range(scaled(NEEDS_PER_CLUSTER, scale))
        ]
        for c in range(CLUSTERS)
    }
    return EngineWorkload((_five_types(scaled(idle, scale)),), needs)


def scaleway_500k(scale: float) -> EngineWorkload:
    """500,000 Idle machines; each of 50 clusters wants 1,000 GPU nodes in one aggregated Need.

    The definition gives no priority: 1000.
    """
    unit = FIVE_SHAPES[0]
    profile = Profile.of([of_types(FIVE_TYPES[0])], (), 1000, B8192, B8192)
    aggregate = unit.times(scaled(1_000, scale))
    needs = {
        f"c-{c}": [Need(f"c-{c}", profile, aggregate, unit, arrival_of(c))] for c in range(CLUSTERS)
    }
    return EngineWorkload((_five_types(scaled(500_000, scale)),), needs)


def inventory_snapshot(scale: float) -> EngineWorkload:
    """B12: 40,000 Idle and 20,000 Configured machines; the index runs over a whole tier."""
    idle, bound = CLUSTERS * scaled(800, scale), CLUSTERS * scaled(400, scale)
    priced = [
        Offering(
            CapacityType.BARE_METAL,
            SIX_TYPES[i % 6],
            "fr-par-1",
            price_per_hour=1 + 0.05 * (i % 17),
        )
        for i in range(6 * 17)
    ]
    stamps, stamp_of_machine = interned(
        Assigned(1000 + i % 500, 0.0, float(i % 8192)) for i in range(bound)
    )
    configured = tier_of(
        [f"conf-{i}" for i in range(bound)],
        MachineState.CONFIGURED,
        priced,
        clusters=[f"c-{c}" for c in range(CLUSTERS)],
        cluster_of_machine=dealt(bound, CLUSTERS),
        stamps=stamps,
        stamp_of_machine=stamp_of_machine,
    )
    return EngineWorkload(
        (tier_of([f"idle-{i}" for i in range(idle)], MachineState.IDLE, priced), configured), {}
    )


def needs_snapshot(scale: float) -> EngineWorkload:
    """B13: 50 clusters of 1,000 gangs, every row with an arrival and a group of its own.

    The definition gives no resources: four CPUs a row.
    """
    each, unit = scaled(NEEDS_PER_CLUSTER, scale), amounts("4")
    profile = Profile.of([of_types("c6i.4xlarge"), SAME_RACK], (), 1000, B8192, B8192)
    needs = {
        f"c-{c}": [
            Need(f"c-{c}", profile, unit, unit, c * each + i, f"g-{c}-{i}") for i in range(each)
        ]
        for c in range(CLUSTERS)
    }
    return EngineWorkload((), needs)


def _five_types(count: int) -> MachineBatch:
    offerings = [
        Offering(CapacityType.BARE_METAL, FIVE_TYPES[i % 5], ZONES[i % 3], (), FIVE_SHAPES[i % 5])
        for i in range(15)
    ]
    return tier_of([f"idle-{i}" for i in range(count)], MachineState.IDLE, offerings)
