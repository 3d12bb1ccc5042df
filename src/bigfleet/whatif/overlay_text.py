"""Edits as people write them: `zone-loss b`, `demand cluster=ml x1.4`, one text or mapping each.

Read by `edit_of`, written by `text_of`; what is written reads back as the same edit.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from bigfleet.fleetfile import load_fleet, machine_line, need_line
from bigfleet.fleetfile.yaml_dialect import decode_yaml
from bigfleet.model.counted_ids import counted_id, is_counted
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.penalties import LABELS, Bucket, bucket_label
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import (
    HIGHEST_PRIORITY,
    LARGEST_FACTOR,
    LOWEST_PRIORITY,
    MOST_ADDED_MACHINES,
    AddDemand,
    AddMachines,
    Edit,
    EngineOption,
    NeedSelector,
    NumberEdit,
    RemoveMachines,
    ReplaceDemand,
    ScaleDemand,
    SetAttributes,
    SetPenalty,
    SetPriority,
    StockOut,
)

_STATES = {state.name.lower(): state for state in MachineState if state}
_CAPACITIES = {kind.name.lower().replace("_", ""): kind for kind in CapacityType if kind}
_LABEL = "label."
_PRIORITY = re.compile(r"priority(>=|<=|=)(-?[0-9]{1,10})")


class BadEdit(ValueError):
    """The text says what to write instead."""


def edit_of(operation: str, said: object) -> Edit:
    """Raises BadInput that names the operation."""
    read = _READERS.get(operation)
    if read is None:
        close = get_close_matches(operation, _READERS, n=1)
        instead = f"did you mean {close[0]}?" if close else f"there are {', '.join(_READERS)}"
        raise BadInput([Problem(operation, f"no such edit; {instead}")])
    try:
        return read(said)
    except BadEdit as problem:
        raise BadInput([Problem(operation, str(problem))]) from None
    except BadInput as problem:
        raise BadInput([Problem(operation, str(p)) for p in problem.problems]) from None


def text_of(edit: Edit) -> str:
    """Canonical: the operation and what follows it."""
    match edit:
        case RemoveMachines(selector):
            return _removal_text(selector)
        case AddMachines():
            return f"machines-add {json.dumps(machine_template(edit), ensure_ascii=False)}"
        case SetAttributes(selector, price, probability, labels):
            parts = [(_PRICE, price), (_PROBABILITY, probability)]
            texts = [f"{n} {_spaced(selector)}{_number_text(e)}" for n, e in parts if e]
            texts += [f"label {_spaced(selector)}{key}={value}" for key, value in labels]
            return "; ".join(texts)
        case StockOut(selector):
            return f"stock-out {_selector_text(selector)}"
        case ScaleDemand(selector, factor):
            change = f"x{_exact(factor)}" if factor else "withdraw"
            return f"demand {_need_text(selector)}{change}"
        case AddDemand(need):
            return f"demand {_need_json(FleetNeed(need))}"
        case ReplaceDemand(cluster, ()):
            return f"cluster-leave {cluster}"
        case ReplaceDemand(cluster, needs):
            listed = ", ".join(_need_json(FleetNeed(need)) for need in needs)
            return f"cluster-join {cluster} [{listed}]"
        case SetPenalty(selector, interruption, reclamation):
            named = (("interruption", interruption), ("reclamation", reclamation))
            said = [f"{name}={bucket_label(b)}" for name, b in named if b is not None]
            return f"penalty {_need_text(selector)}{' '.join(said)}"
        case SetPriority(selector, priority):
            return f"priority {_need_text(selector)}={priority}"
        case EngineOption(name, value):
            return f"option {name}={value}"


def machine_template(edit: AddMachines) -> dict[str, Any]:
    document = json.loads(machine_line(FleetMachine(edit.template)))["machine"]
    return {**document, "id": edit.id_pattern or edit.template.id, "count": edit.count}


# -- machines ------------------------------------------------------------------------------------

_PRICE, _PROBABILITY = "price", "probability"


def machine_selector(text: str) -> MachineSelector:
    selector = MachineSelector()
    for word in text.split():
        key, equals, said = word.partition("=")
        values = frozenset(v for v in said.split(",") if v)
        if not equals:
            key, values = "id", frozenset([word.removeprefix("machine/")])
        if not values or not key:
            raise BadEdit(f"{word!r} is not a term; {_TERMS}")
        selector = _with_term(selector, key, values)
    return selector


_TERMS = (
    "write zone=, type=, capacity=, state=, cluster=, provider=, a label as KEY=VALUE,"
    " or the id of a machine; a * stands for any characters"
)


def _with_term(selector: MachineSelector, key: str, values: frozenset[str]) -> MachineSelector:
    match key:
        case "id":
            return replace(selector, ids=selector.ids | values)
        case "zone":
            return replace(selector, zones=selector.zones | values)
        case "type":
            return replace(selector, instance_types=selector.instance_types | values)
        case "state":
            states = frozenset(_known(v, _STATES, "state") for v in values)
            return replace(selector, states=selector.states | states)
        case "capacity":
            kinds = frozenset(int(_known(v, _CAPACITIES, "capacity type")) for v in values)
            return replace(selector, capacity_types=selector.capacity_types | kinds)
        case "cluster":
            return replace(selector, cluster=_only(key, values).removeprefix("cluster/"))
        case "provider":
            return replace(selector, provider=_only(key, values))
        case _:
            label = (key.removeprefix(_LABEL), _only(key, values))
            return replace(selector, labels=tuple(sorted({*selector.labels, label})))


def _known(said: str, known: Mapping[str, Any], what: str) -> Any:
    word = said.lower().replace("-", "").replace("_", "")
    if word not in known:
        close = get_close_matches(word, known, n=1)
        instead = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
        raise BadEdit(f"{said!r} is no {what}; {instead}")
    return known[word]


def _only(key: str, values: frozenset[str]) -> str:
    if len(values) != 1:
        raise BadEdit(f"{key}= takes one value; {', '.join(sorted(values))} are several")
    return next(iter(values))


def _selector_text(selector: MachineSelector) -> str:
    capacities = {int(kind): kind.label for kind in CapacityType}
    terms = [
        ("zone", sorted(selector.zones)),
        ("type", sorted(selector.instance_types)),
        ("capacity", sorted(capacities[kind] for kind in selector.capacity_types)),
        ("state", sorted(state.label for state in selector.states)),
        ("cluster", [selector.cluster] if selector.cluster else []),
        ("provider", [selector.provider] if selector.provider else []),
        *((key, [value]) for key, value in selector.labels),
        ("id", sorted(selector.ids)),
        ("id", [f"{selector.id_prefix}*"] if selector.id_prefix else []),
    ]
    return " ".join(f"{key}={','.join(values)}" for key, values in terms if values)


def _spaced(selector: MachineSelector) -> str:
    text = _selector_text(selector)
    return f"{text} " if text else ""


def _removal_text(selector: MachineSelector) -> str:
    for zone in selector.zones:
        if selector == MachineSelector(zones=frozenset([zone])):
            return f"zone-loss {zone}"
    for key, value in selector.labels:
        if selector == MachineSelector(labels=((key, value),)):
            return f"domain-loss {key}={value}"
    return f"machines-remove {_selector_text(selector)}"


def _zone_loss(said: object) -> Edit:
    zone = _text(said).removeprefix("zone=")
    if not zone or len(zone.split()) > 1:
        raise BadEdit(f"{zone!r} is not one zone; write the name of the zone, such as b")
    return RemoveMachines(MachineSelector(zones=frozenset([zone])))


def _domain_loss(said: object) -> Edit:
    key, equals, value = _text(said).partition("=")
    if not (equals and key and value) or " " in key:
        raise BadEdit("write the label and its value, such as topology.bigfleet/rack=a-rack-1")
    return RemoveMachines(MachineSelector(labels=((key.removeprefix(_LABEL), value),)))


def _machines_remove(said: object) -> Edit:
    return RemoveMachines(_selected(said))


def _stock_out(said: object) -> Edit:
    return StockOut(_selected(said))


def _selected(said: object) -> MachineSelector:
    text = _text(said)
    if not text.strip():
        raise BadEdit(f"which machines? {_TERMS}")
    return machine_selector(text)


def _machines_add(said: object) -> Edit:
    record = dict(_mapping(said))
    count, pattern = record.pop("count", 1), str(record.get("id", ""))
    if type(count) is not int or not 1 <= count <= MOST_ADDED_MACHINES:
        raise BadEdit(f"count: {count!r}: write a whole number from 1 to {MOST_ADDED_MACHINES}")
    if found := sorted({"zones", "racks"} & record.keys()):
        raise BadEdit(f"{found[0]}: write one machines-add for each zone or rack")
    if count > 1 and not is_counted(pattern):
        raise BadEdit(f"id: {pattern!r}: where does the number go? write it as od-{{000}}")
    record["id"] = counted_id(pattern, 0)
    template = _fleet_of(machines=[record]).machines[0]
    if template.marks != type(template.marks)():
        raise BadEdit("held, overdue, empty and idleSince are not for machines that are added")
    return AddMachines(template.machine, count, pattern)


def _price(said: object) -> Edit:
    selector, edit = _numbered(said, 1_000_000.0)
    return SetAttributes(selector, price=edit)


def _probability(said: object) -> Edit:
    selector, edit = _numbered(said, 1.0)
    return SetAttributes(selector, probability=edit)


def _numbered(said: object, most: float) -> tuple[MachineSelector, NumberEdit]:
    """Terms, then `x2` or `=0.30`."""
    *terms, last = _text(said).split() or [""]
    remedy = "write terms and then x2 for twice as much, or =0.30 for a value"
    if last[:1] == "x":
        return machine_selector(" ".join(terms)), NumberEdit(_amount(last[1:], 1000.0, remedy))
    if last[:1] == "=":
        return machine_selector(" ".join(terms)), NumberEdit(value=_amount(last[1:], most, remedy))
    raise BadEdit(f"{last!r} does not say how much; {remedy}")


def _number_text(edit: NumberEdit) -> str:
    return f"x{_exact(edit.multiply)}" if edit.value is None else f"={_exact(edit.value)}"


def _exact(number: float) -> str:
    """As short as it can be and still read back as the same."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def _amount(text: str, most: float, remedy: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise BadEdit(f"{text!r} is not a number; {remedy}") from None
    if not 0 <= value <= most or math.isnan(value):
        raise BadEdit(f"{text} is not from 0 to {most:g}; {remedy}")
    return value


