"""Where a read verb takes its cycle from: a live shard, a journal or a fleet file.

@takes_source
def why(source: Source, ...) -> None:
    if source.is_live:
        ...                       # ask the shard
    else:
        asked = source.read()     # an input to decide on again
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.terminal import refuse, refuse_input
from bigfleet.model.errors import BadInput

if TYPE_CHECKING:
    from bigfleet.engine.engine_input import EngineInput
    from bigfleet.journal.history import FoundCycle
    from bigfleet.journal.notes import Ended
    from bigfleet.journal.segments import Segment
    from bigfleet.model.fleet import Costs, Fleet
    from bigfleet.model.machines import Instant
    from bigfleet.model.shard_views import ActionView

EXIT_NOT_FOUND = 3
#: Below this a file is read before a spinner could be seen.
_WORTH_A_SPINNER_BYTES = 2_000_000


class CycleName(click.ParamType[tuple[int | None, int]]):
    """`3:18231`, or the number alone for a cycle of the newest epoch."""

    name = "cycle"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, int]:
        epoch, colon, number = str(value).rpartition(":")
        if not number.isdecimal() or (colon and not epoch.isdecimal()):
            self.fail(
                f"{value!r} is not a cycle; write 18231, or 3:18231 with its epoch", param, ctx
            )
        return int(epoch) if colon else None, int(number)


class CycleOrTime(click.ParamType["tuple[int | None, int] | Instant"]):
    """A cycle, or a time such as `2026-03-14T03:00:10Z`: the last cycle that was decided then."""

    name = "cycle or time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> "tuple[int | None, int] | Instant":
        from bigfleet.model.instants import instant_of

        instant = instant_of(str(value)) if "-" in str(value) else None
        if "-" in str(value) and instant is None:
            self.fail(f"{value!r} is not a time; write 2026-03-14T03:00:10Z", param, ctx)
        return instant if instant is not None else CycleName().convert(value, param, ctx)


@dataclass(frozen=True, slots=True)
class AskedCycle:
    """A cycle that can be decided again."""

    given: "EngineInput"
    #: `3:18231`; of a fleet file that is not a dump `1`.
    name: str
    #: Empty: not known.
    shard: str = ""
    #: With what became of them; None: a fleet file, whose actions nothing carried out.
    actions: "tuple[ActionView, ...] | None" = None
    #: How they ended, by cycle and machine.
    ended: "Ended | None" = None
    #: As it was recorded; None: a fleet file.
    found: "FoundCycle | None" = None
    #: Of a fleet file; None: a journal does not have them.
    costs: "Costs | None" = None
    #: Of a fleet file as it is: a machine's marks say more than the engine's columns keep.
    fleet: "Fleet | None" = None


@dataclass(frozen=True, slots=True)
class Source:
    journal: Path | None = None
    fleet: str | None = None
    #: Epoch and number; None: the latest.
    at: tuple[int | None, int] | None = None

    @property
    def is_live(self) -> bool:
        return self.journal is None and self.fleet is None

    def read(self) -> AskedCycle:
        """Of a journal or a fleet file; what cannot be read ends the verb with its reason."""
        if self.journal is not None:
            return _recorded(self.journal, self.at)
        assert self.fleet is not None, "a live shard is asked, not read"
        from bigfleet.plan.cycle import engine_input_of

        fleet = fleet_from(self.fleet)
        came_from = fleet.provenance
        given, name = engine_input_of(fleet), came_from.cycle or "1"
        return AskedCycle(given, name, came_from.shard, costs=fleet.costs, fleet=fleet)


def takes_source(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a verb `--journal`, `--fleet` and `--at`, as one argument `source`."""

    @click.option(
        "--journal",
        type=click.Path(exists=True, path_type=Path),
        help="Ask this journal instead of a live shard: its directory or one of its files.",
    )
    @click.option("--fleet", metavar="FILE", help='Ask this fleet file; "-" is standard input.')
    @click.option(
        "--at",
        type=CycleOrTime(),
        help="A past cycle: 18231, or 3:18231; of a journal also a time: 2026-03-14T03:00:10Z.",
    )
    @wraps(command)
    def with_source(
        *args: Any,
        journal: Path | None,
        fleet: str | None,
        at: tuple[int | None, int] | int | None,
        **options: Any,
    ) -> None:
        if journal is not None and fleet is not None:
            raise refuse(["--journal and --fleet are two sources; name one of them"])
        if fleet is not None and at is not None:
            raise refuse(["--at: a fleet file is one cycle; leave --at out"])
        if isinstance(at, int):
            at = _cycle_then(journal, at)
        command(*args, source=Source(journal, fleet, at), **options)

    return with_source


