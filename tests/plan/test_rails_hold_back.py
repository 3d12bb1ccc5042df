"""Rails keep the first reclaims and the most urgent actions, and leave no trace of the rest."""

import pytest

from bigfleet.model.reclaim_cap import reclaim_cap
from tests.plan.fleets import CONFIGURED, cycles_of, done


@pytest.mark.parametrize(
    ("fraction", "configured", "cap"),
    [
        (0.05, 0, 1),
        (0.05, 1, 1),
        (0.05, 19, 1),
        (0.05, 21, 1),
        (0.05, 40, 2),
        (0.05, 100, 5),
        (0.25, 40, 10),
        (0.5, 7, 3),
    ],
)
def test_the_cap_is_a_floor_but_never_zero(fraction: float, configured: int, cap: int) -> None:
    assert reclaim_cap(fraction, configured) == cap


def test_each_cluster_loses_only_its_first_machines_in_keep_order() -> None:
    machines = f"[{CONFIGURED % ('a', 40, 'a')}, {CONFIGURED % ('b', 10, 'b')}]"
    (cycle,) = cycles_of(f"machines: {machines}\noptions: {{reclaimCapFraction: 0.05}}")
    assert done(cycle) == [("Reclaim", "a-00"), ("Reclaim", "a-01"), ("Reclaim", "b-00")]
    assert (cycle.kept.capped, cycle.kept.deferred) == (47, 0)


def test_without_a_fraction_nothing_is_capped() -> None:
    (cycle,) = cycles_of(f"machines: [{CONFIGURED % ('a', 40, 'a')}]")
    assert len(done(cycle)) == 40
    assert cycle.kept.capped == 0


def test_without_a_clock_the_cap_is_per_cycle_and_all_leave_in_the_end() -> None:
    cycles = cycles_of(
        f"machines: [{CONFIGURED % ('a', 40, 'a')}]\n"
        "options: {reclaimCapFraction: 0.25, cycles: 30}"
    )
    lost = [len(done(cycle)) for cycle in cycles]
    assert lost[:4] == [10, 7, 5, 4]
    assert sum(lost) == 40


def test_with_a_clock_the_cap_holds_over_any_ten_seconds() -> None:
    cycles = cycles_of(
        f"machines: [{CONFIGURED % ('a', 40, 'a')}]\n"
        'options: {reclaimCapFraction: 0.25, cycles: 22, now: "2026-01-01T00:00:00Z",'
        " releaseHolds: {}}"
    )
    lost = [len(done(cycle)) for cycle in cycles]
    assert lost == [10] + [0] * 9 + [7] + [0] * 9 + [5, 0]


MIXED = """
machines:
  - {id: taken, state: Configured, cluster: low, capacityType: BareMetal, instanceType: big,
     resources: {cpu: 8}, assigned: {priority: 1}}
  - {id: spare, state: Configured, cluster: low, capacityType: BareMetal, instanceType: other,
     resources: {cpu: 8}, assigned: {priority: 1}}
  - {id: idle, state: Idle, capacityType: BareMetal, instanceType: small, resources: {cpu: 8}}
  - {id: slot, state: Speculative, capacityType: OnDemand, instanceType: small,
     resources: {cpu: 8}, pricePerHour: 1}
  - {id: old, state: Idle, capacityType: Spot, instanceType: gone, resources: {cpu: 8},
     idleSince: "2025-01-01T00:00:00Z"}
needs:
  - {cluster: low, priority: 1, aggregateResources: {cpu: 8},
     requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [big]}]}
  - {cluster: mid, priority: 5, aggregateResources: {cpu: 16},
     requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [small]}]}
  - {cluster: high, priority: 9, aggregateResources: {cpu: 8},
     requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [big]}]}
options: {now: "2026-01-01T00:00:00Z", maxActionsPerCycle: %d}
"""
URGENCY = [
    ("Preempt", "taken"),
    ("Bootstrap", "idle"),
    ("Provision", "slot"),
    ("Reclaim", "spare"),
    ("Delete", "old"),
]
EMISSION = [URGENCY[1], URGENCY[2], URGENCY[0], URGENCY[3], URGENCY[4]]


@pytest.mark.parametrize("budget", [0, 1, 2, 3, 4, 5, 6])
def test_the_budget_is_spent_on_the_most_urgent_and_keeps_the_order_of_emission(
    budget: int,
) -> None:
    (cycle,) = cycles_of(MIXED % budget)
    kept = URGENCY[:budget] if budget else URGENCY
    assert done(cycle) == [action for action in EMISSION if action in kept]
    assert cycle.kept.deferred == len(URGENCY) - len(kept)


NO_TRACE = """
machines: [{id: v, state: Configured, cluster: low, capacityType: BareMetal, resources: {cpu: 8},
            assigned: {priority: 1}},
           {id: i, state: Idle, capacityType: BareMetal, resources: {cpu: 8}, zone: z}]
needs:
  - {cluster: low, priority: 1, aggregateResources: {cpu: 8},
     requirements: [{key: topology.kubernetes.io/zone, operator: DoesNotExist}]}
  - {cluster: mid, priority: 5, aggregateResources: {cpu: 8},
     requirements: [{key: topology.kubernetes.io/zone, operator: DoesNotExist}]}
  - {cluster: high, priority: 9, aggregateResources: {cpu: 8},
     requirements: [{key: topology.kubernetes.io/zone, operator: Exists}]}
options: {maxActionsPerCycle: 1, cycles: 3}
"""


def test_a_preempt_that_is_cut_leaves_no_reservation_and_comes_again() -> None:
    first, second, third = cycles_of(NO_TRACE)
    assert done(first) == [("Bootstrap", "i")]
    assert set(first.decision.memory.reservations) == {"v"}
    assert first.kept.memory.reservations == {}
    assert done(second) == [("Preempt", "v")]
    assert set(second.kept.memory.reservations) == {"v"}
    assert done(third) == [("Bootstrap", "v")]
