"""Shapes B7 to B10: Phases 2 and 3 over half a million Configured machines.

All run through the whole cycle, so each needs a Phase 1 that leaves the phase in question its
work. Where B7 and B8 only say "unresolved Needs with a deficit of five machines":

- machines have one CPU each (the definition gives them no resources, and a deficit is counted in
  resources), and a deficit of five machines is five CPUs;
- the unresolved Needs belong to a cluster of their own, `wanting`, that has no machines, so Phase 1
  finds nothing for them;
- every cluster with machines has one Need that keeps them all, at the machines' own priority and
  penalties; without it Phase 3 would reclaim the fleet.

`scale` multiplies the machines and the demand that keeps them, not the Needs.
"""

from collections.abc import Sequence

from bigfleet.bench.engine.catalog import B8192, FIVE_TYPES, ZONES, amounts, of_types
from bigfleet.bench.engine.workload import EngineWorkload, arrival_of, dealt, scaled, tier_of
from bigfleet.model.batches import MachineBatch, Offering
from bigfleet.model.machines import Assigned, CapacityType, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import PINNED, bucket_of_dollars
from bigfleet.model.profiles import Profile

ONE_CPU = amounts("1")
UNRESOLVED = 100
DEFICIT_MACHINES = 5
A3 = FIVE_TYPES[0]


def scale_inversions(scale: float) -> EngineWorkload:
    """B7: 100 critical Needs preempt five machines each out of 500,000 at priority 100."""
    machines, clusters = scaled(500_000, scale), 10
    stamp = Assigned(100, 1.0, 1.0)
    wanting = [_wanting(i, FIVE_TYPES[i % 5], 1_000_000, B8192, PINNED) for i in range(UNRESOLVED)]
    return EngineWorkload(
        (_bound(machines, clusters, FIVE_TYPES, stamp),),
        _keepers(machines, clusters, FIVE_TYPES, stamp) | {"wanting": wanting},
    )


def no_preemptable_victims(scale: float) -> EngineWorkload:
    """B8: 100 Needs of priority 1000 find every one of 450,000 machines above them."""
    machines, clusters = scaled(450_000, scale), 50
    stamp = Assigned(1_000_000, 8192.0, 65536.0)
    bucket = bucket_of_dollars(65536)
    wanting = [_wanting(i, A3, 1000, B8192, bucket) for i in range(UNRESOLVED)]
    return EngineWorkload(
        (_bound(machines, clusters, (A3,), stamp),),
        _keepers(machines, clusters, (A3,), stamp) | {"wanting": wanting},
    )


def high_demand(scale: float) -> EngineWorkload:
    """B9: 50 clusters of 10,000 OnDemand machines of one type keep a third of them each.

    Five types and fifty clusters dealt in turn give each cluster one type only, so of its three
    Needs the first keeps own machines and the other two are left to Phase 2.
    """
    machines, clusters = scaled(500_000, scale), 50
    wanted = ONE_CPU.times(scaled(3_333, scale))
    profiles = [Profile.of([of_types(t)], (), 1_000_000, B8192, PINNED) for t in FIVE_TYPES]
    needs = {
        f"c-{c}": [
            Need(f"c-{c}", profiles[(c + k) % 5], wanted, ONE_CPU, arrival_of(c)) for k in range(3)
        ]
        for c in range(clusters)
    }
    stamp = Assigned(100, 1.0, 1.0)
    return EngineWorkload(
        (_bound(machines, clusters, FIVE_TYPES, stamp, CapacityType.ON_DEMAND),), needs
    )


def kept_but_short(scale: float) -> EngineWorkload:
    """B10: 50 clusters keep 9,000 machines each and are 1,000 short."""
    clusters, each = 50, scaled(9_000, scale)
    profile = Profile.of([of_types(A3)], (), 1000, B8192, bucket_of_dollars(65536))
    needs = {
        f"c-{c}": [
            Need(f"c-{c}", profile, ONE_CPU.times(scaled(10_000, scale)), ONE_CPU, arrival_of(c))
        ]
        for c in range(clusters)
    }
    stamp = Assigned(1_000_000, 8192.0, 65536.0)
    return EngineWorkload((_bound(clusters * each, clusters, (A3,), stamp),), needs)


def _bound(
    machines: int,
    clusters: int,
    types: Sequence[str],
    stamp: Assigned,
    capacity: CapacityType = CapacityType.BARE_METAL,
) -> MachineBatch:
    return tier_of(
        [f"conf-{i}" for i in range(machines)],
        MachineState.CONFIGURED,
        [Offering(capacity, kind, ZONES[0], (), ONE_CPU) for kind in types],
        clusters=[f"c-{c}" for c in range(clusters)],
        cluster_of_machine=dealt(machines, clusters),
        stamps=[stamp],
    )


def _keepers(
    machines: int, clusters: int, types: Sequence[str], stamp: Assigned
) -> dict[str, list[Need]]:
    profile = Profile.of(
        [of_types(*types)],
        (),
        stamp.priority,
        bucket_of_dollars(stamp.interruption_penalty),
        bucket_of_dollars(stamp.reclamation_penalty),
    )
    return {
        f"c-{c}": [
            Need(
                f"c-{c}",
                profile,
                ONE_CPU.times(len(range(c, machines, clusters))),
                ONE_CPU,
                arrival_of(c),
            )
        ]
        for c in range(clusters)
    }


def _wanting(i: int, kind: str, priority: int, interruption: int, reclamation: int) -> Need:
    profile = Profile.of([of_types(kind)], (), priority, interruption, reclamation)
    return Need(
        "wanting", profile, ONE_CPU.times(DEFICIT_MACHINES), ONE_CPU, arrival_of(0), f"want-{i}"
    )
