"""`bigfleet snapshot fleet`: the live fleet as a fleet file, for `bigfleet plan` to read.

Of one shard it is exactly what its last cycle was decided on. Of several shards it is one pool:
`plan` may then give a machine of one shard to a cluster of another, which no shard does by itself.
A file of which a shard is missing would plan wrongly, so none is written.
"""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Connection, shard_verb
from bigfleet.cli.live_cycles import refuse_several
from bigfleet.cli.output import answers_once
from bigfleet.cli.request_options import EXIT_PARTIAL, named_text
from bigfleet.cli.sources import Source, takes_source
from bigfleet.cli.terminal import plain, refuse, refuse_input, write_out
from bigfleet.cli.whole_fleet import ask_fleet, silence_text
from bigfleet.model.errors import BadInput

if TYPE_CHECKING:
    from bigfleet.model.fleet import Fleet

#: A dump may take this many seconds in all; --timeout is for each piece of it.
LONGEST_SECONDS = 3600.0
_LINES = ".jsonl"


@click.command("fleet", short_help="The live fleet as a fleet file; - writes to a pipe.")
@shard_verb
@answers_once
@takes_source
@click.argument("file")
def fleet_snapshot(connection: Connection, source: Source, file: str) -> None:
    """The live fleet as a fleet file: machines, needs, options and memory of the last cycle.

    FILE is written as YAML, JSON or .jsonl by its suffix, packed for .gz; "-" writes lines of JSON
    to standard output. `bigfleet plan` on it decides what the shard decided: nothing, where the
    fleet is calm. Of all shards, as one pool; or of those that --shard names.

    Of one shard also a past cycle (--at), as its journal has it; or of a journal (--journal) at a
    cycle or time --at.

    \b
    Examples:
      bigfleet snapshot fleet fleet.yaml
      bigfleet snapshot fleet then.yaml --shard shard-1 --at 18231
      bigfleet snapshot fleet then.yaml --journal data/journal --at 2026-03-14T03:00:10Z
      bigfleet snapshot fleet - --shard shard-1 | bigfleet plan -
      bigfleet snapshot fleet - | sed 's/"cpu":"8"/"cpu":"16"/' | bigfleet plan -
    """
    if source.fleet is not None:
        raise refuse(["--fleet: it is a fleet file already; ask a shard, or --journal DIR"])
    if source.journal is not None:
        asked = source.read()
        assert asked.found is not None, "a journal's cycle was found, or the verb has ended"
        from bigfleet.fleetfile import dump_fleet
        from bigfleet.journal.fleets import fleet_of

        fleet = fleet_of(asked.given, asked.found.header)
        content = dump_fleet(fleet, f"fleet{_LINES}" if file == "-" else file)
        said = _text(len(fleet.machines), len(fleet.needs), [f"cycle {asked.name}"])
        _write(connection, file, content, said, [asked.shard])
        return

    async def look(shard: Clients) -> bytes:
        return await dumped_at(shard, source)

    answers = ask_fleet(connection, look, LONGEST_SECONDS)
    if source.at is not None:
        refuse_several(answers)
    if answers.failed:
        silent = [
            f"{name} at {answers.addresses[name]} ({silence_text(connection, why)})"
            for name, why in answers.failed.items()
        ]
        said = f"{len(silent)} of {len(answers.addresses)} shards gave no answer: "
        rest = "; nothing is written: name those that answer with --shard"
        click.echo(plain(f"{said}{named_text(silent)}{rest}"), err=True)
        raise click.exceptions.Exit(EXIT_PARTIAL)
    content, said = _file_of(answers.said, file)
    _write(connection, file, content, said, sorted(answers.said))


def _write(connection: Connection, file: str, content: bytes, said: str, shards: list[str]) -> None:
    if file == "-":
        write_out(content)
        return
    from bigfleet.edge.files import write_whole

    try:
        write_whole(Path(file), content, mode=0o666)
    except OSError as problem:
        raise refuse([f"{file} cannot be written: {problem.strerror}"]) from None
    if connection.json:
        from bigfleet.cli.tables import write_json

        write_json({"file": file, "bytes": len(content), "shards": shards}, connection.now)
    else:
        click.echo(plain(f"saved {file}: {said}; bigfleet plan {file} reads it"))


