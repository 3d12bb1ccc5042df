"""`bigfleet whatif`: what the next cycle would decide if the fleet were another."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection, shard_verb
from bigfleet.cli.output import current_output, shows
from bigfleet.cli.sources import Source, read_journal, takes_source
from bigfleet.cli.terminal import refuse, refuse_problems
from bigfleet.model.errors import BadInput

if TYPE_CHECKING:
    from bigfleet.cli.sources import AskedCycle
    from bigfleet.cli.whole_fleet import FleetAnswers
    from bigfleet.model.latencies import Latencies
    from bigfleet.model.what_if import Overlay, WhatIfAnswer, WhatIfCall

#: Flag, what follows it, and what it does; each is one edit and may be repeated.
_EDITS = (
    ("zone-loss", "ZONE", "All machines of this zone are gone."),
    ("domain-loss", "KEY=VALUE", "All machines with this label are gone."),
    ("machines-add", "MACHINE", "More machines: {id: 'od-{00}', count: 4, state: ...}."),
    ("machines-remove", "SELECTOR", "These machines are gone."),
    ("price", "'[SELECTOR] xF'", "Their price times F; '=0.30': that price."),
    ("probability", "'[SELECTOR] xF'", "Their probability of interruption."),
    ("stock-out", "SELECTOR", "None of these can be bought now."),
    ("demand", "'[NEEDS] xF'", "F times the demand; 'NEEDS withdraw'; or a whole Need {...}."),
    ("priority", "'NEEDS =N'", "Their priority is N."),
    (
        "penalty",
        "'NEEDS interruption=4'",
        "Their penalties in dollars: interruption=, reclamation=.",
    ),
    ("cluster-leave", "CLUSTER", "The cluster asks for nothing any more."),
    ("cluster-join", "'CLUSTER [NEEDS]'", "A new cluster with its Needs."),
    ("option", "NAME=VALUE", "An option of the engine, by its name in a fleet file."),
)
_ORDER = "bigfleet.whatif.edits"
#: Of the table of clusters, which -o csv, -o name and --sort-by are about.
COLUMNS = ("CLUSTER", "LOST", "MACHINES", "THEN", "SHORT", "SHORT THEN", "PREEMPTED", "NEW", "$/H")


class _InOrder(click.Command):
    """Keeps the order in which different flags were given: edits are applied in it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = {_parameter(flag): flag for flag, _, _ in _EDITS}
        parser = self.make_parser(ctx)
        if "--help" not in args:
            values, _, order = parser.parse_args(list(args))
            following = {name: iter(values.get(name) or ()) for name in names}
            ctx.meta[_ORDER] = [
                (names[param.name], next(following[param.name]))
                for param in order
                if param.name in names
            ]
        return super().parse_args(ctx, args)


def _parameter(flag: str) -> str:
    return flag.replace("-", "_")


def _takes_edits(command: Callable[..., None]) -> Callable[..., None]:
    for flag, metavar, text in reversed(_EDITS):
        command = click.option(f"--{flag}", multiple=True, metavar=metavar, help=text)(command)
    return command


@click.command(cls=_InOrder)
@shard_verb
@shows(lambda: COLUMNS)
@takes_source
@_takes_edits
@click.option(
    "--overlay",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of edits, in YAML or JSON; they come before those of flags.",
)
@click.option(
    "--settle",
    is_flag=True,
    help="Go on, in virtual time, until nothing happens any more: time to cover, end state.",
)
@click.option(
    "--latency",
    "latencies",
    multiple=True,
    metavar="STEP=DURATION",
    help="With --settle: how long create, configure, drain or delete takes; create.Spot=90s.  "
    "[default: as measured in the --journal, else assumed]",
)
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="AXIS=FROM:TO:STEP",
    help="One answer for each value, such as demand.ml=1.0:2.0:0.1; at most 2 axes, 400 points.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Rows per table; 0 shows all.",
)
def whatif(
    connection: Connection,
    source: Source,
    overlay: Path | None,
    settle: bool,
    latencies: tuple[str, ...],
    sweeps: tuple[str, ...],
    limit: int,
    **_edits: Any,
) -> None:
    """Decide a cycle as it is and with the edits you name, and show both side by side.

    Nothing is changed anywhere. Edits apply in the order they are written. With --settle both
    sides go on, cycle after cycle, until two in a row decide nothing or 200 are decided: actions
    are those of all cycles, Needs and the bill are those of the end. Steps take as long as
    --latency says; else, of a journal, the median of what it shows before the cycle; the others
    are assumed. The answer says which.

    \b
    SELECTOR is any number of terms, all of which must hold: zone=a, type=std-8, capacity=Spot,
    state=idle, cluster=shop, provider=sim, a label as KEY=VALUE, or the id of a machine. Several
    values are alternatives (zone=a,b); a * stands for any characters.
    NEEDS is cluster=NAME, need/CLUSTER/ID, priority>=N, priority<=N or priority=N.
    AXIS is demand, demand.CLUSTER, demand.NEEDS, price.CAPACITY, price.SELECTOR,
    probability.SELECTOR or option.NAME; values are factors, but for options.

    \b
    Examples:
      bigfleet whatif --zone-loss b
      bigfleet whatif --fleet fleet.yaml --zone-loss b
      bigfleet whatif --fleet fleet.yaml --demand 'cluster=ml x1.4' --price 'capacity=Spot x2'
      bigfleet whatif --journal data/journal --at 18231 --stock-out 'capacity=OnDemand zone=a'
      bigfleet whatif --fleet fleet.yaml --zone-loss b --settle --latency create=40s
      bigfleet whatif --journal data/journal --zone-loss b --settle
      bigfleet whatif --fleet fleet.yaml --sweep demand.ml=1.0:2.0:0.1 --sweep price.Spot=1:3:1
    """
    edits = _overlay_of(overlay, click.get_current_context().meta[_ORDER])
    given = _latencies_of(latencies, settle)
    if sweeps:
        from bigfleet.cli.live_cycles import asked_cycle_of
        from bigfleet.cli.whatif_sweep import print_sweep

        asked = asked_cycle_of(connection, source)
        given = _or_measured(given, source, asked) if settle else given
        print_sweep(asked, edits, sweeps, given if settle else None)
        return
    if source.is_live:
        from bigfleet.model.what_if import WhatIfCall

        answers = _asked_live(connection, source.at, WhatIfCall(0, edits, settle, given))
        _print(_summed(answers.said), limit, answers.document())
        answers.leave_partial(connection)
        return
    asked = source.read()
    from bigfleet.cli.progress import compile_all
    from bigfleet.whatif.comparing import once
    from bigfleet.whatif.settled import settle as settled

    compile_all()
    try:
        if settle:
            latencies_then = _or_measured(given, source, asked)
            found = settled(asked.given, edits, asked.name, latencies_then)
        else:
            found = once(asked.given, edits, asked.name)
    except BadInput as problem:
        raise refuse_problems(problem) from None
    _print(found, limit, {})


