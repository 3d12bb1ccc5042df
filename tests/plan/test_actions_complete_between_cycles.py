"""Between the cycles of a plan every action completes at once, and the memory goes on."""

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import Assigned, Host, MachineState
from bigfleet.model.options import SECOND
from bigfleet.plan.cycles import PlannedCycle
from tests.plan.fleets import cycles_of, done

NOW = 'now: "2026-01-01T00:00:00Z"'


def machine(cycles: list[PlannedCycle], number: int, machine_id: str) -> FleetMachine:
    fleet = cycles[number - 1].fleet
    return next(entry for entry in fleet.machines if entry.machine.id == machine_id)


def test_acquired_machines_are_configured_and_stamped() -> None:
    cycles = cycles_of(
        f"""
machines:
  - {{id: idle, state: Idle, capacityType: BareMetal, resources: {{cpu: 8}}, host: rack/7}}
  - {{id: slot, state: Speculative, capacityType: OnDemand, resources: {{cpu: 8}}}}
needs: [{{cluster: shop, priority: 7, aggregateResources: {{cpu: 16}}, group: g,
         interruptionPenaltyBucket: "4", reclamationPenaltyBucket: pinned}}]
options: {{cycles: 2, {NOW}}}
"""
    )
    need = cycles[0].fleet.needs[0].need
    stamp = Assigned(7, 4.0, float("inf"), "shop", need.profile.fingerprint, "g")
    for machine_id, host in (("idle", Host("rack", "7")), ("slot", Host("sim", "slot"))):
        bound = machine(cycles, 2, machine_id).machine
        assert (bound.state, bound.cluster) == (MachineState.CONFIGURED, "shop")
        assert bound.assigned == stamp
        assert bound.host == host
    assert done(cycles[1]) == []


def test_a_reclaimed_machine_is_idle_from_now_and_released_after_its_hold() -> None:
    cycles = cycles_of(
        f"""
machines: [{{id: m, state: Configured, cluster: c, capacityType: Spot, resources: {{cpu: 8}},
            assigned: {{priority: 5, cluster: c}}}}]
options: {{cycles: 4, {NOW}, releaseHolds: {{Spot: 2}}}}
"""
    )
    assert [done(cycle) for cycle in cycles] == [
        [("Reclaim", "m")],
        [],
        [("Delete", "m")],
        [],
    ]
    start = cycles[0].fleet.now
    assert start is not None
    assert [cycle.fleet.now for cycle in cycles] == [start + n * SECOND for n in range(4)]
    freed = machine(cycles, 2, "m")
    assert (freed.machine.state, freed.machine.cluster) == (MachineState.IDLE, "")
    assert freed.machine.assigned == Assigned()
    assert freed.marks.idle_since == start
    gone = machine(cycles, 4, "m")
    assert (gone.machine.state, gone.machine.host) == (MachineState.SPECULATIVE, Host())
    assert gone.marks.idle_since is None


def test_without_a_clock_a_reclaimed_machine_is_never_released() -> None:
    cycles = cycles_of(
        "machines: [{id: m, state: Configured, cluster: c, capacityType: Spot}]\n"
        "options: {cycles: 3, releaseHolds: {Spot: 1}}"
    )
    assert [done(cycle) for cycle in cycles] == [[("Reclaim", "m")], [], []]
    assert cycles[2].fleet.now is None


def test_a_freed_victim_goes_to_the_need_that_preempted_it() -> None:
    cycles = cycles_of(
        f"""
machines: [{{id: v, state: Configured, cluster: low, capacityType: BareMetal,
            resources: {{cpu: 8}}, assigned: {{priority: 1}}}}]
needs:
  - {{cluster: low, priority: 1, aggregateResources: {{cpu: 8}}}}
  - {{cluster: high, priority: 9, aggregateResources: {{cpu: 8}}}}
options: {{cycles: 3, {NOW}}}
"""
    )
    assert [done(cycle) for cycle in cycles] == [[("Preempt", "v")], [("Bootstrap", "v")], []]
    assert machine(cycles, 3, "v").machine.cluster == "high"


def test_machines_in_transition_stay_so() -> None:
    cycles = cycles_of(
        """
machines:
  - {id: making, state: Creating, capacityType: Spot}
  - {id: joining, state: Configuring, cluster: c, capacityType: Spot}
  - {id: leaving, state: Draining, cluster: c, capacityType: Spot}
  - {id: ending, state: Deleting, capacityType: Spot}
  - {id: broken, state: Failed, capacityType: Spot, lastError: lost}
options: {cycles: 3}
"""
    )
    assert cycles[2].fleet.machines == cycles[0].fleet.machines
