"""Small fleets for plan tests, written as a person would write them."""

from bigfleet.fleetfile import load_fleet
from bigfleet.model.fleet import Fleet
from bigfleet.plan.cycles import PlannedCycle, planned_cycles

CONFIGURED = (
    '{id: "%s-{00}", count: %d, state: Configured, cluster: %s, capacityType: OnDemand,'
    " pricePerHour: 1, resources: {cpu: 8}, assigned: {priority: 100}}"
)


def fleet_of(body: str) -> Fleet:
    return load_fleet(f"version: 1\nkind: Fleet\n{body}\n".encode(), "fleet.yaml")


def cycles_of(body: str) -> list[PlannedCycle]:
    """Every cycle, timed by a clock that stands still."""
    return list(planned_cycles(fleet_of(body), workers=1, clock=lambda: 0.0))


def done(cycle: PlannedCycle) -> list[tuple[str, str]]:
    """What is left after the rails, as (kind, machine)."""
    return [(action.kind.label, action.machine) for action in cycle.kept.actions]
