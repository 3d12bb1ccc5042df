"""`bigfleet shards`: who belongs to the fleet. What moves between them has modules of its own.

EPOCH is asked of the shards themselves: the registry's frozen message has no place for it. STATE
goes by the default interval of reports, since a coordinator does not tell its settings.
"""

from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import (
    Clients,
    asked,
    audit_of,
    audited,
    no_such_shard,
    side_by_side,
)
from bigfleet.cli.coordinator_verbs.confirmations import confirm
from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_verb
from bigfleet.cli.coordinator_verbs.instructions import instructions
from bigfleet.cli.coordinator_verbs.shortfalls import shortfalls
from bigfleet.cli.coordinator_verbs.transfers import cancel, transfers
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.object_names import SHARD
from bigfleet.cli.output import shows
from bigfleet.cli.whole_fleet import at_a_glance, leave_partial, told_apart

if TYPE_CHECKING:
    from bigfleet.model.coordination import ShardEntry
    from bigfleet.model.machines import Instant
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

    Seen = tuple[tuple[ShardEntry, ...], dict[str, int | Rejected]]

#: Three report intervals of 10 s: the default of coordinator.stale_after.
STALE_AFTER_SECONDS = 30
_COLUMNS = ("SHARD", "ADDRESS", "EPOCH", "REGISTERED", "LAST_HEARTBEAT", "STATE")
LIVE = "live"


@click.group(cls=DefaultVerb)
def shards() -> None:
    """The shards of a fleet, what they are short of, and machines that move between them.

    \b
    Examples:
      bigfleet shards
      bigfleet shards shortfalls
      bigfleet shards transfers --all
      bigfleet shards instructions shard-1
      bigfleet shards cancel 7f3a --reason "the shortage is over"
      bigfleet shards remove shard-9 --reason "taken apart last week"
    """


@shards.command("list", short_help="Every shard that has reported and was not removed.")
@coordinator_verb
@shows(lambda: _COLUMNS)
def list_shards(connection: CoordinatorConnection) -> None:
    """Every shard that has reported and was not removed.

    STATE is live; stale after 30 s of silence; or silent, where nothing was heard since this
    coordinator leads. EPOCH counts a shard's starts, and is asked of the shard itself.
    """
    entries, answers = connection.ask(lambda coordinator: _look(connection, coordinator))
    epochs, failed = told_apart(answers)
    states = {entry.shard_id: state_of(entry, connection.now) for entry in entries}
    _show(connection, entries, states, epochs)
    # A shard that is not live is not expected to answer either.
    surprising = {name: each for name, each in failed.items() if states[name] == LIVE}
    addresses = {entry.shard_id: entry.address for entry in entries}
    leave_partial(at_a_glance(connection), addresses, surprising)


async def _look(connection: CoordinatorConnection, coordinator: "CoordinatorAdminClient") -> "Seen":
    async def epoch_of(shard: Clients) -> int:
        return (await shard.admin.status()).epoch

    entries = await coordinator.shards()
    addresses = {entry.shard_id: entry.address for entry in entries}
    return entries, await side_by_side(at_a_glance(connection), addresses, epoch_of)


def state_of(entry: "ShardEntry", now: "Instant") -> str:
    if entry.last_heartbeat_at is None:
        return "silent"
    silence = (now - entry.last_heartbeat_at) / 1_000_000_000
    return LIVE if silence < STALE_AFTER_SECONDS else "stale"


def _show(
    connection: CoordinatorConnection,
    entries: "tuple[ShardEntry, ...]",
    states: dict[str, str],
    epochs: dict[str, int],
) -> None:
    from bigfleet.cli.listings import Column, Listing, write_listing
    from bigfleet.cli.tables import since_text
    from bigfleet.wire.coordination import SHARD

    def document(entry: "ShardEntry") -> dict[str, Any]:
        shown = {**SHARD.document(entry), "state": states[entry.shard_id]}
        if entry.shard_id in epochs:
            shown["epoch"] = epochs[entry.shard_id]
        return shown

    columns: list[Column[ShardEntry]] = [
        Column("SHARD", lambda each: each.shard_id),
        Column("ADDRESS", lambda each: each.address),
        Column("EPOCH", lambda each: epochs.get(each.shard_id), number=True),
        Column(
            "REGISTERED",
            lambda each: since_text(each.registered_at, connection.now),
            sort=lambda each: connection.now - each.registered_at,
        ),
        Column(
            "LAST_HEARTBEAT",
            lambda each: since_text(each.last_heartbeat_at, connection.now),
            sort=lambda each: connection.now - (each.last_heartbeat_at or 0),
        ),
        Column(
            "STATE",
            lambda each: states[each.shard_id],
            style=lambda each: "" if states[each.shard_id] == LIVE else "red",
        ),
    ]
    write_listing(
        connection,
        Listing(
            columns=columns,
            rows=entries,
            document=document,
            name=lambda each: f"shard/{each.shard_id}",
            empty="No shard has reported yet; start one with --coordinator-addr.",
        ),
    )


@shards.command(short_help="Forget a shard that is gone.")
@coordinator_verb
@click.argument("shard_id", metavar="ID", type=SHARD)
@click.option("--force", is_flag=True, help="Also if the shard is live.")
@audited
def remove(
    connection: CoordinatorConnection, shard_id: str, force: bool, owner: str | None, reason: str
) -> None:
    """Forget a shard that is gone.

    Its domains, clusters, quota, instructions and transfers become free. A shard that lives is not
    removed without --force: it would register again with its next report, and own nothing.

    \b
    Example:
      bigfleet shards remove shard-9 --reason "taken apart last week"
    """

    async def act(coordinator: "CoordinatorAdminClient") -> None:
        from bigfleet.model.provider_calls import Code, Rejected

        known = {entry.shard_id: entry for entry in await coordinator.shards()}
        if shard_id not in known:
            raise no_such_shard(shard_id, known)
        alive = "" if force else await _sign_of_life(connection, known[shard_id])
        if alive:
            text = f"{shard_id} {alive}; stop it first, or give --force"
            raise Rejected(Code.ABORTED, text)
        await coordinator.remove_shard(audit_of(owner, reason), shard_id=shard_id)

    connection.ask(act)
    confirm(
        connection, f"{shard_id} is removed: its domains, clusters, quota and transfers are free"
    )


async def _sign_of_life(connection: CoordinatorConnection, entry: "ShardEntry") -> str:
    """Empty: there is none. A coordinator that has just begun to lead has heard no shard yet."""
    from bigfleet.cli.tables import since_text
    from bigfleet.model.provider_calls import Rejected

    if entry.last_heartbeat_at is not None:
        heard = since_text(entry.last_heartbeat_at, connection.now)
        return f"reported {heard} ago" if state_of(entry, connection.now) == LIVE else ""
    try:
        glance = at_a_glance(connection)
        status = await asked(glance, entry.address, lambda shard: shard.admin.status())
    except Rejected:
        return ""
    return f"answers at {entry.address}" if status.shard_id == entry.shard_id else ""


shards.add_command(transfers)
shards.add_command(cancel)
shards.add_command(instructions)
shards.add_command(shortfalls)
