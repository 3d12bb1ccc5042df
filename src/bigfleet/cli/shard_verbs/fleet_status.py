"""`bigfleet status` of a whole fleet: the coordinator's replicas, and every shard in one line."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection, side_by_side
from bigfleet.cli.request_options import EXIT_PARTIAL, cause_in, exit_code_of, leave, named_text
from bigfleet.cli.shard_verbs.finding_lines import tell_findings
from bigfleet.cli.terminal import plain
from bigfleet.cli.whole_fleet import (
    failure_document,
    leave_partial,
    shards_meant,
    silence_text,
    told_apart,
)

if TYPE_CHECKING:
    from bigfleet.cli.shard_verbs.pause_tables import PauseWithShards
    from bigfleet.cli.tables import Page
    from bigfleet.model.coordination import CoordinatorStatus, QuotaAllocation
    from bigfleet.model.findings import Finding
    from bigfleet.model.machines import Instant
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.model.shard_admin import PauseList
    from bigfleet.model.shard_views import (
        CoordinatorLink,
        OfferingView,
        Quarantine,
        ShardStatus,
    )
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

    Replicas = dict[str, CoordinatorStatus | Rejected]

_NUMBERS = ("CYCLE", "SESSIONS", "MACHINES", "FAILED", "NEEDS", "SHORT")
#: Of the table of shards, which --sort-by, -o csv and -o name are about.
COLUMNS = ("SHARD", "ADDRESS", *_NUMBERS, "LINK", "STATE")


@dataclass(frozen=True, slots=True)
class ShardCondition:
    """One shard, and what holds it back."""

    status: "ShardStatus"
    quarantines: "tuple[Quarantine, ...]"
    offerings: "tuple[OfferingView, ...]"


@dataclass(frozen=True, slots=True)
class FleetCondition:
    replicas: "Replicas"
    addresses: dict[str, str]
    answers: "dict[str, ShardCondition | Rejected]"
    #: Why there are no shards to show.
    leaderless: "Rejected | None" = None
    #: Those of the coordinator; shards tell theirs in their status.
    pauses: "PauseList | None" = None
    quotas: "tuple[QuotaAllocation, ...]" = ()

    def seen(self) -> "dict[str, ShardCondition]":
        return told_apart(self.answers)[0]

    def findings(self) -> "list[Finding]":
        from bigfleet.model.findings import findings_of_fleet, findings_of_shard

        of_shards = (
            findings_of_shard(each.status, each.quarantines, each.offerings)
            for each in self.seen().values()
        )
        pauses = self.pauses.pauses if self.pauses is not None else ()
        return findings_of_fleet(
            of_shards, told_apart(self.replicas)[0].values(), self.quotas, pauses
        )

    def pauses_in_force(self) -> "list[PauseWithShards]":
        """Each once, with who knows of it: the coordinator and its shards know the same ones."""
        from bigfleet.cli.shard_verbs.pause_calls import PauseAnswers
        from bigfleet.cli.shard_verbs.pause_tables import united
        from bigfleet.model.shard_admin import PauseList

        shards: dict[str, PauseList | Rejected] = {
            name: PauseList(each.status.pauses, each.status.dry_run)
            for name, each in self.seen().items()
        }
        return united(PauseAnswers(shards, self.pauses))


def show_fleet(connection: Connection) -> None:
    """Leaves with 3 where no replica leads, with 5 where a shard or a replica gave no answer."""
    import asyncio

    from bigfleet.cli.tables import Page

    found = asyncio.run(
        connection.coordinator.asked(lambda coordinator: _survey(connection, coordinator))
    )
    there, absent = told_apart(found.replicas)
    if not there:
        rejected = next(iter(absent.values()))
        raise leave(connection.coordinator.told(rejected), rejected)
    if connection.json:
        _write(connection, found)
    else:
        page = Page.on_stdout(connection.color)
        page.say(headline_of(found), "bold")
        _show_replicas(page, connection, found)
        _show_shards(page, connection, found)
        _show_rails(page, found)
        page.write()
    if found.leaderless is not None:
        click.echo(plain(connection.coordinator.told(found.leaderless)), err=True)
        raise click.exceptions.Exit(exit_code_of(found.leaderless))
    leave_partial(connection, found.addresses, told_apart(found.answers)[1])
    if absent:
        click.echo(plain(f"no coordinator answers at {named_text(list(absent))}"), err=True)
        raise click.exceptions.Exit(EXIT_PARTIAL)


async def _survey(connection: Connection, coordinator: "CoordinatorAdminClient") -> FleetCondition:
    from bigfleet.model.provider_calls import Rejected

    replicas = await _replicas(connection, coordinator)
    if not told_apart(replicas)[0]:
        return FleetCondition(replicas, {}, {})
    try:
        meant = await shards_meant(connection, coordinator)
        pauses, quotas = await coordinator.pauses(), await coordinator.quotas()
    except Rejected as rejected:
        return FleetCondition(replicas, {}, {}, rejected)
    answers = await side_by_side(connection, meant, _look)
    return FleetCondition(replicas, meant, answers, pauses=pauses, quotas=quotas)


async def _replicas(connection: Connection, coordinator: "CoordinatorAdminClient") -> "Replicas":
    """Every address that is named, and the leader where one of them names another."""
    import asyncio

    from bigfleet.model.provider_calls import Rejected

    async def one(address: str) -> "CoordinatorStatus | Rejected":
        try:
            return await coordinator.status(address)
        except Rejected as rejected:
            return rejected

    addresses = connection.coordinator.addresses
    found = dict(zip(addresses, await asyncio.gather(*map(one, addresses)), strict=True))
    there, _absent = told_apart(found)
    if not any(each.is_leader for each in there.values()):
        named = dict.fromkeys(each.leader_address for each in there.values())
        for address in named:
            if address and address not in found:
                found[address] = await one(address)
    return found


async def _look(shard: Clients) -> ShardCondition:
    admin = shard.admin
    status = await admin.status()
    return ShardCondition(status, await admin.quarantines(), await admin.offerings())


def leader_in(found: FleetCondition) -> "CoordinatorStatus | None":
    there, _absent = told_apart(found.replicas)
    return next((each for each in there.values() if each.is_leader), None)


def headline_of(found: FleetCondition) -> str:
    from bigfleet.cli.tables import counted

    leader = leader_in(found)
    if leader is None:
        return "no coordinator leads; shards go on with what they have"
    size = ", ".join(
        counted(count, noun)
        for count, noun in (
            (leader.shards, "shard"),
            (leader.clusters, "cluster"),
            (leader.domains, "domain"),
        )
    )
    waits = f"{counted(leader.pending_instructions, 'instruction')} pending"
    moves = f"{counted(leader.open_transfers, 'transfer')} open"
    said = f"{leader.replica_id} leads in term {leader.term}; {size}; {waits}, {moves}"
    if leader.rebalance_paused:
        said += "; rebalancing is paused"
    # A person who reads only one line must see why nothing is done, and what is broken.
    if pauses := len(found.pauses_in_force()):
        said += f"; {counted(pauses, 'pause')} in force"
    if failed := sum(each.status.failed_machines for each in found.seen().values()):
        said += f"; {counted(failed, 'machine')} Failed: bigfleet machines --failed"
    return said


def _show_replicas(page: "Page", connection: Connection, found: FleetCondition) -> None:
    from bigfleet.cli.tables import cell, table_of
    from bigfleet.model.provider_calls import Rejected

    columns = ("COORDINATOR", "REPLICA", "ROLE", "TERM", "STORE", "REVISION", "VERSION")
    table = table_of(*columns, sentence="ERROR", numbers=["TERM", "REVISION"])
    for address, each in found.replicas.items():
        if isinstance(each, Rejected):
            unknown = [cell("")] * (len(columns) - 1)
            table.add_row(cell(address), *unknown, cell(silence_text(connection, each), "red"))
            continue
        table.add_row(
            cell(address),
            cell(each.replica_id),
            cell("leader" if each.is_leader else "follower"),
            cell(each.term),
            cell(each.backend),
            cell(each.store_revision),
            cell(each.version),
            cell(cause_in(each.store_error), "red"),
        )
    page.show(table, aside=True)


def _show_shards(page: "Page", connection: Connection, found: FleetCondition) -> None:
    from bigfleet.cli.tables import cell, table_of
    from bigfleet.model.provider_calls import Rejected

    *columns, sentence = COLUMNS
    table = table_of(*columns, sentence=sentence, numbers=_NUMBERS)
    for name, address in found.addresses.items():
        seen = found.answers[name]
        if isinstance(seen, Rejected):
            unknown = [cell("")] * (len(_NUMBERS) + 1)
            said = f"no answer: {silence_text(connection, seen)}"
            table.add_row(cell(name), cell(address), *unknown, cell(said, "red"))
            continue
        status, link = seen.status, seen.status.coordinator
        up = link is not None and link.connected
        table.add_row(
            cell(name),
            cell(address),
            cell(status.cycle),
            cell(status.sessions),
            cell(f"{status.machines:,}"),
            cell(f"{status.failed_machines:,}", "red" if status.failed_machines else ""),
            cell(f"{status.needs:,}"),
            cell(f"{status.shortfalls:,}", "red" if status.shortfalls else ""),
            cell(link_text(link, connection.now), "" if up else "red"),
            cell(state_text(seen), "" if status.ready else "red"),
        )
    if table.row_count:
        page.show(table)


def _show_rails(page: "Page", found: FleetCondition) -> None:
    """Only what holds something back: an empty table would be read as a loss of data."""
    if found.leaderless is None and found.quotas:
        _show_quotas(page, found.quotas)
    if findings := found.findings():
        tell_findings(page, findings, len(found.addresses))
    elif found.leaderless is None:
        none = "" if found.quotas else ", and no quota is set"
        page.say("")
        page.say(f"No pause or quarantine is in force{none}.")


def _show_quotas(page: "Page", quotas: "tuple[QuotaAllocation, ...]") -> None:
    from bigfleet.cli.tables import cell, table_of

    table = table_of("PROVIDER", "REGION", "IN_USE", "TOTAL", numbers=["IN_USE", "TOTAL"])
    for each in quotas:
        used = sum(each.in_use.values())
        style = "red" if used >= each.total else ""
        table.add_row(
            cell(each.provider),
            cell(each.region),
            cell(f"{used:,}", style),
            cell(f"{each.total:,}"),
        )
    page.show(table)


def link_text(link: "CoordinatorLink | None", now: "Instant") -> str:
    """`up 3s`: connected, and so long after its last report."""
    from bigfleet.cli.tables import since_text

    if link is None:
        return "none"
    state = "up" if link.connected else "down"
    return f"{state} {since_text(link.last_report_at, now)}" if link.last_report_at else state


def state_text(seen: ShardCondition) -> str:
    """`ready`, or what is wrong and what holds it back."""
    from bigfleet.cli.shard_verbs.needs import counts_text
    from bigfleet.cli.tables import counted

    status = seen.status
    said = ["ready" if status.ready else f"not ready: {status.not_ready_reason}"]
    if (counts := status.need_states) is not None and counts.met != counts.total:
        said.append(counts_text(replace(counts, met=0)))
    if status.stuck_pods:
        said.append(f"{counted(status.stuck_pods, 'pod')} stuck")
    if status.pauses:
        # One of a whole fleet comes twice: from the command line and from the coordinator.
        number = len({pause.pause_id for pause in status.pauses})
        said.append(f"{counted(number, 'pause')} in force")
    if status.clusters_refused:
        whose = counted(status.clusters_refused, "cluster")
        said.append(f"roll-ups of {whose} refused: bigfleet clusters")
    if status.dry_run:
        said.append("dry-run")
    if seen.quarantines:
        said.append(counted(len(seen.quarantines), "quarantine"))
    if seen.offerings:
        said.append(f"{counted(len(seen.offerings), 'offering')} out of stock")
    if opened := [each.name for each in status.providers if each.breaker_open]:
        said.append(f"breaker open: {named_text(opened)}")
    if not status.providers:
        said.append("no provider")
    if status.verifier_incidents:
        incidents = counted(status.verifier_incidents, "verifier incident")
        said.append(f"{incidents}: bigfleet reports verifier")
    if status.verifier_error:
        said.append("the verifier fails")
    if status.store_error:
        said.append(f"cannot write: {status.store_error}")
    if status.journal_degraded:
        said.append("the journal cannot be written")
    return "; ".join(said)


def _write(connection: Connection, found: FleetCondition) -> None:
    from bigfleet.cli.tables import write_items
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.wire import coordination
    from bigfleet.wire.shard_views import OFFERING, QUARANTINE, STATUS

    replicas = [
        {"address": address, "error": failure_document(each)}
        if isinstance(each, Rejected)
        else {"address": address, **coordination.STATUS.document(each)}
        for address, each in found.replicas.items()
    ]
    items: list[dict[str, Any]] = []
    for name, address in found.addresses.items():
        seen = found.answers[name]
        if isinstance(seen, Rejected):
            items.append({"shardId": name, "address": address, "error": failure_document(seen)})
            continue
        rails = {
            "quarantines": [QUARANTINE.document(each) for each in seen.quarantines],
            "offerings": [OFFERING.document(each) for each in seen.offerings],
        }
        items.append({**STATUS.document(seen.status), "address": address, **rails})
    leader = leader_in(found)
    head: dict[str, Any] = {"coordinator": coordination.STATUS.document(leader)} if leader else {}
    if found.leaderless is None:
        head["pauses"] = [known.document() for known in found.pauses_in_force()]
        head["quotas"] = [coordination.QUOTA.document(each) for each in found.quotas]
    head["findings"] = [each.document() for each in found.findings()]
    write_items(items, connection.now, **head, replicas=replicas)
