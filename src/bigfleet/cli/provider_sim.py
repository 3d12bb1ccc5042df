"""`bigfleet provider sim VERB`: the control API of a running sim, from the command line.

The verbs are those of the sim's own table, so the line typed here, an entry of a script and a call
over gRPC are the same. Answers are JSON for programs and short tables for people.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.output import Output
from bigfleet.cli.provider_lines import answer_to, line_params, tls_in
from bigfleet.cli.terminal import plain, refuse, write_out

if TYPE_CHECKING:
    from bigfleet.wire.sim_control import SimControlClient

#: A stepped day may take its time.
_DEADLINE_SECONDS = 600.0


class _Verbs(click.Group):
    """One command per verb, made when it is asked for: the table is the sim's."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from bigfleet.provider.sim.world.verbs import VERBS

        return [*VERBS, "advance", "step-until", "script"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        from bigfleet.provider.sim.world.verbs import CLOCK_ACTIONS, VERBS

        verb = VERBS.get("clock" if cmd_name in CLOCK_ACTIONS else cmd_name)
        if verb is None:
            return None
        usage = verb.usage.partition(" ")[2] if verb.name == cmd_name else "[VALUE]"
        return click.Command(
            cmd_name,
            callback=_connected(_do(cmd_name)),
            params=[click.Argument(["words"], nargs=-1, metavar=usage), *line_params()],
            help=verb.summary,
        )


@click.group(cls=_Verbs, no_args_is_help=True)
def sim() -> None:
    """Drive a running sim: faults, prices, stock, time.

    \b
    Examples:
      bigfleet provider sim state
      bigfleet provider sim interrupt "capacity=spot zone=b" 0.3
      bigfleet provider sim hold configure
      bigfleet provider sim advance 5m
    """


Talk = Callable[["SimControlClient", dict[str, Any]], Coroutine[Any, Any, None]]


def _connected(talk: Talk) -> Callable[..., None]:
    """Runs `talk` on an open line; leaves with 2, 3 or 4 where that fails."""

    def run(**flags: Any) -> None:
        from bigfleet.wire.sim_control import SimControlClient

        tls, address = tls_in(flags), flags.pop("addr")

        async def connected() -> None:
            async with SimControlClient(address, tls, deadline=_DEADLINE_SECONDS) as client:
                await talk(client, flags)

        answer_to(connected())

    return run


def _do(verb: str) -> Talk:
    async def talk(client: "SimControlClient", flags: dict[str, Any]) -> None:
        answer = await client.do(verb, flags["words"])
        _show(answer, flags["output"])

    return talk


@sim.command("events")
@click.option("--follow", is_flag=True, help="Stay and show new ones as they come.")
@click.option("--after", type=click.IntRange(0), default=0, help="Only after this number.")
def events(follow: bool, after: int, **flags: Any) -> None:
    """What happened on the substrate, one document a line."""
    from bigfleet.cli.tables import document_bytes

    async def talk(client: "SimControlClient", flags: dict[str, Any]) -> None:
        output = Output(flags["output"], one_line=True)
        stream: AsyncGenerator[dict[str, object], None] = client.events(follow=follow, after=after)
        async with aclosing(stream) as found:
            async for event in found:
                write_out(document_bytes(event, output))

    _connected(talk)(**flags)


@sim.command("script", short_help="Run a timed list of verbs.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def script(file: Path, **flags: Any) -> None:
    """Run a timed list of verbs: YAML entries with `at`, `do` and arguments by name."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise refuse([f"{file}: {problem}"]) from None

    async def talk(client: "SimControlClient", flags: dict[str, Any]) -> None:
        _show(await client.do("script", (), {"text": text}), flags["output"])

    _connected(talk)(**flags)


for _command in (events, script):
    _command.params += line_params()


def _show(answer: dict[str, object], form: str) -> None:
    output = Output(form)
    if output.is_document:
        from bigfleet.cli.tables import document_bytes

        write_out(document_bytes(answer, output))
        return
    for line in _lines(answer):
        click.echo(plain(line))


def _lines(answer: dict[str, object], indent: str = "") -> list[str]:
    """Nested facts as indented lines; rows of equal shape as a table."""
    lines: list[str] = []
    for name, value in answer.items():
        if isinstance(value, dict) and value:
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{indent}{name}:", *_table(value, indent + "  ")]
        elif value not in ({}, []):
            lines.append(f"{indent}{name}: {value}")
    return lines


def _table(rows: list[dict[str, object]], indent: str) -> list[str]:
    columns = list(rows[0])
    cells = [columns, *([str(row.get(column, "")) for column in columns] for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(columns))]
    return [
        indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    ]
