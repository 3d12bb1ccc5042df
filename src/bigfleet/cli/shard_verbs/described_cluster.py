"""`bigfleet describe cluster`."""

from collections import Counter
from dataclasses import dataclass

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.object_names import about_cluster, cluster_thing, require_cluster
from bigfleet.cli.shard_verbs.clusters import refused_text
from bigfleet.cli.shard_verbs.described import (
    Description,
    lifting,
    machine_table,
    machines_title,
    pauses_of,
)
from bigfleet.cli.shard_verbs.needs import (
    counts_text,
    listed_needs,
    row_document,
    rows_table,
    why_text,
)
from bigfleet.cli.tables import counted, since_text
from bigfleet.cli.whole_fleet import FleetAnswers, ask_fleet, known_in
from bigfleet.model.need_states import NeedState
from bigfleet.model.reasons import dollars_text
from bigfleet.model.shard_views import (
    MachinePage,
    MachineQuery,
    MachineSelector,
    NeedListing,
    NeedRow,
    SessionView,
    ShardStatus,
)
from bigfleet.wire.cluster_report_records import REFUSAL

#: Needs that a page lists; `bigfleet needs --cluster` shows all.
_MOST_NEEDS = 20


@dataclass(frozen=True, slots=True)
class DescribedCluster:
    status: ShardStatus
    session: SessionView | None
    machines: MachinePage
    #: Those that are not met; None: the shard is older and does not tell.
    needs: NeedListing | None


def describe_cluster(connection: Connection, cluster: str) -> Description:
    async def look(shard: Clients) -> DescribedCluster:
        await require_cluster(shard, cluster)
        sessions = await shard.admin.sessions(cluster_id=cluster)
        query = MachineQuery(MachineSelector(cluster=cluster))
        machines = await shard.admin.machines(query)
        needs = await listed_needs(shard, cluster, _MOST_NEEDS, unmet=True)
        status = await shard.admin.status()
        listing = needs if isinstance(needs, NeedListing) else None
        return DescribedCluster(status, sessions[0] if sessions else None, machines, listing)

    asked = ask_fleet(connection, about_cluster(cluster, look))
    answers = known_in(connection, asked, cluster_thing(cluster))
    return _description(connection, cluster, answers)


def _description(
    connection: Connection, cluster: str, answers: "FleetAnswers[DescribedCluster]"
) -> Description:
    told = list(answers.said.values())
    views = sorted(
        (view for each in told for view in each.machines.machines), key=lambda v: v.machine.id
    )
    rows = [row for each in told if each.needs for row in each.needs.rows]
    held = pauses_of((each.status for each in told), cluster)
    at = max(each.machines.computed_at for each in told)
    tables = [(machines_title(views, "are bound to it"), machine_table(views, at))] if views else []
    if rows:
        title = f"{counted(len(rows), 'need')} not met:"
        tables.append((title, rows_table(rows, connection.now)))
    sessions = [each.session for each in told if each.session]
    spent = sum(view.machine.price_per_hour for view in views)
    return Description(
        f"cluster/{cluster}",
        f"cluster/{cluster} has {counted(len(views), 'machine')} for {dollars_text(spent)}/h; "
        f"{_needs_text(told)}",
        [
            ("shard", ", ".join(answers.said)),
            ("session", _session_text(sessions, connection)),
            (
                "roll-ups",
                "; ".join(filter(None, (refused_text(s, connection.now) for s in sessions))),
            ),
            ("machines", _states_text(Counter(view.machine.state.label for view in views))),
            ("price", f"{dollars_text(spent)}/h"),
            ("needs", _needs_text(told)),
            ("stuck pods", str(sum(each.stuck_pods for each in sessions) or "")),
        ],
        {
            "clusterId": cluster,
            "machineIds": [view.machine.id for view in views],
            "dollarsPerHour": spent,
            "unmetNeeds": [row_document(row) for row in rows],
            "refusedRollups": [
                REFUSAL.document(each.refused_rollup) for each in sessions if each.refused_rollup
            ],
        },
        answers,
        tables,
        reasons=list(dict.fromkeys(map(_why, rows))),
        pauses=held,
        commands=[*_remedies(rows), *lifting(held), *_others(cluster)],
    )


def _why(row: NeedRow) -> str:
    return f"need/{row.view.need.cluster}/{row.view.need.key.need_id}: {why_text(row)}"


def _session_text(sessions: list[SessionView], connection: Connection) -> str:
    connected = [each for each in sessions if each.connected]
    if connected:
        return f"open for {since_text(connected[0].connected_at, connection.now)}"
    return "not connected: its operator does not run, or cannot reach the shard"


def _states_text(count_of: Counter[str]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(count_of.items())) or "none"


def _needs_text(told: list[DescribedCluster]) -> str:
    known = [each.needs.counts for each in told if each.needs]
    total = sum(counts.total for counts in known)
    met = sum(counts.count(NeedState.MET) for counts in known)
    if met == total:
        return f"all {counted(total, 'need')} met" if total else "asks for nothing"
    return f"{counted(total, 'need')}: {'; '.join(counts_text(counts) for counts in known)}"


def _remedies(rows: list[NeedRow]) -> list[tuple[str, str]]:
    commands = dict.fromkeys(row.remedy for row in rows if row.remedy.startswith("bigfleet "))
    return [(command, "lifts what holds a need") for command in commands]


def _others(cluster: str) -> list[tuple[str, str]]:
    return [
        (f"bigfleet machines cluster={cluster}", "all its machines"),
        (f"bigfleet needs --cluster {cluster}", "all its needs"),
        (f"bigfleet pause --cluster {cluster} --reason WHY", "stops all actions for it"),
    ]
