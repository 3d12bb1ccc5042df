"""Shapes B1 and B2: Phase 1 over the small catalog, on an Idle pool and late in a run.

`scale` multiplies the machines and the Needs of each cluster; B2's aggregated demand, a fixed set
per cluster, grows with the number of clusters instead.
"""

from collections.abc import Iterable
from functools import cache
from math import lcm

import numpy as np

from bigfleet.bench.engine.catalog import B8192, CAT6, SAME_RACK, Archetype, cat6_at, of_types
from bigfleet.bench.engine.workload import EngineWorkload, arrival_of, interned, scaled, tier_of
from bigfleet.model.batches import MachineBatch, Offering
from bigfleet.model.machines import Assigned, CapacityType, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import RACK_KEY

RACKS = 8
LATE_CLUSTERS = 20
LATE_BOUND_PER_CLUSTER = 250


def realistic_50k(scale: float) -> EngineWorkload:
    """B1: 60,000 Idle machines, 50 clusters of 1,000 single-unit Needs."""
    return EngineWorkload(
        _idle_by_weight(scaled(60_000, scale)), _single_units(50, scaled(1_000, scale))
    )


def realistic_50k_all_same(scale: float) -> EngineWorkload:
    """B1 with Same(rack) on every Need."""
    needs = _single_units(50, scaled(1_000, scale), always_same=True)
    return EngineWorkload(_idle_by_weight(scaled(60_000, scale)), needs)


def late_run(scale: float) -> EngineWorkload:
    """B2: 18,000 machines and 160 Needs, each for 3,125 units."""
    clusters = scaled(LATE_CLUSTERS, scale)
    needs = {
        f"c-{c}": [_need(c, fp, cat6_at(c * 8 + fp), units=3_125) for fp in range(8)]
        for c in range(clusters)
    }
    return EngineWorkload(_late_machines(clusters, scale), needs)


def late_run_unaggregated(scale: float) -> EngineWorkload:
    """B2's machines with 20 clusters of 12,500 single-unit Needs."""
    needs = _single_units(LATE_CLUSTERS, scaled(12_500, scale))
    return EngineWorkload(_late_machines(scaled(LATE_CLUSTERS, scale), scale), needs)


def _idle_by_weight(total: int) -> tuple[MachineBatch, ...]:
    return tuple(
        tier_of(
            [f"idle-{archetype.name}-{i}" for i in range(total * archetype.weight // 100)],
            MachineState.IDLE,
            _rotation_of(archetype),
        )
        for archetype in CAT6
    )


def _rotation_of(archetype: Archetype) -> list[Offering]:
    """What machines 0, 1, 2, ... of an archetype are, up to where the sequence repeats."""
    period = lcm(len(archetype.types), len(archetype.zones), len(archetype.sizes), RACKS)
    return [_offering(archetype, i) for i in range(period)]


def _offering(
    archetype: Archetype,
    i: int,
    capacity: CapacityType = CapacityType.BARE_METAL,
    price: float = 0.0,
) -> Offering:
    return Offering(
        capacity,
        archetype.types[i % len(archetype.types)],
        archetype.zones[i % len(archetype.zones)],
        ((RACK_KEY, f"rack-{archetype.name}-{i % RACKS}"),),
        archetype.sizes[i % len(archetype.sizes)],
        price_per_hour=price,
    )


def _late_machines(clusters: int, scale: float) -> tuple[MachineBatch, ...]:
    """The archetype of a pool machine goes by its own index.

    No stamps are defined: bound machines carry their archetype's highest priority and $8,192.
    """
    bound = [
        (c, j, cat6_at(c * LATE_BOUND_PER_CLUSTER + j))
        for c in range(clusters)
        for j in range(LATE_BOUND_PER_CLUSTER)
    ]
    offerings, offering_of_machine = interned(_offering(archetype, j) for _, j, archetype in bound)
    stamps, stamp_of_machine = interned(
        Assigned(max(archetype.priorities), 8192.0, 8192.0) for _, _, archetype in bound
    )
    configured = tier_of(
        [f"conf-{c}-{j}" for c, j, _ in bound],
        MachineState.CONFIGURED,
        offerings,
        offering_of_machine,
        clusters=[f"c-{c}" for c in range(clusters)],
        cluster_of_machine=np.array([c for c, _, _ in bound], np.int32),
        stamps=stamps,
        stamp_of_machine=stamp_of_machine,
    )
    idle, speculative = scaled(1_000, scale), scaled(12_000, scale)
    return (
        configured,
        _late_pool("idle", MachineState.IDLE, (_offering(cat6_at(i), i) for i in range(idle))),
        _late_pool(
            "spec",
            MachineState.SPECULATIVE,
            (_offering(cat6_at(i), i, CapacityType.ON_DEMAND, 1.0) for i in range(speculative)),
        ),
    )


def _late_pool(prefix: str, state: MachineState, machines: Iterable[Offering]) -> MachineBatch:
    offerings, offering_of_machine = interned(machines)
    ids = [f"{prefix}-{i}" for i in range(len(offering_of_machine))]
    return tier_of(ids, state, offerings, offering_of_machine)


def _single_units(
    clusters: int, per_cluster: int, *, always_same: bool = False
) -> dict[str, list[Need]]:
    return {
        f"c-{c}": [
            _need(c, i, cat6_at(c * per_cluster + i), always_same=always_same)
            for i in range(per_cluster)
        ]
        for c in range(clusters)
    }


def _need(
    c: int, i: int, archetype: Archetype, *, units: int = 1, always_same: bool = False
) -> Need:
    """Every Need with Same is a gang of its own."""
    same = archetype.same_rack or always_same
    size = archetype.sizes[i % len(archetype.sizes)]
    profile = _profile(
        archetype.types[i % len(archetype.types)],
        archetype.priorities[i % len(archetype.priorities)],
        same,
    )
    group = f"g-{c}-{i}" if same else ""
    return Need(
        f"c-{c}", profile, size if units == 1 else size.times(units), size, arrival_of(c), group
    )


@cache
def _profile(instance_type: str, priority: int, same: bool) -> Profile:
    requirements = [of_types(instance_type), *([SAME_RACK] if same else [])]
    return Profile.of(requirements, (), priority, B8192, B8192)
