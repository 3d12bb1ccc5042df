"""Every action of the example fleets has a complete chain; a Need may have very many candidates."""

from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.machine_trace import explained_action
from bigfleet.explain.need_trace import explain_need
from bigfleet.fleetfile import load_fleet
from bigfleet.model.actions import ActionKind
from bigfleet.model.explanations import CANDIDATES, CandidateOutcome
from bigfleet.model.machines import MachineState
from bigfleet.plan.cycle import engine_input_of
from bigfleet.wire.explanations import NEED_EXPLANATION
from tests.plan.fleets import fleet_of

FLEETS = Path("examples/fleets")
EXAMPLES = sorted(path.name for path in FLEETS.glob("*.yaml"))
#: What an answer may take on the wire, however large the fleet.
MOST_BYTES = 16 * 1024


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_action_of_the_examples_has_a_complete_chain(name: str) -> None:
    asked = engine_input_of(load_fleet((FLEETS / name).read_bytes(), name))
    cycle = DecidedCycle(asked, asked.decide(), "1")
    for index, action in enumerate(cycle.decision.actions):
        answer = explained_action(cycle, index)
        phases = [step.phase for step in answer.steps]
        assert answer.sentence
        assert {"action", "next best"} <= set(phases)
        assert phases[-1] == "next"
        assert all(step.text for step in answer.steps)
        if action.kind is ActionKind.PREEMPT:
            assert {"taken by", "declared cost", "buying"} <= set(phases)


@pytest.mark.parametrize(
    "machines", [2_000, pytest.param(200_000, marks=pytest.mark.nightly("why"))]
)
def test_a_need_with_very_many_candidates_has_a_short_answer_that_adds_up(machines: int) -> None:
    """All but a few could serve it: some are free, some are another Need's, some are too small."""
    fleet = fleet_of(
        f"""
machines:
  - {{id: "spot-{{0}}", count: {machines - 200}, state: Speculative, capacityType: Spot,
     pricePerHour: 0.1, resources: {{cpu: 8}}}}
  - {{id: "own-{{0}}", count: 100, state: Configured, cluster: shop, capacityType: OnDemand,
     resources: {{cpu: 8}}}}
  - {{id: "small-{{0}}", count: 100, state: Idle, capacityType: BareMetal, resources: {{cpu: 2}}}}
needs:
  - {{cluster: shop, priority: 900, aggregateResources: {{cpu: 800}}, minUnit: {{cpu: 4}}}}
  - {{cluster: big, priority: 10, aggregateResources: {{cpu: 80}}, minUnit: {{cpu: 4}}}}
"""
    )
    given = replace(engine_input_of(fleet), cycle=3)
    cycle = DecidedCycle(given, given.decide(), "3")
    told = explain_need(cycle, cycle.need_row("big", ""))
    counts = {each.outcome: each.machines for each in told.rejects}
    assert sum(counts.values()) == told.machines == machines
    assert told.total_candidates == machines - 200
    assert counts[CandidateOutcome.CHOSEN] == told.view.provisions == 10
    assert counts[CandidateOutcome.NOT_NEEDED] == machines - 210
    assert counts[CandidateOutcome.MIN_UNIT] == 100
    assert len(told.candidates) == CANDIDATES
    assert {each.state for each in told.candidates} == {MachineState.SPECULATIVE}
    assert len(NEED_EXPLANATION.message(told).SerializeToString()) < MOST_BYTES
