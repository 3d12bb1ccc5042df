"""`bigfleet describe shard`."""

from collections import Counter
from dataclasses import dataclass, replace

from bigfleet.cli.connections import Clients, Connection, is_address
from bigfleet.cli.shard_verbs.described import Description, lifting, pauses_of
from bigfleet.cli.shard_verbs.status import headline_of
from bigfleet.cli.shard_verbs.top import cores_text, memory_text
from bigfleet.cli.tables import Table, cell, counted, since_text, table_of
from bigfleet.cli.whole_fleet import SoughtObject, Unknown, ask_fleet, known_in
from bigfleet.model.machines import MachineState
from bigfleet.model.reasons import dollars_text
from bigfleet.model.shard_views import (
    MachineQuery,
    MachineSelector,
    MachineView,
    OfferingView,
    Quarantine,
    SessionView,
    ShardStatus,
)

#: Slots that could be bought are many and say nothing of a shard.
_REAL = frozenset(state for state in MachineState if state > MachineState.SPECULATIVE)


@dataclass(frozen=True, slots=True)
class DescribedShard:
    status: ShardStatus
    sessions: tuple[SessionView, ...]
    machines: tuple[MachineView, ...]
    quarantines: tuple[Quarantine, ...]
    offerings: tuple[OfferingView, ...]


def describe_shard(connection: Connection, name: str) -> Description:
    async def look(shard: Clients) -> "DescribedShard | Unknown":
        admin = shard.admin
        status = await admin.status()
        if not is_address(name) and status.shard_id != name:
            return Unknown((status.shard_id,))
        query = MachineQuery(MachineSelector(states=_REAL))
        return DescribedShard(
            status,
            await admin.sessions(),
            (await admin.machines(query)).machines,
            await admin.quarantines(),
            await admin.offerings(),
        )

    meant = connection.only(name) if is_address(name) else connection
    asked = ask_fleet(meant, look)
    answers = known_in(
        connection, asked, SoughtObject("shard", name, "bigfleet shards shows those there are")
    )
    # The others were asked only for their names.
    answers = replace(answers, failed={})
    told = next(iter(answers.said.values()))
    status = told.status
    held = pauses_of((status,), None)
    return Description(
        f"shard/{status.shard_id}",
        headline_of(status, connection.now),
        _facts(told, answers.addresses.get(status.shard_id, "")),
        _document(told),
        answers,
        [("Clusters it serves:", _cluster_table(told, connection))] if told.sessions else [],
        reasons=_reasons(told),
        pauses=held,
        commands=[*_commands(told), *lifting(held)],
    )


def _facts(told: DescribedShard, address: str) -> list[tuple[str, str]]:
    status, spent = told.status, sum(view.machine.price_per_hour for view in told.machines)
    states = Counter(view.machine.state.label for view in told.machines)
    link = status.coordinator
    failed = [view for view in told.machines if view.failed]
    return [
        ("address", address),
        ("version", status.version),
        ("epoch and cycle", f"{status.epoch}:{status.cycle}"),
        ("machines", f"{status.machines:,} and slots in all"),
        ("real ones", ", ".join(f"{count:,} {name}" for name, count in sorted(states.items()))),
        ("price", f"{dollars_text(spent)}/h"),
        ("clusters", str(len(told.sessions))),
        ("needs", f"{status.needs:,}"),
        ("shortfalls", f"{status.shortfalls:,}"),
        ("queued, in flight", f"{status.queue_depth:,}, {status.in_flight:,}"),
        ("Failed", counted(len(failed), "machine") if failed else ""),
        ("cores, last minute", cores_text(status)),
        ("memory", f"{memory} MiB" if (memory := memory_text(status)) else ""),
        ("providers", ", ".join(f"{p.name} at {p.address}" for p in status.providers)),
        ("coordinator", link.address if link else "none"),
        ("dry-run", "on: nothing is started" if status.dry_run else ""),
    ]


def _reasons(told: DescribedShard) -> list[str]:
    broken = [
        f"provider {each.name} does not answer: {each.last_error}"
        for each in told.status.providers
        if each.breaker_open
    ]
    held = [
        f"the last {each.kind.name.lower()} of {each.subject} is held: {each.observed:,} of"
        f" {each.baseline:,} came"
        for each in told.quarantines
    ]
    resting = [f"offering {each.name} rests: {each.text}" for each in told.offerings]
    return [*broken, *held, *resting]


def _cluster_table(told: DescribedShard, connection: Connection) -> Table:
    machines = Counter(view.machine.cluster for view in told.machines)
    table = table_of(
        *("CLUSTER", "SESSION", "NEEDS", "UNMET", "MACHINES"),
        numbers=["NEEDS", "UNMET", "MACHINES"],
    )
    for each in told.sessions:
        counts = each.need_states
        opened = (
            f"open {since_text(each.connected_at, connection.now)}" if each.connected else "closed"
        )
        table.add_row(
            cell(each.cluster),
            cell(opened),
            cell(each.needs),
            cell(counts.total - counts.met if counts else ""),
            cell(machines[each.cluster]),
        )
    return table


def _document(told: DescribedShard) -> dict[str, object]:
    from bigfleet.wire.shard_views import OFFERING, QUARANTINE, SESSION, STATUS

    return {
        "status": STATUS.document(told.status),
        "sessions": [SESSION.document(each) for each in told.sessions],
        "quarantines": [QUARANTINE.document(each) for each in told.quarantines],
        "offerings": [OFFERING.document(each) for each in told.offerings],
    }


def _commands(told: DescribedShard) -> list[tuple[str, str]]:
    shard, found = told.status.shard_id, []
    if told.quarantines:
        found.append(("bigfleet quarantines", "what is held, and how to decide about it"))
    if any(view.failed for view in told.machines):
        found.append((f"bigfleet machines --failed --shard {shard}", "what failed, and why"))
    found.append((f"bigfleet needs --unmet --shard {shard}", "what is not met, and why"))
    found.append((f"bigfleet snapshot fleet {shard}.yaml --shard {shard}", "as a fleet file"))
    return found
