"""Requirements on a machine's labels as a pod writes them, and what they say together.

A requirement that compares numbers (Gt, Lt) accepts every value here: whether it can be asked for
is decided elsewhere.
"""

from collections.abc import Iterable, Mapping, Sequence

from bigfleet.kube.objects import SelectorTerm

#: Key, operator in the API's words, values in order and each once.
Requirement = tuple[str, str, tuple[str, ...]]

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
#: Written where nothing else is required.
ANY_TYPE: Requirement = (INSTANCE_TYPE, "Exists", ())


def requirement_of(term: SelectorTerm) -> Requirement:
    return term.key, term.operator, tuple(sorted(set(term.values)))


def requirement_json(requirement: Requirement) -> dict[str, object]:
    key, operator, values = requirement
    body: dict[str, object] = {"key": key, "operator": operator}
    return body | {"values": list(values)} if values else body


def in_values(key: str, values: Iterable[str]) -> Requirement:
    return key, "In", tuple(sorted(set(values)))


def accepts(requirement: Requirement, value: str | None) -> bool:
    """`value` None: the label is absent."""
    _, operator, values = requirement
    match operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return True


def met_by(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    return all(accepts(each, labels.get(each[0])) for each in requirements)


def contradiction_in(requirements: Iterable[Requirement]) -> str | None:
    """The first key, in order, of which no value can meet them all."""
    by_key: dict[str, list[Requirement]] = {}
    for each in requirements:
        by_key.setdefault(each[0], []).append(each)
    for key in sorted(by_key):
        if not _can_be_met(by_key[key]):
            return key
    return None


def narrowed(
    own: Sequence[Requirement], more: Sequence[Requirement]
) -> tuple[Requirement, ...] | None:
    """Both together, in order; None: they contradict each other.

    Where `more` lists values of a key, those that `own` accepts replace all that `own` says of it:
    equal demands are written alike, in any order of narrowing.
    """
    found = [each for each in own if each != ANY_TYPE or len(own) > 1 or not more]
    for each in more:
        key, operator, values = each
        same = [other for other in found if other[0] == key]
        if operator != "In":
            found.append(each)
        else:
            left = [value for value in values if all(accepts(other, value) for other in same)]
            found = [other for other in found if other[0] != key]
            found.append(in_values(key, left))
    whole = tuple(sorted(set(found)))
    return None if contradiction_in(whole) is not None else whole


def excluding(
    own: Sequence[Requirement], forbidden: Sequence[Requirement]
) -> tuple[Requirement, ...] | None:
    """`own` and those of `forbidden` that it does not imply already; None: a contradiction."""
    more = [each for each in forbidden if not _implies(own, each)]
    if not more:
        return tuple(own)
    found = [each for each in own if each != ANY_TYPE or len(own) > 1]
    whole = tuple(sorted({*found, *more}))
    return None if contradiction_in(whole) is not None else whole


def _implies(own: Iterable[Requirement], wanted: Requirement) -> bool:
    """Whether the values that `own` lists for the key all meet `wanted`."""
    lists = [values for key, operator, values in own if key == wanted[0] and operator == "In"]
    return any(all(accepts(wanted, value) for value in values) for values in lists)


def _can_be_met(of_one_key: Sequence[Requirement]) -> bool:
    listed = [values for _, operator, values in of_one_key if operator == "In"]
    if listed:
        return any(all(accepts(each, value) for each in of_one_key) for value in listed[0])
    operators = {operator for _, operator, _ in of_one_key}
    return not {"Exists", "DoesNotExist"} <= operators
