"""Which machine may serve which Need: requirements, MinUnit, and its value of a topology key."""

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import Machine
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import (
    INSTANCE_TYPE_KEY,
    ZONE_KEY,
    Operator,
    Requirement,
)


def matches(profile: Profile, machine: Machine) -> bool:
    return all(meets(r, attribute(machine, r.key)) for r in profile.requirements)


def serves(need: Need, each: FleetMachine) -> bool:
    """Matches, and holds one MinUnit alone."""
    machine = each.machine
    return matches(need.profile, machine) and machine.effective_allocatable.covers(need.min_unit)


def attribute(machine: Machine, key: str) -> str | None:
    if key == INSTANCE_TYPE_KEY and machine.instance_type != "":
        return machine.instance_type
    if key == ZONE_KEY and machine.zone != "":
        return machine.zone
    return machine.labels.get(key)


def meets(requirement: Requirement, value: str | None) -> bool:
    present = value is not None
    listed = value in requirement.values
    if requirement.operator is Operator.IN:
        return present and listed
    if requirement.operator is Operator.NOT_IN:
        return not (present and listed)
    if requirement.operator is Operator.EXISTS:
        return present
    if requirement.operator is Operator.DOES_NOT_EXIST:
        return not present
    if requirement.operator is Operator.SAME:
        return present and (listed or requirement.values == ())
    return False


def domain_value(each: FleetMachine, key: str) -> str | None:
    """The machine's domain under `key`; an empty value is not a domain (U9)."""
    return attribute(each.machine, key) or None


def pinned_types(profile: Profile) -> tuple[str, ...]:
    """The values of the first instance-type requirement if it is a non-empty In, else none."""
    for requirement in profile.requirements:
        if requirement.key == INSTANCE_TYPE_KEY:
            return requirement.values if requirement.operator is Operator.IN else ()
    return ()
