"""A whole cycle of a live shard, the last one or a past one, as the shard's fleet file of it: for
verbs that decide on it again, and for lists of a past cycle."""

from typing import Any

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.sources import AskedCycle, Source
from bigfleet.cli.terminal import refuse
from bigfleet.cli.whole_fleet import FleetAnswers, ask_fleet


def asked_cycle_of(connection: Connection, source: Source) -> AskedCycle:
    """Of any source; a live shard is asked once, so that all is about the same cycle."""
    return live_cycle(connection, source) if source.is_live else source.read()


def live_cycle(connection: Connection, source: Source) -> AskedCycle:
    from bigfleet.cli.shard_verbs.fleet_snapshot import LONGEST_SECONDS, dumped_at
    from bigfleet.fleetfile import load_fleet
    from bigfleet.plan.cycle import engine_input_of

    async def look(shard: Clients) -> bytes:
        return await dumped_at(shard, source)

    answers = ask_fleet(connection, look, LONGEST_SECONDS)
    refuse_several(answers)
    ((shard, content),) = answers.said.items()
    fleet = load_fleet(content, f"{shard}.jsonl")
    return AskedCycle(engine_input_of(fleet), fleet.provenance.cycle or "1", shard)


def refuse_several(answers: FleetAnswers[Any]) -> None:
    """Leaves with 2: a cycle is one shard's, and another one may not have it."""
    if len(answers.said) + len(answers.failed) > 1:
        text = f"every shard counts its own cycles; name one of them: --shard {min(answers.said)}"
        raise refuse([text])