# -- demand --------------------------------------------------------------------------------------


def need_selector(words: Iterable[str]) -> NeedSelector:
    selector = NeedSelector()
    for word in words:
        bound = _PRIORITY.fullmatch(word)
        if bound is not None:
            value = int(bound[2])
            if not LOWEST_PRIORITY <= value <= HIGHEST_PRIORITY:
                raise BadEdit(f"{word}: write a priority from -2147483648 to 2147483647")
            low = value if bound[1] != "<=" else selector.priority_min
            high = value if bound[1] != ">=" else selector.priority_max
            selector = replace(selector, priority_min=low, priority_max=high)
        elif word.startswith("need/") and word.count("/") == 2:
            _, cluster, need_id = word.split("/")
            selector = replace(selector, cluster=cluster, need_id=need_id)
        elif word.startswith("cluster=") and word != "cluster=":
            selector = replace(selector, cluster=word.removeprefix("cluster="))
        else:
            raise BadEdit(
                f"{word!r} does not say which Needs; write cluster=NAME, priority>=N, priority<=N,"
                " priority=N or need/CLUSTER/ID"
            )
    return selector


def _need_text(selector: NeedSelector) -> str:
    words = []
    if selector.need_id:
        words.append(f"need/{selector.cluster}/{selector.need_id}")
    elif selector.cluster:
        words.append(f"cluster={selector.cluster}")
    if selector.priority_min == selector.priority_max:
        words.append(f"priority={selector.priority_min}")
    else:
        if selector.priority_min > LOWEST_PRIORITY:
            words.append(f"priority>={selector.priority_min}")
        if selector.priority_max < HIGHEST_PRIORITY:
            words.append(f"priority<={selector.priority_max}")
    return "".join(f"{word} " for word in words)


