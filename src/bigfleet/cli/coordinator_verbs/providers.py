"""`bigfleet providers`: the registry of providers, who is attached to them, and which are broken.

BREAKER is asked of the attached shards: each of them has its own, and only it knows.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, audit_of, audited, side_by_side
from bigfleet.cli.coordinator_verbs.confirmations import confirm
from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.output import shows
from bigfleet.cli.request_options import named_text
from bigfleet.cli.whole_fleet import at_a_glance, leave_partial, told_apart
from bigfleet.model.syntax import is_address

if TYPE_CHECKING:
    from bigfleet.model.coordination import ProviderEntry
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.model.shard_views import ProviderStatus
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

    Attached = Mapping[str, tuple[ProviderStatus, ...]]
    Seen = tuple[
        tuple[ProviderEntry, ...],
        dict[str, str],
        dict[str, tuple[ProviderStatus, ...] | Rejected],
    ]

_COLUMNS = ("NAME", "ADDRESS", "REGION", "SHARDS", "BREAKER")


@click.group(cls=DefaultVerb)
def providers() -> None:
    """The providers of a fleet, and which shards are attached to them.

    Shards with --providers-from-registry attach what is listed; others only report what they have.

    \b
    Examples:
      bigfleet providers
      bigfleet providers set aws --address aws-provider:9000 --region eu-west-1 --reason "new"
      bigfleet providers delete aws --reason "moved away"
    """


@providers.command("list", short_help="Every provider, its shards, and its breakers.")
@coordinator_verb
@shows(lambda: _COLUMNS)
def list_providers(connection: CoordinatorConnection) -> None:
    """Every provider, its shards, and its breakers.

    BREAKER is open where a shard's calls fail, and names those shards; - where none could be asked.
    """
    found, addresses, answers = connection.ask(lambda coordinator: _look(connection, coordinator))
    attached, failed = told_apart(answers)
    _show(connection, [(entry, breakers_of(entry, attached)) for entry in found])
    leave_partial(at_a_glance(connection), addresses, failed)


async def _look(connection: CoordinatorConnection, coordinator: "CoordinatorAdminClient") -> "Seen":
    async def statuses_of(shard: Clients) -> "tuple[ProviderStatus, ...]":
        return (await shard.admin.status()).providers

    found = await coordinator.providers()
    wanted = {shard for entry in found for shard in entry.attached_shards}
    known = await coordinator.shards() if wanted else ()
    addresses = {each.shard_id: each.address for each in known if each.shard_id in wanted}
    return found, addresses, await side_by_side(at_a_glance(connection), addresses, statuses_of)


def breakers_of(entry: "ProviderEntry", attached: "Attached") -> dict[str, str]:
    """`open` or `closed` by shard, of those that said so."""
    return {
        shard: "open" if status.breaker_open else "closed"
        for shard in entry.attached_shards
        for status in attached.get(shard, ())
        if status.address == entry.address
    }


def breaker_text(breakers: Mapping[str, str]) -> str:
    opened = [shard for shard, state in breakers.items() if state == "open"]
    if opened:
        return f"open on {named_text(opened)}"
    return "closed" if breakers else ""


def _show(
    connection: CoordinatorConnection, found: "list[tuple[ProviderEntry, dict[str, str]]]"
) -> None:
    from bigfleet.cli.listings import Column, Listing, write_listing
    from bigfleet.wire.coordination import PROVIDER

    columns: list[Column[tuple[ProviderEntry, dict[str, str]]]] = [
        Column("NAME", lambda row: row[0].name),
        Column("ADDRESS", lambda row: row[0].address),
        Column("REGION", lambda row: row[0].region),
        Column("SHARDS", lambda row: named_text(row[0].attached_shards)),
        Column(
            "BREAKER",
            lambda row: breaker_text(row[1]),
            style=lambda row: "red" if breaker_text(row[1]).startswith("open") else "",
        ),
    ]
    write_listing(
        connection,
        Listing(
            columns=columns,
            rows=found,
            document=lambda row: {**PROVIDER.document(row[0]), "breakers": row[1]},
            name=lambda row: f"provider/{row[0].name}",
            empty="No provider is listed, and no shard reports one.",
        ),
    )


@providers.command("set", short_help="List a provider, or change its entry.")
@coordinator_verb
@click.argument("name")
@click.option("--address", required=True, help="HOST:PORT, as the shards reach it.")
@click.option("--region", default=None, help="Region of machines without a region label.")
@audited
def set_provider(
    connection: CoordinatorConnection,
    name: str,
    address: str,
    region: str | None,
    owner: str | None,
    reason: str,
) -> None:
    """List a provider, or change its entry; what is not said stays as it was.

    \b
    Example:
      bigfleet providers set aws --address aws-provider:9000 --region eu-west-1 --reason "new"
    """
    from bigfleet.model.coordination import ProviderEntry
    from bigfleet.wire.coordination import PROVIDER

    if not is_address(address):
        raise click.UsageError(f"--address {address!r} is not HOST:PORT; shards dial it")

    async def act(coordinator: "CoordinatorAdminClient") -> "ProviderEntry":
        listed = {entry.name: entry for entry in await coordinator.providers()}
        before = listed.get(name, ProviderEntry(name, address))
        where = before.region if region is None else region
        entry = replace(before, address=address, region=where, attached_shards=())
        return await coordinator.upsert_provider(audit_of(owner, reason), entry)

    entry = connection.ask(act)
    where = f" in {entry.region}" if entry.region else ""
    confirm(
        connection, f"{entry.name} is at {entry.address}{where}", provider=PROVIDER.document(entry)
    )


@providers.command(short_help="Take a provider off the list.")
@coordinator_verb
@click.argument("name")
@audited
def delete(connection: CoordinatorConnection, name: str, owner: str | None, reason: str) -> None:
    """Take a provider off the list; refused while a shard reports it.

    \b
    Example:
      bigfleet providers delete aws --reason "moved away"
    """

    async def act(coordinator: "CoordinatorAdminClient") -> None:
        await coordinator.delete_provider(audit_of(owner, reason), name=name)

    connection.ask(act)
    confirm(connection, f"{name} is not listed any more")
