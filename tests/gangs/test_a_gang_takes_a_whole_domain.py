"""U26: a gang that has and finds nothing takes a domain of lower priority, whole or not at all.

No cluster has reported unless a case says so: every victim has its stamped priority.
"""

from dataclasses import replace
from random import Random

from bigfleet.model.actions import ActionKind, UnmetReason
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from bigfleet.plan.cycle import FileDecision, decide_fleet
from tests.closedloop.simulator import Simulator
from tests.worlds.fleets import (
    NOW,
    UNREPORTED,
    actions_of,
    decided,
    fleet_of,
    memory_of,
    preempted,
    reserved,
    verdict_of,
)
from tests.worlds.racks import m5, rack_gang, small_need

GANG = rack_gang("train", 12, "g", priority=1_000_000)


def held(rack: str, *priorities: int, cluster: str = "batch") -> list[FleetMachine]:
    """A rack full of this cluster's machines of these priorities."""
    return [
        m5(
            f"{rack}-{i}",
            MachineState.CONFIGURED,
            rack=rack,
            cluster=cluster,
            stamp=Assigned(priority=priority),
        )
        for i, priority in enumerate(priorities)
    ]


def draining(name: str, rack: str) -> FleetMachine:
    return m5(name, MachineState.DRAINING, rack=rack, cluster="batch")


def phase_two(machines: list[FleetMachine], *needs: Need, **more: object) -> FileDecision:
    return decided(machines, needs or [GANG], options=UNREPORTED, **more)  # type: ignore[arg-type]


def test_the_highest_gang_runs_on_a_fleet_that_is_full() -> None:
    decision = phase_two(held("a", 100, 100, 100) + held("b", 500, 500))
    verdict = verdict_of(decision)
    assert preempted(decision) == ["a-0", "a-1", "a-2"]
    assert (verdict.domain, verdict.preempts) == ("a", 3)
    assert verdict.unresolved.is_zero()
    assert verdict.unmet_reason is UnmetReason.PRIORITY_STARVED
    assert all(a.whole_domain for a in actions_of(decision, ActionKind.PREEMPT))
    assert set(decision.memory.reservations) == {"a-0", "a-1", "a-2"}


def test_two_halves_are_no_whole() -> None:
    decision = phase_two(held("a", 100, 100) + held("b", 100, 100))
    assert preempted(decision) == []
    assert verdict_of(decision).domain is None
    assert verdict_of(decision).unmet_reason is UnmetReason.TOPOLOGY_UNSATISFIABLE


def test_of_each_rack_the_lowest_machines_count_until_they_cover() -> None:
    decision = phase_two(held("a", 500, 100, 400, 100, 300))
    assert preempted(decision) == ["a-1", "a-3", "a-4"]


def test_the_rack_whose_highest_victim_is_lowest_goes() -> None:
    """Rack b has more machines of the lowest priority, and one that is higher than any of a."""
    decision = phase_two(held("a", 300, 300, 300) + held("b", 100, 100, 400))
    assert verdict_of(decision).domain == "a"


def test_at_equal_height_the_rack_that_costs_fewer_machines_goes() -> None:
    big = [
        replace(m, machine=replace(m.machine, resources=m.machine.resources.times(2)))
        for m in held("b", 100, 100)
    ]
    decision = phase_two(held("a", 100, 100, 100) + big)
    assert preempted(decision) == ["b-0", "b-1"]


def test_at_equal_cost_the_smaller_value_goes() -> None:
    assert verdict_of(phase_two(held("b", 1, 1, 1) + held("a", 1, 1, 1))).domain == "a"


def test_equals_are_no_victims() -> None:
    assert preempted(phase_two(held("a", 100, 100, 1_000_000))) == []


def test_a_machine_has_the_priority_of_the_need_that_claims_it() -> None:
    """U1: rack a is stamped low and serves a Need as high as the gang."""
    service = small_need("shop", 12, priority=1_000_000)
    machines = held("a", 0, 0, 0, cluster="shop") + held("b", 500, 500, 500)
    decision = decided(machines, [GANG, service], options=UNREPORTED)
    assert preempted(decision) == ["b-0", "b-1", "b-2"]


