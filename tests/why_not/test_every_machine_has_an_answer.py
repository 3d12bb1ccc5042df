"""Laws over drawn fleets: a predicate fails exactly where the Need does not have the machine."""

from hypothesis import given, settings

from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.machine_trace import explained_action, explained_machine
from bigfleet.explain.why_not import why_not_assigned, why_not_preempted, why_not_removed
from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet
from bigfleet.plan.cycle import engine_input_of
from tests.plan.drawn_fleets import fleets


def decided(fleet: Fleet) -> DecidedCycle:
    asked = engine_input_of(fleet)
    return DecidedCycle(asked, asked.decide())


@settings(max_examples=settings().max_examples // 4)
@given(fleets())
def test_a_predicate_fails_exactly_where_the_need_does_not_have_the_machine(fleet: Fleet) -> None:
    cycle = decided(fleet)
    for row in range(len(cycle.given.snapshot)):
        for need in range(len(cycle.outcome)):
            has = need in (cycle.holder(row), cycle.preemptor(row))
            answer = why_not_assigned(cycle, row, need)
            assert (answer.blocking is None) == has, answer
            taken = why_not_preempted(cycle, row, need)
            assert (taken.blocking is None) == (cycle.preemptor(row) == need), taken


@settings(max_examples=settings().max_examples // 4)
@given(fleets())
def test_what_is_neither_reclaimed_nor_released_has_a_reason_to_stay(fleet: Fleet) -> None:
    cycle = decided(fleet)
    leaves = {ActionKind.RECLAIM, ActionKind.DELETE, ActionKind.PREEMPT}
    going = {action.machine for action in cycle.decision.actions if action.kind in leaves}
    for row, machine in enumerate(cycle.given.snapshot.ids):
        answer = why_not_removed(cycle, row)
        if machine not in going:
            assert answer.blocking is not None, answer


@settings(max_examples=settings().max_examples // 4)
@given(fleets())
def test_every_action_has_a_complete_chain(fleet: Fleet) -> None:
    cycle = decided(fleet)
    for index, action in enumerate(cycle.decision.actions):
        answer = explained_action(cycle, index)
        assert [view.index for view in answer.actions] == [index]
        phases = [step.phase for step in answer.steps]
        assert "action" in phases
        assert "next best" in phases
        assert phases[-1] == "next"
        if action.kind is ActionKind.PREEMPT:
            assert {"taken by", "declared cost", "buying"} <= set(phases)
    for machine in cycle.given.snapshot.ids:
        assert explained_machine(cycle, machine).sentence
