"""Which machines are meant: terms that must all hold, such as `state=idle zone=a,b`.

Several values of one term, in one word or in several, are alternatives.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.shard_views import MachineSelector

T = TypeVar("T")
#: A key and its values.
Term = tuple[str, tuple[str, ...]]
STATES = {state.name.lower(): state for state in MachineState if state}
CAPACITIES = {kind.name.lower().replace("_", "-"): kind for kind in CapacityType if kind}
_LABEL = "label."
KEYS = ("state", "zone", "type", "capacity", "cluster", "provider", "id")


class BadSelector(ValueError):
    """The text says what to write instead."""


def term_of(text: str) -> Term:
    """Raises BadSelector."""
    key, equals, said = text.partition("=")
    if not equals:
        return "id", (text.removeprefix("machine/"),)
    values = tuple(word for word in said.split(",") if word)
    if (key not in KEYS and not key.startswith(_LABEL)) or key == _LABEL or not values:
        terms = ", ".join(f"{term}=" for term in KEYS)
        raise BadSelector(f"{text!r} is not a term; write {terms} or label.KEY=")
    known = {"state": list(STATES), "capacity": list(CAPACITIES)}.get(key)
    if known is not None:
        plain = set(map(_plain, known))
        if odd := [value for value in values if _plain(value) not in plain]:
            raise BadSelector(f"{odd[0]!r} is no {key}{_instead(odd[0], known)}")
    return key, values


def selector_of(terms: Iterable[Term]) -> MachineSelector:
    """Raises BadSelector where a term cannot have alternatives and has."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for key, values in terms:
        said[key] += values
    prefixes = [word for word in said["id"] if word.endswith("*")]
    if prefixes and len(said["id"]) > 1:
        raise BadSelector("id=...* stands alone: one beginning, or any number of whole ids")
    states, capacities = _plainly(STATES), _plainly(CAPACITIES)
    return MachineSelector(
        ids=frozenset(said["id"]) if not prefixes else frozenset(),
        states=frozenset(states[_plain(word)] for word in said["state"]),
        zones=frozenset(said["zone"]),
        instance_types=frozenset(said["type"]),
        capacity_types=frozenset(int(capacities[_plain(word)]) for word in said["capacity"]),
        labels=tuple(
            (key.removeprefix(_LABEL), _only(key, values))
            for key, values in said.items()
            if key.startswith(_LABEL)
        ),
        cluster=_only("cluster", said["cluster"]).removeprefix("cluster/"),
        provider=_only("provider", said["provider"]),
        id_prefix=prefixes[0].rstrip("*") if prefixes else "",
    )


def _plain(word: str) -> str:
    """`OnDemand`, `on-demand` and `ON_DEMAND` are the same."""
    return word.lower().replace("_", "").replace("-", "")


def _plainly(known: Mapping[str, T]) -> dict[str, T]:
    return {_plain(word): value for word, value in known.items()}


def _only(key: str, values: list[str]) -> str:
    if len(set(values)) > 1:
        raise BadSelector(f"{key}= takes one value; {', '.join(values)} are several")
    return values[0] if values else ""


def _instead(odd: str, known: Iterable[str]) -> str:
    close = get_close_matches(odd.lower().replace("_", "-"), list(known), n=1)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"