def test_what_a_higher_gang_took_is_gone() -> None:
    higher = rack_gang("first", 12, "h", priority=2_000_000)
    decision = phase_two(held("a", 1, 1, 1) + held("b", 2, 2, 2), GANG, higher)
    assert verdict_of(decision, 1).domain == "a"
    assert verdict_of(decision, 0).domain == "b"


def test_a_gang_that_could_have_a_single_machine_anywhere_takes_no_rack() -> None:
    """It has a domain, and concentrates there: the ordinary rule of Phase 2 holds."""
    machines = [*held("a", 1, 1, 1), m5("idle", rack="b")]
    decision = phase_two(machines)
    assert verdict_of(decision).domain == "b"
    assert preempted(decision) == []


def test_a_parked_gang_takes_no_rack() -> None:
    memory = EngineMemory(parking={GANG.key: 9})
    decision = phase_two(held("a", 1, 1, 1), memory=memory)
    assert verdict_of(decision).parked
    assert preempted(decision) == []


def test_machines_without_a_rack_are_no_rack() -> None:
    loose = [replace(m, machine=replace(m.machine, labels={})) for m in held("a", 1, 1, 1)]
    assert preempted(phase_two(loose)) == []


def test_while_its_machines_drain_the_rack_stays_chosen_and_nothing_more_goes() -> None:
    machines = [draining(f"a-{i}", "a") for i in range(3)] + held("b", 1, 1, 1)
    memory = memory_of(*(reserved(f"a-{i}", GANG) for i in range(3)))
    decision = phase_two(machines, memory=memory)
    verdict = verdict_of(decision)
    assert (verdict.domain, verdict.same_satisfiable) == ("a", True)
    assert preempted(decision) == []
    assert verdict.unresolved.is_zero()
    assert decision.memory.parking == {}


def test_the_first_machine_that_is_idle_is_taken_while_the_others_drain() -> None:
    machines = [
        m5("a-0", rack="a"),
        draining("a-1", "a"),
        draining("a-2", "a"),
        *held("b", 1, 1, 1),
    ]
    memory = memory_of(*(reserved(f"a-{i}", GANG) for i in range(3)))
    decision = phase_two(machines, memory=memory)
    assert verdict_of(decision).claimed == ("a-0",)
    assert set(decision.memory.reservations) == {"a-1", "a-2"}


def test_a_domain_whose_drain_is_only_begun_beats_a_smaller_one_with_idle_machines() -> None:
    machines = [draining(f"a-{i}", "a") for i in range(3)] + [m5("b-0", rack="b")]
    memory = memory_of(*(reserved(f"a-{i}", GANG) for i in range(3)))
    assert verdict_of(phase_two(machines, memory=memory)).domain == "a"


def test_a_machine_that_drains_for_another_need_makes_no_domain() -> None:
    other = replace(GANG, group="other")
    machines = [draining(f"a-{i}", "a") for i in range(3)]
    memory = memory_of(*(reserved(f"a-{i}", other) for i in range(3)))
    decision = phase_two(machines, GANG, other, memory=memory)
    assert verdict_of(decision, 0).domain is None
    assert verdict_of(decision, 1).domain == "a"


def test_a_gang_gets_its_rack_and_everybody_rests() -> None:
    """Two full racks of batch, a gang of three: the loop ends with the gang running in one."""
    batch = small_need("batch", 24, priority=100)
    machines = held("a", 100, 100, 100) + held("b", 100, 100, 100)
    fleet = fleet_of(machines, [batch, GANG], options=EngineOptions(), now=NOW)
    for seed in range(5):
        world = Simulator(fleet, Random(seed), slowest=4, cycle_seconds=15)
        taken = 0
        for _ in range(80):
            taken += len(actions_of(world.run_cycle(decide_fleet), ActionKind.PREEMPT))
        racks = [
            each.machine.labels["topology.bigfleet/rack"]
            for each in world.fleet.machines
            if each.machine.cluster == "train" and each.machine.state is MachineState.CONFIGURED
        ]
        assert (taken, racks) == (3, ["a"] * 3), f"seed {seed}"
