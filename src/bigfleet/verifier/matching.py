"""Whether a machine can serve a Need: the verifier's own reading of requirements and resources.

Deliberately not the records' own `met_by` and `covers`, which the engine's tables are made with: a
mistake there must not be repeated here.
"""

from bigfleet.model.needs import Need
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.verifier.facts import MachineShape


def why_no_match(shape: MachineShape, need: Need) -> str:
    """What of the machine does not fit the Need, as words; empty: it fits.

    A gang that one machine holds whole is together wherever that machine is, so its Same says
    nothing there.
    """
    problem = _why_unmet(shape, need, with_same=True) or _why_too_small(shape, need.min_unit)
    if not problem:
        return ""
    is_gang = any(each.operator is Operator.SAME for each in need.profile.requirements)
    if is_gang and not _why_too_small(shape, need.aggregate):
        return _why_unmet(shape, need, with_same=False)
    return problem


def _why_unmet(shape: MachineShape, need: Need, *, with_same: bool) -> str:
    for each in need.profile.requirements:
        if each.operator is Operator.SAME and not with_same:
            continue
        value = _value_of(shape, each.key)
        if not _is_met(each, value):
            said = "nothing" if value is None else repr(value)
            return f"{each.key} {each.operator.name} {', '.join(each.values)}: it has {said}"
    return ""


def _value_of(shape: MachineShape, key: str) -> str | None:
    if key == INSTANCE_TYPE_KEY and shape.instance_type:
        return shape.instance_type
    if key == ZONE_KEY and shape.zone:
        return shape.zone
    return shape.labels.get(key)


def _is_met(requirement: Requirement, value: str | None) -> bool:
    operator, listed = requirement.operator, requirement.values
    if operator is Operator.NOT_IN:
        return value not in listed
    if operator is Operator.DOES_NOT_EXIST:
        return value is None
    if value is None:
        return False
    if operator is Operator.IN:
        return value in listed
    if operator is Operator.SAME:
        return not listed or value in listed
    return operator is Operator.EXISTS


def _why_too_small(shape: MachineShape, wanted: Resources) -> str:
    have = dict(shape.capacity.amounts)
    for name, amount in wanted.amounts:
        if have.get(name, 0) < amount:
            return f"{name}: it has {have.get(name, 0)} of {amount}"
    return ""


def covers(total: dict[str, int], wanted: Resources) -> bool:
    """Whether amounts by dimension are all that is wanted."""
    return all(total.get(name, 0) >= amount for name, amount in wanted.amounts)
