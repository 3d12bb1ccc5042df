"""`bigfleet shards instructions`: what shards were told and have not yet confirmed."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import no_such_shard
from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_verb
from bigfleet.cli.object_names import SHARD
from bigfleet.cli.output import shows

if TYPE_CHECKING:
    from bigfleet.model.coordination import PendingInstruction
    from bigfleet.model.coordinator_calls import CoordinatorInstruction
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

_COLUMNS = ("SHARD", "SEQUENCE", "INSTRUCTION", "KIND", "AGE", "TRIES", "LAST", "WHAT")


@click.command(short_help="What shards were told and have not yet confirmed.")
@coordinator_verb
@shows(lambda: _COLUMNS)
@click.argument("shard_id", metavar="[ID]", type=SHARD, required=False, default="")
def instructions(connection: CoordinatorConnection, shard_id: str) -> None:
    """What shards were told and have not yet confirmed; with ID only that shard.

    They are told again with every report until they confirm. TRIES counts those it answered
    otherwise, LAST is how it answered, and its reason stands in WHAT.

    \b
    Examples:
      bigfleet shards instructions
      bigfleet shards instructions shard-1
    """
    from bigfleet.cli.listings import Column, Listing, write_listing
    from bigfleet.cli.tables import since_text
    from bigfleet.wire.coordination import PENDING

    async def look(coordinator: "CoordinatorAdminClient") -> "tuple[PendingInstruction, ...]":
        waiting = await coordinator.instructions(shard_id=shard_id)
        if shard_id and not waiting:
            known = {entry.shard_id: entry for entry in await coordinator.shards()}
            if shard_id not in known:
                raise no_such_shard(shard_id, known)
        return waiting

    found = connection.ask(look)
    columns: list[Column[PendingInstruction]] = [
        Column("SHARD", lambda each: each.shard),
        Column("SEQUENCE", lambda each: each.instruction.sequence, number=True),
        Column("INSTRUCTION", lambda each: each.instruction.id),
        Column("KIND", lambda each: each.instruction.kind.replace("_", "-")),
        Column(
            "AGE",
            lambda each: since_text(each.created_at, connection.now),
            sort=lambda each: connection.now - each.created_at,
        ),
        Column("TRIES", lambda each: each.attempts, number=True),
        Column("LAST", _last_text, style=lambda each: "red"),
        Column("WHAT", what_text, sentence=True),
    ]
    write_listing(
        connection,
        Listing(
            columns=columns,
            rows=found,
            document=PENDING.document,
            name=lambda each: f"instruction/{each.instruction.id}",
            empty="No instruction waits.",
        ),
    )


def _last_text(each: "PendingInstruction") -> str:
    return each.last_outcome.label.replace("_", "-") if each.last_outcome else ""


def what_text(each: "PendingInstruction") -> str:
    said = f": {each.last_reason}" if each.last_reason else ""
    return f"{about_text(each.instruction)}{said}"


def about_text(instruction: "CoordinatorInstruction") -> str:
    """`zone=a`, or `64 machines from shard-0 to shard-1`."""
    from bigfleet.cli.tables import counted

    if instruction.topology_key:
        return f"{instruction.topology_key}={instruction.topology_value}"
    machines = counted(len(instruction.machine_ids), "machine")
    if instruction.from_shard or instruction.to_shard:
        return f"{machines} from {instruction.from_shard} to {instruction.to_shard}"
    return machines