async def dumped_at(shard: Clients, source: Source) -> bytes:
    """Of the cycle that is asked for; raises Rejected where the shard does not have it."""
    from bigfleet.cli.why_machine import asked_cycle

    return await dumped(shard, (await asked_cycle(shard, source.at))[1] if source.at else 0)


async def dumped(shard: Clients, cycle: int = 0) -> bytes:
    """The fleet file of a cycle of a shard, as lines; 0: its last one."""
    import asyncio

    from bigfleet.model.provider_calls import Code, Rejected

    pieces: list[bytes] = []
    async with aclosing(shard.admin.fleet(cycle)) as coming:
        try:
            while True:
                async with asyncio.timeout(shard.timeout):
                    pieces.append(await anext(coming))
        except StopAsyncIteration:
            return b"".join(pieces)
        except TimeoutError:
            text = "the fleet took too long to come"
            raise Rejected(Code.DEADLINE_EXCEEDED, text) from None


def _file_of(said: Mapping[str, bytes], file: str) -> tuple[bytes, str]:
    """What FILE should hold, and what it is in words."""
    as_lines = file == "-" or file.endswith(_LINES)
    if len(said) == 1 and as_lines:
        ((shard, content),) = said.items()
        machines, needs = content.count(b'\n{"machine":'), content.count(b'\n{"need":')
        return content, _text(machines, needs, [shard])
    from bigfleet.fleetfile import dump_fleet, load_fleet

    try:
        fleets = {shard: load_fleet(content, _LINES) for shard, content in sorted(said.items())}
    except BadInput as problem:
        raise refuse_input("the answer of a shard", problem) from None
    if odd := differing_options(fleets):
        said_odd = f"{named_text(odd)} decides with other options than {next(iter(fleets))}"
        click.echo(plain(f"{said_odd}, whose are written"), err=True)
    whole = merged(fleets)
    name = f"fleet{_LINES}" if file == "-" else file
    text = _text(len(whole.machines), len(whole.needs), list(fleets))
    return dump_fleet(whole, name), text


def _text(machines: int, needs: int, shards: list[str]) -> str:
    from bigfleet.cli.tables import counted

    return f"{counted(machines, 'machine')} and {counted(needs, 'need')} of {named_text(shards)}"


def merged(fleets: "Mapping[str, Fleet]") -> "Fleet":
    """One pool of all; what can be said only once is said as the first shard says it."""
    from bigfleet.model.memory import EngineMemory

    first, *others = fleets.values()
    if not others:
        return first
    machines = {entry.machine.id: entry for each in fleets.values() for entry in each.machines}
    needs = {entry.need.key: entry for each in fleets.values() for entry in each.needs}
    told = [each.memory for each in fleets.values()]
    memory = EngineMemory(
        {name: kept for each in told for name, kept in each.reservations.items()},
        {key: age for each in told for key, age in each.parking.items()},
        {key: short for each in told for key, short in each.shortfalls.items()},
    )
    nows = [each.now for each in fleets.values() if each.now is not None]
    now = max(nows) if nows else None
    provenance = replace(first.provenance, shard=",".join(fleets), cycle="", captured_at=now)
    return replace(
        first,
        machines=tuple(machines.values()),
        needs=tuple(needs.values()),
        now=now,
        options=replace(first.options, clusters_ready=_ready(fleets)),
        memory=memory,
        provenance=provenance,
    )


def _ready(fleets: "Mapping[str, Fleet]") -> frozenset[str] | None:
    """Clusters that have reported to their shard."""
    found: set[str] = set()
    for each in fleets.values():
        if each.options.clusters_ready is None:
            return None
        found |= each.options.clusters_ready
    return frozenset(found)


def differing_options(fleets: "Mapping[str, Fleet]") -> list[str]:
    """Shards whose options are not those of the first one, which is whose are written."""
    kept = {
        shard: (replace(each.options, clusters_ready=None), each.plan)
        for shard, each in fleets.items()
    }
    first = next(iter(kept.values()))
    return [shard for shard, each in kept.items() if each != first]
