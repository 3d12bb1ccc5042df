"""Which machines a verb means, as words of a command line."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from bigfleet.model.machine_selectors import (
    CAPACITIES,
    KEYS,
    STATES,
    BadSelector,
    term_of,
)
from bigfleet.model.machine_selectors import selector_of as selector_of_terms

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
        try:
            return term_of(value)
        except BadSelector as problem:
            self.fail(str(problem), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        offered = [f"state={word}" for word in STATES]
        offered += [f"capacity={word}" for word in CAPACITIES]
        offered += [f"{key}=" for key in KEYS if key not in ("state", "capacity")]
        return [CompletionItem(term) for term in offered if term.startswith(incomplete)]


def selector_of(terms: Iterable[tuple[str, tuple[str, ...]]]) -> "MachineSelector":
    """Raises UsageError where a term cannot have alternatives and has."""
    try:
        return selector_of_terms(terms)
    except BadSelector as problem:
        raise click.UsageError(str(problem)) from None