def _demand(said: object) -> Edit:
    if isinstance(said, dict) or str(said).lstrip().startswith("{"):
        return AddDemand(_fleet_of(needs=[_mapping(said)]).needs[0].need)
    *terms, last = _text(said).split() or [""]
    remedy = (
        "write 'cluster=NAME x1.4', 'x1.4' for every cluster, 'cluster=NAME withdraw' or a Need"
    )
    if last == "withdraw":
        return ScaleDemand(need_selector(terms), 0.0)
    if last[:1] != "x":
        raise BadEdit(f"{last!r} does not say how much; {remedy}")
    return ScaleDemand(need_selector(terms), _amount(last[1:], LARGEST_FACTOR, remedy))


def _priority(said: object) -> Edit:
    *terms, last = _text(said).split() or [""]
    try:
        value = int(last.removeprefix("="))
    except ValueError:
        raise BadEdit(f"{last!r} is not a priority; write 'cluster=NAME =1000'") from None
    if not LOWEST_PRIORITY <= value <= HIGHEST_PRIORITY:
        raise BadEdit(f"{last}: write a priority from -2147483648 to 2147483647")
    return SetPriority(need_selector(terms), value)


def _penalty(said: object) -> Edit:
    terms, buckets = [], dict[str, Bucket]()
    for word in _text(said).split():
        key, _, value = word.partition("=")
        if key not in ("interruption", "reclamation"):
            terms.append(word)
        elif value not in LABELS:
            raise BadEdit(f"{value!r} is not a penalty; write one of {', '.join(LABELS)}")
        else:
            buckets[key] = LABELS[value]
    if not buckets:
        raise BadEdit("which penalty? write interruption=4, reclamation=1 or both after the Needs")
    selector = need_selector(terms)
    return SetPenalty(selector, buckets.get("interruption"), buckets.get("reclamation"))


