"""`plan` and a shard explain the same decision in the same words."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.engine.needs_table import NeedsTable
from bigfleet.explain.actions import reasons_of_action
from bigfleet.explain.column_facts import ColumnFacts
from bigfleet.explain.needs import reasons_of_need
from bigfleet.explain.situation import Situation
from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine, Held
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind
from bigfleet.model.reasons import Reason
from bigfleet.plan.cycle import cycle_input, decide_fleet
from bigfleet.shard.cycle import CycleInput, deliberate
from tests.plan.drawn_fleets import fleets
from tests.plan.fleets import fleet_of

TYPE = "node.kubernetes.io/instance-type"


def both(fleet: Fleet) -> list[tuple[tuple[Reason, ...], tuple[Reason, ...]]]:
    """For each Need: its reasons from records, and from columns."""
    prepared = cycle_input(fleet)
    decision = prepared.decide()
    records = Situation.of(fleet, prepared.in_file_order(decision), "1")
    columns = ColumnFacts(decision, fleet.memory, fleet.options, fleet.now, "1")
    return [
        (
            reasons_of_need(records, records.decision.verdicts[row]),
            reasons_of_need(columns, columns.verdict(row)),
        )
        for row in range(len(records.decision.verdicts))
        if not records.decision.verdicts[row].satisfied
    ]


@st.composite
def remembering(draw: st.DrawFn) -> Fleet:
    """With reservations for Needs of the fleet, and holds that do not say when they end."""
    fleet = draw(fleets())
    keys = [entry.need.key for entry in fleet.needs]
    ids = [entry.machine.id for entry in fleet.machines]
    chosen = draw(st.lists(st.sampled_from(ids), max_size=3, unique=True)) if keys and ids else []
    reservations = {
        machine: Reservation(machine, ReservationKind.PREEMPTION, draw(st.sampled_from(keys)))
        for machine in chosen
    }
    machines = tuple(map(_without_end, fleet.machines))
    return replace(fleet, machines=machines, memory=EngineMemory(reservations))


def _without_end(entry: FleetMachine) -> FleetMachine:
    held = entry.marks.held
    return replace(entry, marks=replace(entry.marks, held=held and Held(held.by)))


@settings(max_examples=settings().max_examples // 5)
@given(remembering())
def test_every_unmet_need_is_told_the_same_from_columns_as_from_records(fleet: Fleet) -> None:
    for planned, live in both(fleet):
        assert live == planned


def test_machines_that_are_too_small_are_counted_with_what_the_nearest_one_has() -> None:
    ((planned, live),) = both(
        fleet_of(
            f"""
machines:
  - {{id: "m{{0}}", count: 7, state: Idle, capacityType: Spot, instanceType: m5,
     resources: {{cpu: 8, memory: 32Gi}}}}
  - {{id: n, state: Idle, capacityType: Spot, instanceType: t3, resources: {{memory: 128Gi}}}}
needs:
  - {{cluster: c, priority: 1, aggregateResources: {{memory: 64Gi}}, minUnit: {{memory: 64Gi}},
     requirements: [{{key: {TYPE}, operator: In, values: [m5]}}]}}
