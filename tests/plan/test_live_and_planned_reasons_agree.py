"""A Need is explained with the same words whether its fleet is a file or alive."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.explain.column_facts import ColumnFacts
from bigfleet.explain.needs import reasons_of_need
from bigfleet.explain.situation import Situation
from bigfleet.model.fleet import Fleet, FleetMachine, Held
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind
from bigfleet.model.reasons import Reason
from bigfleet.plan.cycle import cycle_input
from tests.plan.drawn_fleets import fleets
from tests.plan.fleets import fleet_of

TYPE = "node.kubernetes.io/instance-type"


def both(fleet: Fleet) -> list[tuple[tuple[Reason, ...], tuple[Reason, ...]]]:
    """For each Need: its reasons from records, and from columns."""
    prepared = cycle_input(fleet)
    decision = prepared.decide()
    records = Situation.of(fleet, prepared.in_file_order(decision), "1")
    columns = ColumnFacts(decision, fleet.memory, "1", fleet.options.parking.probe)
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