def _cluster_leave(said: object) -> Edit:
    cluster = _text(said).strip().removeprefix("cluster=")
    if not cluster or " " in cluster:
        raise BadEdit(f"{cluster!r} is not one cluster; write its name")
    return ReplaceDemand(cluster)


def _cluster_join(said: object) -> Edit:
    """`NAME [needs]`, or {cluster, needs}."""
    if isinstance(said, str):
        cluster, _, listed = said.strip().partition(" ")
        needs = decode_yaml(listed or "[]")
    else:
        record = _mapping(said)
        cluster, needs = str(record.get("cluster", "")), record.get("needs")
    if not cluster or not isinstance(needs, list) or not needs:
        raise BadEdit("write the cluster and its Needs: NAME [{priority: 100, ...}]")
    records = [{"cluster": cluster, **_mapping(need)} for need in needs]
    if odd := [r["cluster"] for r in records if r["cluster"] != cluster]:
        raise BadEdit(f"a Need of {odd[0]} among those of {cluster}; leave its cluster out")
    return ReplaceDemand(cluster, tuple(n.need for n in _fleet_of(needs=records).needs))


def _need_json(need: FleetNeed) -> str:
    return json.dumps(json.loads(need_line(need))["need"], ensure_ascii=False)


# -- the rest ------------------------------------------------------------------------------------


def _option(said: object) -> Edit:
    name, equals, value = _text(said).partition("=")
    if not (name and equals and value):
        raise BadEdit("write the option and its value, such as drainSeconds=60")
    return EngineOption(name.strip(), value.strip())


def _text(said: object) -> str:
    if not isinstance(said, str | int | float) or isinstance(said, bool):
        raise BadEdit(f"{said!r} is not text")
    return str(said)


def _mapping(said: object) -> dict[str, Any]:
    if isinstance(said, str):
        try:
            said = decode_yaml(said)
        except Exception as error:  # noqa: BLE001 - whatever the parser dislikes is bad input
            raise BadEdit(f"not a mapping like {{id: od-1, ...}}: {error}") from None
    if not isinstance(said, dict):
        raise BadEdit(f"{said!r} is not a mapping like those of a fleet file")
    return said


def _fleet_of(**parts: list[dict[str, Any]]) -> Fleet:
    document = {"version": 1, "kind": "Fleet", **parts}
    try:
        content = json.dumps(document).encode()
    except (TypeError, ValueError) as error:
        raise BadEdit(f"not a record of a fleet file: {error}") from None
    return load_fleet(content, "overlay.json")


_READERS: dict[str, Callable[[object], Edit]] = {
    "zone-loss": _zone_loss,
    "domain-loss": _domain_loss,
    "machines-add": _machines_add,
    "machines-remove": _machines_remove,
    _PRICE: _price,
    _PROBABILITY: _probability,
    "stock-out": _stock_out,
    "demand": _demand,
    "priority": _priority,
    "penalty": _penalty,
    "cluster-leave": _cluster_leave,
    "cluster-join": _cluster_join,
    "option": _option,
}
OPERATIONS = tuple(_READERS)
