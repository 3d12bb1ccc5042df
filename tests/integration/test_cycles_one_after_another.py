"""Whole cycles: a decision, its actions carried out at once, and the next decision."""

from collections import Counter

from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet
from bigfleet.model.machines import MachineState
from bigfleet.model.options import EngineOptions
from bigfleet.plan.cycle import FileDecision, decide_fleet
from bigfleet.plan.cycles import next_fleet
from tests.worlds import gpus
from tests.worlds.fleets import (
    bootstrapped,
    decided,
    fleet_of,
    preempted,
    reclaimed,
    unsatisfied,
    verdict_of,
)
from tests.worlds.gpus import MILLION, plain

WHOLE = EngineOptions()


def run(fleet: Fleet) -> tuple[FileDecision, Fleet]:
    decision = decide_fleet(fleet)
    return decision, next_fleet(fleet, decision.actions, decision.memory)


def states_of(fleet: Fleet) -> Counter[tuple[MachineState, str]]:
    return Counter((m.machine.state, m.machine.cluster) for m in fleet.machines)


def test_sixty_four_idle_machines_become_a_cluster() -> None:
    """X1."""
    decision, after = run(fleet_of(gpus.idle(64), [plain("c", 0, 64)], options=WHOLE))
    assert len(bootstrapped(decision)) == 64
    assert states_of(after) == {(MachineState.CONFIGURED, "c"): 64}
    assert run(after)[0].actions == ()


def test_half_of_what_is_wanted_leaves_half_unresolved() -> None:
    """X2."""
    decision = decided(gpus.idle(32), [plain("c", 0, 64)], options=WHOLE)
    verdict = verdict_of(decision)
    assert len(decision.actions) == len(bootstrapped(decision)) == 32
    assert verdict.deficit == verdict.unresolved == gpus.gpus(256)
    assert verdict.preempts == 0
    assert set(decision.memory.shortfalls) == {verdict.need.key}


def test_a_cluster_whose_demand_ends_gives_everything_back() -> None:
    """X3."""
    _, bound = run(fleet_of(gpus.idle(64), [plain("c", 0, 64)], options=WHOLE))
    decision = decided(bound.machines, options=WHOLE, memory=bound.memory)
    assert len(reclaimed(decision)) == len(decision.actions) == 64


def test_a_preempted_machine_serves_the_need_that_asked_in_the_next_cycle() -> None:
    """X4."""
    machines = gpus.bound_many(4, "batch", 100_000)
    needs = [plain("batch", 100_000, 4), plain("train", MILLION, 4)]
    decision, after = run(fleet_of(machines, needs, options=WHOLE))
    assert unsatisfied(decision) == [1]
    assert len(preempted(decision)) == len(decision.actions) == 4
    decision, after = run(after)
    assert [(a.kind, a.cluster) for a in decision.actions] == [(ActionKind.BOOTSTRAP, "train")] * 4
    assert states_of(after) == {(MachineState.CONFIGURED, "train"): 4}
    assert run(after)[0].actions == ()
