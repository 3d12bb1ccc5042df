"""`bigfleet domains`: which shard owns the machines of a zone, a rack, or any other label's value.

Ownership changes in two steps: a domain has no owner between the moment its old owner is told and
the moment it has confirmed. The confirmation says whom it waits for.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import audit_of, audited
from bigfleet.cli.coordinator_verbs.confirmations import confirm
from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.object_names import SHARD
from bigfleet.cli.output import shows
from bigfleet.cli.request_options import named_text
from bigfleet.model.syntax import is_address

if TYPE_CHECKING:
    from bigfleet.model.coordination import DomainAssignment
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

    Owners = tuple[tuple[DomainAssignment, ...], tuple[tuple[str, str], ...]]

_key = click.option("--key", required=True, help="Label, such as topology.kubernetes.io/zone.")
_value = click.option("--value", required=True, help="Its value, such as a.")
_shard = click.option("--shard", "shard_id", type=SHARD, required=True, help="Id of the new owner.")


@click.group(cls=DefaultVerb)
def domains() -> None:
    """Which shard owns which machines: by zone, by rack, by any label.

    Machines outside every assigned domain belong to the default owner of their provider.

    \b
    Examples:
      bigfleet domains
      bigfleet domains assign --key topology.kubernetes.io/zone --value a --shard shard-1 \\
        --reason "zone a moves"
      bigfleet domains unassign --key topology.kubernetes.io/zone --value a --reason "back again"
      bigfleet domains default --provider aws --shard shard-0 --reason "the first one"
    """


@domains.command("list", short_help="Every assigned domain, and who owns it.")
@coordinator_verb
@shows(lambda: ("KEY", "VALUE", "SHARD"))
def list_domains(connection: CoordinatorConnection) -> None:
    """Every assigned domain and its owner; it has none while it changes hands.

    The last rows are the default owners, by the address of the provider.
    """
    from bigfleet.cli.tables import Page, cell, table_of, write_items
    from bigfleet.model.ownership import PROVIDER_KEY
    from bigfleet.wire.coordination import DOMAIN

    async def look(coordinator: "CoordinatorAdminClient") -> "Owners":
        return await coordinator.domains(), await coordinator.default_owners()

    found, defaults = connection.ask(look)
    if connection.json:
        rest = [{"providerAddress": address, "shardId": shard} for address, shard in defaults]
        write_items(map(DOMAIN.document, found), connection.now, defaultOwners=rest)
        return
    page = Page.on_stdout(connection.color)
    table = table_of("KEY", "VALUE", "SHARD")
    rows = [(each.key, each.value, each.shard) for each in found]
    for key, value, shard in (*rows, *((PROVIDER_KEY, *each) for each in defaults)):
        owner = cell(shard) if shard else cell("(changes hands)", "yellow")
        table.add_row(cell(key), cell(value), owner, name=f"domain/{key}={value}")
    if not found:
        page.say("No domain is assigned: default owners own everything.")
    if table.row_count:
        page.show(table)
    page.write()


@domains.command(short_help="Give a domain to a shard.")
@coordinator_verb
@_key
@_value
@_shard
@audited
def assign(
    connection: CoordinatorConnection,
    key: str,
    value: str,
    shard_id: str,
    owner: str | None,
    reason: str,
) -> None:
    """Give a domain to a shard.

    A domain of another shard is refused: unassign it first. Who may hold machines of it gives them
    up first, keeping what clusters use until they no longer do.

    \b
    Example:
      bigfleet domains assign --key topology.kubernetes.io/zone --value a --shard shard-1 \\
        --reason "zone a moves"
    """

    async def act(coordinator: "CoordinatorAdminClient") -> list[str]:
        await coordinator.assign_domain(
            audit_of(owner, reason), topology_key=key, topology_value=value, shard_id=shard_id
        )
        return await holders(coordinator, key, value)

    said = f"{key}={value} belongs to {shard_id}"
    if waits := connection.ask(act):
        said = f"{key}={value} goes to {shard_id} {_once_given_up(waits)}"
    confirm(connection, said)


@domains.command(short_help="Take a domain back.")
@coordinator_verb
@_key
@_value
@audited
def unassign(
    connection: CoordinatorConnection, key: str, value: str, owner: str | None, reason: str
) -> None:
    """Take a domain back: its machines go to the shard that owns them without it.

    \b
    Example:
      bigfleet domains unassign --key topology.kubernetes.io/zone --value a --reason "back again"
    """

    async def act(coordinator: "CoordinatorAdminClient") -> list[str]:
        await coordinator.unassign_domain(
            audit_of(owner, reason), topology_key=key, topology_value=value
        )
        return await holders(coordinator, key, value)

    said = f"{key}={value} is not assigned"
    if waits := connection.ask(act):
        said = f"{said} {_once_given_up(waits)}"
    confirm(connection, said)


@domains.command(short_help="Who owns what is in no assigned domain.")
@coordinator_verb
@click.option("--provider", required=True, help="Its address, or its name in the registry.")
@_shard
@audited
def default(
    connection: CoordinatorConnection, provider: str, shard_id: str, owner: str | None, reason: str
) -> None:
    """Make a shard the owner of a provider's machines outside every assigned domain.

    \b
    Example:
      bigfleet domains default --provider aws --shard shard-0 --reason "the first one"
    """

    async def act(coordinator: "CoordinatorAdminClient") -> tuple[str, str, list[str]]:
        from bigfleet.model.ownership import PROVIDER_KEY

        listed = {entry.name: entry.address for entry in await coordinator.providers()}
        if provider not in listed and not is_address(provider):
            raise _no_such_provider(provider, listed)
        address = listed.get(provider, provider)
        audit = audit_of(owner, reason)
        shown = await coordinator.set_default_owner(
            audit, provider_address=address, shard_id=shard_id
        )
        return address, shown, await holders(coordinator, PROVIDER_KEY, address)

    address, shown, waits = connection.ask(act)
    said = f"{shard_id} owns machines of {provider} outside every assigned domain"
    if shown != shard_id:
        said = f"{said} {_once_given_up(waits)}"
    confirm(connection, said, defaultOwner={"providerAddress": address, "shardId": shown})


async def holders(coordinator: "CoordinatorAdminClient", key: str, value: str) -> list[str]:
    """Shards that were told to give it up and have not yet."""
    from bigfleet.model.coordinator_calls import InstructionKind

    return [
        each.shard
        for each in await coordinator.instructions()
        if each.instruction.kind is InstructionKind.UNASSIGN_DOMAIN
        and (each.instruction.topology_key, each.instruction.topology_value) == (key, value)
    ]


def _no_such_provider(name: str, known: Mapping[str, str]) -> "Rejected":
    """No provider would ever be at such an address; the result is to be raised."""
    from difflib import get_close_matches

    from bigfleet.model.provider_calls import Code, Rejected

    near = get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else "bigfleet providers shows those there are"
    return Rejected(Code.NOT_FOUND, f"no provider has the name or address {name}; {hint}")


def _once_given_up(waits: list[str]) -> str:
    names = named_text(waits) if waits else "its owner"
    verb = "have" if len(waits) > 1 else "has"
    return f"once {names} {verb} given it up; bigfleet shards instructions shows who has not"
