"""Which machines a verb means: terms that must all hold, such as `state=idle zone=a,b`.

Several values of one term, in one word or in several, are alternatives.
"""

from collections import defaultdict
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from bigfleet.model.machines import CapacityType, MachineState

if TYPE_CHECKING:
    from bigfleet.model.shard_views import MachineSelector

SYNTAX = """
    \b
    SELECTOR is any number of terms, all of which must hold:
      state=idle         the machine's state; several: state=idle,draining
      zone=a             where it is
      type=std-8         its instance type
      capacity=spot      bare-metal, reserved, on-demand or spot
      cluster=shop       whom it serves
      provider=sim       who provides it
      label.rack=r1      a label and its value
      id=od-01*          ids that begin so; without the star, the very machine
    A word without "=" is the id of a machine, also as machine/ID.
"""
_STATES = {state.name.lower(): state for state in MachineState if state}
_CAPACITIES = {kind.name.lower().replace("_", "-"): kind for kind in CapacityType if kind}
_LABEL = "label."
_TERMS = ("state", "zone", "type", "capacity", "cluster", "provider", "id", _LABEL)


class Term(click.ParamType[tuple[str, tuple[str, ...]]]):
    """(key, values)."""

    name = "selector"

    def convert(
        self,
        value: str | tuple[str, tuple[str, ...]],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, tuple[str, ...]]:
        if isinstance(value, tuple):
            return value
        key, equals, said = value.partition("=")
        if not equals:
            return "id", (value.removeprefix("machine/"),)
        values = tuple(word for word in said.split(",") if word)
        if (key not in _TERMS and not key.startswith(_LABEL)) or key == _LABEL or not values:
            terms = ", ".join(f"{term}=" for term in _TERMS[:-1])
            self.fail(f"{value!r} is not a term; write {terms} or label.KEY=", param, ctx)
        for known, name in ((_STATES, "state"), (_CAPACITIES, "capacity")):
            if key == name and (odd := [v for v in values if _word(v) not in known]):
                self.fail(f"{odd[0]!r} is no {name}{_instead(odd[0], known)}", param, ctx)
        return key, values

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        offered = [f"state={word}" for word in _STATES]
        offered += [f"capacity={word}" for word in _CAPACITIES]
        offered += [f"{key}=" for key in ("zone", "type", "cluster", "provider", "id")]
        return [CompletionItem(term) for term in offered if term.startswith(incomplete)]


def selector_of(terms: Iterable[tuple[str, tuple[str, ...]]]) -> "MachineSelector":
    """Raises UsageError where a term cannot have alternatives and has."""
    from bigfleet.model.shard_views import MachineSelector

    said: defaultdict[str, list[str]] = defaultdict(list)
    for key, values in terms:
        said[key] += values
    prefixes = [word for word in said["id"] if word.endswith("*")]
    if prefixes and len(said["id"]) > 1:
        raise click.UsageError("id=...* stands alone: one beginning, or any number of whole ids")
    return MachineSelector(
        ids=frozenset(said["id"]) if not prefixes else frozenset(),
        states=frozenset(_STATES[_word(word)] for word in said["state"]),
        zones=frozenset(said["zone"]),
        instance_types=frozenset(said["type"]),
        capacity_types=frozenset(int(_CAPACITIES[_word(word)]) for word in said["capacity"]),
        labels=tuple(
            (key.removeprefix(_LABEL), _only(key, values))
            for key, values in said.items()
            if key.startswith(_LABEL)
        ),
        cluster=_only("cluster", said["cluster"]).removeprefix("cluster/"),
        provider=_only("provider", said["provider"]),
        id_prefix=prefixes[0].rstrip("*") if prefixes else "",
    )


def _word(said: str) -> str:
    return said.lower().replace("_", "-")


def _only(key: str, values: list[str]) -> str:
    if len(set(values)) > 1:
        raise click.UsageError(f"{key}= takes one value; {', '.join(values)} are several")
    return values[0] if values else ""


def _instead(odd: str, known: Iterable[str]) -> str:
    close = get_close_matches(_word(odd), list(known), n=1)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"
