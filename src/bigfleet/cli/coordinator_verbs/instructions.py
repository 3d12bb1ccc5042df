"""`bigfleet shards instructions`: what shards were told and have not yet confirmed."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import no_such_shard
from bigfleet.cli.coordinator_verbs.asking import CoordinatorLine, coordinator_verb
from bigfleet.cli.object_names import SHARD

if TYPE_CHECKING:
    from bigfleet.model.coordination import PendingInstruction
    from bigfleet.model.coordinator_calls import CoordinatorInstruction
    from bigfleet.wire.coordinator_admin_client import CoordinatorAdminClient

_COLUMNS = ("SHARD", "SEQUENCE", "INSTRUCTION", "KIND", "AGE", "TRIES", "LAST")


@click.command(short_help="What shards were told and have not yet confirmed.")
@coordinator_verb
@click.argument("shard_id", metavar="[ID]", type=SHARD, required=False, default="")
def instructions(line: CoordinatorLine, shard_id: str) -> None:
    """What shards were told and have not yet confirmed; with ID only that shard.

    They are told again with every report until they confirm. TRIES counts those it answered
    otherwise, LAST is how it answered, and its reason stands in WHAT.

    \b
    Examples:
      bigfleet shards instructions
      bigfleet shards instructions shard-1
    """
    from bigfleet.cli.tables import Page, cell, since_text, table_of, write_items
    from bigfleet.wire.coordinator_documents import document_of

    async def look(coordinator: "CoordinatorAdminClient") -> "tuple[PendingInstruction, ...]":
        waiting = await coordinator.instructions(shard_id)
        if shard_id and not waiting:
            known = {entry.shard_id: entry for entry in await coordinator.shards()}
            if shard_id not in known:
                raise no_such_shard(shard_id, known)
        return waiting

    found = line.ask(look)
    if line.json:
        write_items(map(document_of, found), line.now)
        return
    page = Page.on_stdout(line.color)
    table = table_of(*_COLUMNS, sentence="WHAT", numbers=["SEQUENCE", "TRIES"])
    for each in found:
        last = each.last_outcome
        table.add_row(
            cell(each.shard),
            cell(each.instruction.sequence),
            cell(each.instruction.id),
            cell(each.instruction.kind.replace("_", "-")),
            cell(since_text(each.created_at, line.now)),
            cell(each.attempts),
            cell(last.label.replace("_", "-") if last else "", "red"),
            cell(what_text(each)),
        )
    if found:
        page.show(table)
    else:
        page.say("No instruction waits.")
    page.write()


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
