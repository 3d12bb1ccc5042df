"""Explanation coverage on generated fleets: no action and no Need without a complete sentence."""

from itertools import pairwise

from hypothesis import given, settings

from bigfleet.explain.actions import reasons_of_action
from bigfleet.explain.needs import reasons_of_need
from bigfleet.explain.situation import Situation
from bigfleet.model.actions import UnmetReason
from bigfleet.model.fleet import Fleet
from bigfleet.plan.cycles import planned_cycles
from bigfleet.plan.document import summary_of
from tests.plan.drawn_fleets import fleets

TOPOLOGY_CODES = {"same.no-domain", "same.too-small", "same.parked", "spread.skew"}


@settings(max_examples=settings().max_examples // 5)
@given(fleets())
def test_every_action_and_every_need_has_a_sentence_for_its_reason(fleet: Fleet) -> None:
    for cycle in planned_cycles(fleet, workers=1, clock=lambda: 0.0):
        situation = Situation.of(cycle.fleet, cycle.decision, cycle.name)
        reasons = [reasons_of_action(situation, action) for action in cycle.decision.actions]
        reasons += [reasons_of_need(situation, verdict) for verdict in cycle.decision.verdicts]
        for found in reasons:
            assert found
            assert all(reason.text != reason.code for reason in found)


@settings(max_examples=settings().max_examples // 5)
@given(fleets())
def test_the_first_reason_agrees_with_the_unmet_reason_on_the_wire(fleet: Fleet) -> None:
    cycle = next(planned_cycles(fleet, workers=1, clock=lambda: 0.0))
    situation = Situation.of(cycle.fleet, cycle.decision, cycle.name)
    for verdict in cycle.decision.verdicts:
        codes = {reason.code for reason in reasons_of_need(situation, verdict)}
        topological = verdict.unmet_reason is UnmetReason.TOPOLOGY_UNSATISFIABLE
        assert bool(codes & TOPOLOGY_CODES) == topological
        if verdict.unmet_reason is UnmetReason.PREEMPTION_EXHAUSTED:
            assert "preempt.exhausted" in codes


@settings(max_examples=settings().max_examples // 5)
@given(fleets())
def test_the_bill_after_a_cycle_is_the_bill_before_the_next(fleet: Fleet) -> None:
    cycles = list(planned_cycles(fleet, workers=1, clock=lambda: 0.0))
    summaries = [summary_of(cycle) for cycle in cycles]
    for this, following in pairwise(summaries):
        assert this["hourlyCostAfter"] == following["hourlyCostBefore"]
