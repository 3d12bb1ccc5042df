"""The fleet of `up` in the context file, for as long as it lives.

A fleet that cannot be written down lives all the same: what went wrong is told in its banner.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bigfleet.cli.contexts import (
    Contexts,
    FleetContext,
    change_contexts,
    context_file,
    with_up,
    without_up,
)
from bigfleet.model.errors import BadInput


@dataclass(frozen=True, slots=True)
class WrittenContext:
    #: Empty: it could not be written.
    name: str
    #: What verbs use in a shell where nothing is said; empty: none.
    used: str
    trouble: str = ""

    def how_to_ask(self, coordinator: str) -> str:
        """`bigfleet status`, with what it takes to ask this fleet, and why it takes it."""
        if self.trouble:
            return f"bigfleet status --coordinator {coordinator}  (no context: {self.trouble})"
        if self.used == self.name:
            return f"bigfleet status  (in any shell: its context is {self.name})"
        return f"bigfleet status --context {self.name}  (without it: your context {self.used})"


@contextmanager
def written_context(coordinator: str, data_dir: Path | None) -> Iterator[WrittenContext]:
    """Taken away at the end, unless a person has made it their own meanwhile."""
    pid = os.getpid()
    folder = str(data_dir.absolute()) if data_dir is not None else ""
    fleet = FleetContext("", (coordinator,), data_dir=folder, up_pid=pid)
    written = _written(fleet)
    try:
        yield written
    finally:
        if written.name:
            with suppress(BadInput):
                change_contexts(
                    context_file(os.environ), lambda known: without_up(known, written.name, pid)
                )


def _written(fleet: FleetContext) -> WrittenContext:
    named: list[str] = []

    def add(known: Contexts) -> Contexts:
        changed, name = with_up(known, fleet)
        named.append(name)
        return changed

    try:
        contexts = change_contexts(context_file(os.environ), add)
    except BadInput as problem:
        return WrittenContext("", "", str(problem.problems[0]))
    try:
        used = contexts.in_force()
    except BadInput:
        return WrittenContext(named[0], contexts.chosen)
    return WrittenContext(named[0], used.name if used else "")
