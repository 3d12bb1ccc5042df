"""Why a Need got what it got: the numbers add up, and nothing is decided twice."""

from pathlib import Path

import pytest
from hypothesis import given, settings

from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.need_trace import explain_need
from bigfleet.explain.needs import reasons_of_need
from bigfleet.fleetfile import load_fleet
from bigfleet.model.explanations import MOST_CANDIDATES, CandidateOutcome, NeedExplanation
from bigfleet.model.fleet import Fleet
from bigfleet.model.reasons import TEMPLATES
from bigfleet.plan.cycle import engine_input_of
from bigfleet.wire.explanations import NEED_EXPLANATION
from tests.plan.drawn_fleets import fleets

FLEETS = Path("examples/fleets")
EXAMPLES = sorted(path.name for path in FLEETS.glob("*.yaml"))


def decided(fleet: Fleet) -> DecidedCycle:
    asked = engine_input_of(fleet)
    return DecidedCycle(asked, asked.decide(), "1")


def example(name: str) -> DecidedCycle:
    return decided(load_fleet((FLEETS / name).read_bytes(), name))


def explained(cycle: DecidedCycle) -> list[NeedExplanation]:
    return [explain_need(cycle, row) for row in range(len(cycle.outcome))]


def assert_it_adds_up(cycle: DecidedCycle, told: NeedExplanation) -> None:
    taken = sum(each.machines for each in told.rejects if each.outcome.taken)
    rejected = sum(each.machines for each in told.rejects if not each.outcome.taken)
    assert taken + rejected == told.machines == len(cycle.given.snapshot)
    assert taken == told.view.claimed
    assert all(each.outcome is not CandidateOutcome.UNSPECIFIED for each in told.rejects)
    assert all(each.code in TEMPLATES for each in told.rejects)
    wanted = told.view.need.aggregate.positive()
    credit, acquire = told.steps[:2]
    for name, amount in wanted.amounts:
        left = max(0, amount - credit.covered[name] - acquire.covered[name])
        assert told.view.deficit[name] == left == acquire.remaining[name]


@settings(max_examples=60, deadline=None)
@given(fleets())
def test_each_machine_counts_once_and_the_amounts_add_up(fleet: Fleet) -> None:
    cycle = decided(fleet)
    for told in explained(cycle):
        assert_it_adds_up(cycle, told)


@settings(max_examples=30, deadline=None)
@given(fleets())
def test_to_explain_a_cycle_changes_nothing_in_it(fleet: Fleet) -> None:
    untouched, traced = decided(fleet).decision, decided(fleet)
    explained(traced)
    assert traced.decision.actions == untouched.actions
    assert traced.decision.verdicts == untouched.verdicts
    assert traced.decision.memory == untouched.memory
    assert traced.given.decide().actions == untouched.actions


@settings(max_examples=30, deadline=None)
@given(fleets())
def test_an_explanation_crosses_the_wire(fleet: Fleet) -> None:
    for told in explained(decided(fleet)):
        message = NEED_EXPLANATION.message(told)
        back = NEED_EXPLANATION.record(message)
        assert NEED_EXPLANATION.message(back) == message


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_unmet_need_of_the_examples_has_a_complete_chain(name: str) -> None:
    cycle = example(name)
    for row, told in enumerate(explained(cycle)):
        assert_it_adds_up(cycle, told)
        reasons = reasons_of_need(cycle.facts, cycle.decision.verdicts[row])
        assert told.sentence == reasons[0].text
        assert [each.text for each in told.reasons] == [each.text for each in reasons]
        if not told.view.satisfied:
            assert told.steps[-1].phase == "preempt"
            assert told.candidates
            assert all(each.text for each in told.candidates if not each.outcome.taken)


def test_candidates_stand_in_the_order_of_the_engine_with_their_cost() -> None:
    cycle = example("first-look.yaml")
    told = explain_need(cycle, cycle.need_row("shop", ""))
    free = [each for each in told.candidates if each.rank]
    assert [each.rank for each in free] == [1, 2, 3, 4, 5]
    assert [each.machine for each in free][:3] == ["bm-1", "od-00", "od-01"]
    assert told.total_candidates == 5
    cost = free[1].cost
    assert cost.effective_cost_per_hour == pytest.approx(
        cost.price_per_hour + cost.interruption_probability * cost.interruption_penalty_dollars
    )


def test_victims_have_each_term_of_their_score_and_the_best_spared_one_follows() -> None:
    cycle = example("priority-inversion.yaml")
    told = explain_need(cycle, cycle.need_row("train", ""))
    *victims, spared = told.victims
    assert [each.chosen for each in told.victims] == [True, True, False]
    preempted = cycle.outcome.preempted.row.tolist()
    assert [each.machine for each in victims] == [
        cycle.given.snapshot.ids[row] for row in preempted
    ]
    for each in told.victims:
        terms = each.gap_term + each.drain_term + each.interruption_term + each.reclamation_term
        assert each.score == pytest.approx(terms)
        assert each.gap_term == 900_000
    assert spared.score <= victims[-1].score
    assert "cover what is short" in spared.excluded_reason


def test_a_holder_is_told_as_strictly_higher_or_only_earlier() -> None:
    cycle = example("gang-in-a-rack.yaml")
    told = next(each for each in explained(cycle) if not each.view.satisfied)
    (holder,) = told.competitors
    assert (holder.machines, holder.priority, holder.strictly_higher) == (3, 1000, True)


def test_a_number_of_candidates_beyond_the_most_is_cut_and_said() -> None:
    cycle = example("first-look.yaml")
    told = explain_need(cycle, 0, 5_000_000)
    assert len(told.candidates) <= MOST_CANDIDATES
    assert "5000000" in told.notes[0]