"""
        )
    )
    assert live == planned
    assert live[0].text == (
        "7 machines match but are too small: memory 32Gi allocatable, 64Gi needed (m0)"
    )


def sentences_of_plan(fleet: Fleet) -> list[tuple[ActionKind, str]]:
    """Without the ranking, which only `plan` has the time for; see the test of it below."""
    situation = Situation.of(fleet, decide_fleet(fleet), "1")
    return [
        (action.kind, _unranked(reasons_of_action(situation, action)[0]))
        for action in situation.decision.actions
    ]


def sentences_of_shard(fleet: Fleet) -> list[tuple[ActionKind, str]]:
    """As a cycle of a shard says them of the same machines and Needs."""
    table = NeedsTable()
    for cluster in dict.fromkeys(entry.need.cluster for entry in fleet.needs):
        table.replace(cluster, [e.need for e in fleet.needs if e.need.cluster == cluster])
    given = CycleInput(
        1,
        fleet.now or 0,
        cycle_input(fleet).given.snapshot,
        table.freeze(),
        fleet.memory,
        fleet.options,
    )
    thought = deliberate(given, map, lambda: 0.0)
    kinds = [action.kind for action in thought.actions]
    return list(zip(kinds, thought.sentences, strict=True))


def _unranked(reason: Reason) -> str:
    facts = {name: fact for name, fact in reason.facts.items() if name != "rank"}
    return replace(reason, facts=facts).text


@settings(max_examples=settings().max_examples // 5)
@given(remembering())
def test_plan_and_a_shard_say_the_same_sentence_for_every_action(fleet: Fleet) -> None:
    fleet = replace(fleet, now=fleet.now or 0)
    assert sentences_of_shard(fleet) == sentences_of_plan(fleet)


BUSY = """
options: {now: "2026-01-01T01:00:00.5Z"}
machines:
  - {id: idle, state: Idle, capacityType: BareMetal, pricePerHour: 0.5, resources: {cpu: 8}}
  - {id: idle-spot, state: Idle, capacityType: Spot, pricePerHour: 0.25, resources: {cpu: 8},
     interruptionProbability: 0.1}
  - {id: unused, state: Idle, capacityType: OnDemand, resources: {cpu: 1},
     idleSince: "2026-01-01T00:00:00Z"}
  - {id: slot, state: Speculative, capacityType: Spot, pricePerHour: 0.125, resources: {cpu: 8},
     interruptionProbability: 0.25}
  - {id: claimed, state: Configured, cluster: low, capacityType: BareMetal, resources: {cpu: 8},
     assigned: {priority: 100, interruptionPenalty: 2}}
  - {id: excess, state: Configured, cluster: low, capacityType: BareMetal, resources: {cpu: 8},
     assigned: {priority: 7}}
  - {id: leaving, state: Configured, cluster: low, capacityType: BareMetal, resources: {cpu: 1}}
  - {id: "rack-{0}", count: 2, state: Configured, cluster: batch, capacityType: BareMetal,
     labels: {rack: r1}, resources: {gpu: 8}, assigned: {priority: 5}}
needs:
  - {cluster: low, priority: 400, aggregateResources: {cpu: 8}, minUnit: {cpu: 8}}
  - {cluster: batch, priority: 5, aggregateResources: {gpu: 16}, minUnit: {gpu: 8}}
  - {cluster: high, priority: 1000, aggregateResources: {cpu: 80}, minUnit: {cpu: 8},
     interruptionPenaltyBucket: 4}
  - {cluster: train, priority: 900, group: g, aggregateResources: {gpu: 16}, minUnit: {gpu: 8},
     requirements: [{key: rack, operator: Same}]}
"""


def test_the_sentences_agree_for_every_kind_of_action() -> None:
    fleet = fleet_of(BUSY)
    told = sentences_of_shard(fleet)
    assert {kind for kind, _ in told} == set(ActionKind)
    assert told == sentences_of_plan(fleet)
    high = f"need/high/{fleet.needs[2].need.key.need_id}"
    texts = [text for _, text in told]
    assert f"idle match at $0.50/h for {high}" in texts
    assert any("priority 400 by 600: score" in text for text in texts), "of the holder"
    assert any("priority 7 by 993: score" in text for text in texts), "of the stamp"
    assert any("it takes r1 whole, 2 machines together" in text for text in texts)
    assert any("idle for 1 h, and OnDemand" in text for text in texts)


def test_plan_adds_the_ranking_to_what_the_shard_says() -> None:
    fleet = fleet_of(BUSY)
    situation = Situation.of(fleet, decide_fleet(fleet), "1")
    for action, (_, live) in zip(
        situation.decision.actions, sentences_of_shard(fleet), strict=True
    ):
        planned = reasons_of_action(situation, action)[0].text
        if action.kind in (ActionKind.BOOTSTRAP, ActionKind.PROVISION):
            assert planned.startswith(f"{live}: ")
        else:
            assert planned == live
