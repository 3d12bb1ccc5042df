"""`bigfleet quotas`: how many machines of a provider's region the whole fleet may hold."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import audit_of, audited
from bigfleet.cli.coordinator_verbs.confirmations import confirm
from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.output import shows

if TYPE_CHECKING:
    from bigfleet.model.coordination import QuotaAllocation
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

_COUNTS = ("TOTAL", "ALLOCATED", "IN_USE")
_COLUMNS = ("PROVIDER", "REGION", *_COUNTS, "BY_SHARD")
_provider = click.option("--provider", required=True, help="Its name, as shards name it.")
_region = click.option(
    "--region", required=True, help="Label topology.kubernetes.io/region; '' where there is none."
)


@click.group(cls=DefaultVerb)
def quotas() -> None:
    """How many machines of a provider's region the whole fleet may hold.

    The coordinator hands them out to shards as they are wanted, highest priority first. What has no
    quota is not limited.

    \b
    Examples:
      bigfleet quotas
      bigfleet quotas set --provider aws --region eu-west-1 --total 5000 --reason "new contract"
      bigfleet quotas delete --provider aws --region eu-west-1 --reason "no limit any more"
    """


@quotas.command("list", short_help="Every quota, and what is made of it.")
@coordinator_verb
@shows(lambda: _COLUMNS)
def list_quotas(connection: CoordinatorConnection) -> None:
    """Every quota, and what is made of it.

    ALLOCATED is what shards were given, IN_USE what they hold; BY_SHARD has both, as in_use/given.
    """
    from bigfleet.cli.tables import Page, cell, table_of, write_items
    from bigfleet.wire.coordination import QUOTA

    found = connection.ask(lambda coordinator: coordinator.quotas())
    if connection.json:
        write_items(map(QUOTA.document, found), connection.now)
        return
    page = Page.on_stdout(connection.color)
    *columns, sentence = _COLUMNS
    table = table_of(*columns, sentence=sentence, numbers=_COUNTS)
    for each in found:
        allocated, used = sum(each.per_shard.values()), sum(each.in_use.values())
        table.add_row(
            cell(each.provider),
            cell(each.region),
            cell(f"{each.total:,}"),
            cell(f"{allocated:,}"),
            cell(f"{used:,}", "red" if used > each.total else ""),
            cell(by_shard_text(each)),
            name=f"quota/{each.provider}/{each.region}".rstrip("/"),
        )
    page.show_or_say(table, "No quota is set: nothing is limited.")
    page.write()


@quotas.command("set", short_help="Limit a provider's region, or change the limit.")
@coordinator_verb
@_provider
@_region
@click.option("--total", type=click.IntRange(0), required=True, help="Machines of all shards.")
@click.option("--force", is_flag=True, help="Also if more than that is in use.")
@audited
def set_quota(
    connection: CoordinatorConnection,
    provider: str,
    region: str,
    total: int,
    force: bool,
    owner: str | None,
    reason: str,
) -> None:
    """Limit a provider's region, or change the limit.

    Nothing that runs is given back for it: above the limit nothing more is bought. A limit below
    what is in use is refused with exit 4 unless you give --force.

    \b
    Example:
      bigfleet quotas set --provider aws --region eu-west-1 --total 5000 --reason "new contract"
    """
    from bigfleet.wire.coordination import QUOTA

    async def act(coordinator: "CoordinatorAdminClient") -> "QuotaAllocation":
        audit = audit_of(owner, reason)
        return await coordinator.set_quota(
            audit, provider=provider, region=region, total=total, force=force
        )

    quota = connection.ask(act)
    used = sum(quota.in_use.values())
    said = f"{pool_text(provider, region)} is limited to {quota.total:,}; {used:,} in use"
    if used > quota.total:
        said += f": nothing is bought until {used - quota.total:,} are given back"
    confirm(connection, said, quota=QUOTA.document(quota))


@quotas.command(short_help="Lift a limit.")
@coordinator_verb
@_provider
@_region
@audited
def delete(
    connection: CoordinatorConnection, provider: str, region: str, owner: str | None, reason: str
) -> None:
    """Lift a limit.

    \b
    Example:
      bigfleet quotas delete --provider aws --region eu-west-1 --reason "no limit any more"
    """

    async def act(coordinator: "CoordinatorAdminClient") -> None:
        await coordinator.delete_quota(audit_of(owner, reason), provider=provider, region=region)

    connection.ask(act)
    confirm(connection, f"{pool_text(provider, region)} is not limited any more")


def by_shard_text(quota: "QuotaAllocation") -> str:
    names = sorted(quota.per_shard.keys() | quota.in_use.keys())
    return ", ".join(
        f"{name}={quota.in_use.get(name, 0):,}/{quota.per_shard.get(name, 0):,}" for name in names
    )


def pool_text(provider: str, region: str) -> str:
    return f"{provider} {region}".rstrip()