def named_cycle(
    cycle: tuple[int | None, int] | None, segments: "list[Segment]", otherwise: tuple[int, int]
) -> tuple[int, int]:
    """A bare number means the newest epoch."""
    if cycle is None:
        return otherwise
    epoch, number = cycle
    return (segments[-1].epoch if epoch is None else epoch), number


def cycle_named(
    asked: "tuple[int | None, int] | Instant | None",
    segments: "list[Segment]",
    otherwise: tuple[int, int],
) -> tuple[int, int]:
    """As `named_cycle`, or the last that was decided at a time or before; leaves with 3 where none
    was."""
    from bigfleet.journal.decisions import cycle_when
    from bigfleet.model.instants import instant_text

    if not isinstance(asked, int):
        return named_cycle(asked, segments, otherwise)
    found = cycle_when(segments, asked)
    if found is None:
        said = f"no cycle is recorded at {instant_text(asked)} or before"
        click.echo(f"{said}; there are {kept_span(segments)}", err=True)
        raise click.exceptions.Exit(EXIT_NOT_FOUND)
    return found


def first_cycle_named(
    asked: "tuple[int | None, int] | Instant | None", segments: "list[Segment]"
) -> tuple[int, int]:
    """Where a range begins: at a cycle, or after the last that was decided before a time."""
    from bigfleet.journal.decisions import cycle_when

    if not isinstance(asked, int):
        return named_cycle(asked, segments, (0, 0))
    before = cycle_when(segments, asked - 1)
    return (0, 0) if before is None else (before[0], before[1] + 1)


def kept_span(segments: "list[Segment]") -> str:
    oldest = segments[0]
    return f"cycles from {oldest.epoch}:{oldest.first_cycle} on"


def not_recorded(wanted: tuple[int, int], segments: "list[Segment]") -> click.exceptions.Exit:
    """Said on standard error."""
    from bigfleet.journal.history import LATEST

    if wanted == LATEST:
        text = f"no cycle is recorded yet in {segments[-1].path.parent}: has its shard just begun?"
    else:
        text = f"no cycle {wanted[0]}:{wanted[1]} is recorded; there are {kept_span(segments)}"
    click.echo(text, err=True)
    return click.exceptions.Exit(EXIT_NOT_FOUND)


@contextmanager
def read_journal(journal: Path) -> "Iterator[list[Segment]]":
    """What cannot be read ends the verb with its reason."""
    from bigfleet.journal.history import BrokenJournal
    from bigfleet.journal.segments import UnreadableJournal, segments_of

    try:
        yield segments_of(journal)
    except (UnreadableJournal, BrokenJournal) as problem:
        raise refuse([str(problem)]) from None


def _cycle_then(journal: Path | None, instant: "Instant") -> tuple[int, int]:
    if journal is None:
        raise refuse(["--at: only a journal is asked by time; add --journal DIR, or name a cycle"])
    with read_journal(journal) as segments:
        return cycle_named(instant, segments, (0, 0))


def _recorded(journal: Path, at: tuple[int | None, int] | None) -> AskedCycle:
    from bigfleet.journal.history import LATEST, cycle_at
    from bigfleet.journal.notes import ended_actions

    with read_journal(journal) as segments:
        wanted = named_cycle(at, segments, LATEST)
        found = cycle_at(segments, wanted)
        output = None if found is None else found.recorded.output
        actions = () if output is None else output.actions
        name = wanted if found is None else (found.recorded.epoch, found.recorded.given.cycle)
        ended = ended_actions(segments, name, actions)
    if found is None:
        raise not_recorded(wanted, segments)
    given, shard = found.recorded.given, found.header.shard_id
    return AskedCycle(given, found.name, shard, actions, ended, found)


def fleet_from(file: str) -> "Fleet":
    """A fleet file, or standard input for "-"; every problem of a bad one is printed at once."""
    from bigfleet.fleetfile import load_fleet

    try:
        content = _read(file)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise refuse([f"{file}: cannot read the fleet file: {why}"]) from None
    try:
        with _progress(f"reading {file}", len(content)):
            return load_fleet(content, file)
    except BadInput as problem:
        raise refuse_input(file, problem) from None


def _read(file: str) -> bytes:
    """No more than a fleet file may have, and one byte, by which the reader knows: a device or a
    pipe may have no end."""
    from bigfleet.fleetfile.limits import MOST_BYTES

    if file == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    with Path(file).open("rb") as opened:
        return opened.read(MOST_BYTES + 1)


@contextmanager
def _progress(doing: str, size: int) -> Iterator[None]:
    """A spinner on standard error, for a person who would otherwise wonder."""
    if size < _WORTH_A_SPINNER_BYTES or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True, markup=False).status(f"{doing} ({size / 1e6:.0f} MB)"):
        yield
