"""`bigfleet shards transfers` and `cancel`: machines on their way from one shard to another."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import audit_of, audited
from bigfleet.cli.coordinator_verbs.confirmations import confirm
from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_verb
from bigfleet.cli.output import shows

if TYPE_CHECKING:
    from bigfleet.model.coordination import Transfer
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

#: Machines that a row names.
_NAMED = 3
_COLUMNS = ("TRANSFER", "TIER", "FROM", "TO", "MACHINES", "STATE", "AGE", "IDS")
_SENTENCE = "REASON"


@click.command(short_help="Machines on their way from one shard to another.")
@coordinator_verb
@shows(lambda: (*_COLUMNS, _SENTENCE))
@click.option("--all", "everything", is_flag=True, help="Also those that have ended.")
def transfers(connection: CoordinatorConnection, everything: bool) -> None:
    """Machines on their way from one shard to another, and why.

    TIER: idle machines, speculative slots, machines that are drained first, or a return home. A
    transfer goes from offered over releasing (a drain before it) and granted to done; up to the
    grant it may be cancelled. IDS names the first machines; -o json names all of them.

    \b
    Examples:
      bigfleet shards transfers
      bigfleet shards transfers --all -o json | jq '.items[] | {transferId, machineIds, reason}'
    """
    from bigfleet.cli.tables import Page, cell, since_text, table_of, write_items
    from bigfleet.wire.coordination import TRANSFER

    found = connection.ask(lambda coordinator: coordinator.transfers(include_finished=everything))
    if connection.json:
        write_items(map(TRANSFER.document, found), connection.now)
        return
    page = Page.on_stdout(connection.color)
    table = table_of(*_COLUMNS, sentence=_SENTENCE, numbers=["MACHINES"])
    for each in found:
        table.add_row(
            cell(each.id),
            cell(each.tier.label),
            cell(each.from_shard),
            cell(each.to_shard),
            cell(len(each.machine_ids)),
            cell(each.state.label, "yellow" if each.state.open else ""),
            cell(since_text(each.created_at, connection.now)),
            cell(ids_text(each.machine_ids)),
            cell(each.reason),
        )
    page.show_or_say(table, "Nothing moves." if not everything else "Nothing has moved.")
    page.write()


@click.command(short_help="Stop a transfer before its machines change hands.")
@coordinator_verb
@click.argument("transfer", metavar="TRANSFER")
@audited
def cancel(
    connection: CoordinatorConnection, transfer: str, owner: str | None, reason: str
) -> None:
    """Stop a transfer before its machines change hands; its donor keeps them.

    After the grant they belong to the receiver, and it is refused.

    \b
    Example:
      bigfleet shards cancel 7f3a --reason "the shortage is over"
    """
    from bigfleet.wire.coordination import TRANSFER

    async def act(coordinator: "CoordinatorAdminClient") -> "Transfer":
        return await coordinator.cancel_transfer(audit_of(owner, reason), transfer_id=transfer)

    ended = connection.ask(act)
    confirm(connection, f"{_name(ended)} is {ended.state.label}", transfer=TRANSFER.document(ended))


def ids_text(ids: "tuple[str, ...]") -> str:
    """The first of them; a transfer may have thousands, and JSON has all."""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"{', '.join(ids[:_NAMED])}{more}"


def _name(each: "Transfer") -> str:
    from bigfleet.cli.tables import counted

    machines = counted(len(each.machine_ids), "machine")
    return f"transfer {each.id} ({machines} from {each.from_shard} to {each.to_shard})"