def _latencies_of(texts: tuple[str, ...], settle: bool) -> "Latencies":
    from bigfleet.model.latencies import latencies_of

    if texts and not settle:
        raise refuse(["--latency says how long steps take until the fleet settles; add --settle"])
    for text in texts:
        if "=" not in text:
            raise refuse([f"--latency {text}: write STEP=DURATION, such as create=40s"])
    named = [text.partition("=")[0] for text in texts]
    if twice := [name for name in named if named.count(name) > 1]:
        raise refuse([f"--latency {twice[0]} is given twice; leave one out"])
    try:
        return latencies_of(dict(text.split("=", 1) for text in texts))
    except BadInput as problem:
        raise refuse_problems(problem) from None


def _or_measured(given: "Latencies", source: Source, asked: "AskedCycle") -> "Latencies":
    """What is not given: as long as steps took in the journal up to the cycle."""
    from bigfleet.journal.measured_latencies import latencies_until

    if source.journal is None or asked.found is None:
        return given
    recorded = asked.found.recorded
    with read_journal(source.journal) as segments:
        return latencies_until(segments, (recorded.epoch, recorded.given.cycle)).unless(given)


def _asked_live(
    connection: Connection, at: tuple[int | None, int] | None, call: "WhatIfCall"
) -> "FleetAnswers[WhatIfAnswer]":
    """Each shard that is meant answers for its own machines and clusters."""
    from bigfleet.cli.whole_fleet import ask_fleet
    from bigfleet.cli.why_machine import asked_cycle
    from bigfleet.wire.shard_admin import WHAT_IF_DEADLINE

    async def look(shard: Clients) -> "WhatIfAnswer":
        _epoch, cycle = await asked_cycle(shard, at)
        return await shard.admin.what_if(replace(call, base_cycle=cycle))

    return ask_fleet(connection, look, WHAT_IF_DEADLINE)


def _summed(said: "dict[str, WhatIfAnswer]") -> "WhatIfAnswer":
    from bigfleet.whatif.summing import summed

    return summed(said)


def _overlay_of(file: Path | None, flags: list[tuple[str, str]]) -> "Overlay":
    from bigfleet.model.errors import Problem
    from bigfleet.whatif.overlay_file import MOST_BYTES, overlay_of
    from bigfleet.whatif.overlay_text import edit_of

    edits: list[Any] = []
    problems: list[Problem] = []
    if file is not None:
        try:
            with file.open("rb") as opened:
                edits += overlay_of(opened.read(MOST_BYTES + 1))
        except BadInput as problem:
            problems += [Problem(f"{file}{p.path}", p.text) for p in problem.problems]
        except OSError as error:
            raise refuse([f"{file}: cannot read the overlay: {error.strerror}"]) from None
    for flag, said in flags:
        try:
            edits.append(edit_of(flag, said))
        except BadInput as problem:
            problems += [Problem(f"--{p.path}", p.text) for p in problem.problems]
    if problems:
        raise refuse_problems(BadInput(problems))
    return tuple(edits)


def _print(answer: "WhatIfAnswer", limit: int, missing: dict[str, Any]) -> None:
    if current_output().is_document:
        from bigfleet.cli.tables import write_document
        from bigfleet.whatif.document import document_of

        write_document({**document_of(answer), **missing})
        return
    from bigfleet.cli.tables import Page
    from bigfleet.cli.whatif_table import fill

    page = Page.on_stdout("auto")
    fill(page, answer, limit)
    page.write()
