"""`bigfleet clusters`: the clusters of a fleet, their sessions, and what they have and miss.

Which shard serves a cluster is decided by the coordinator, once and for ever; what the cluster has
is asked of that shard. Without a coordinator nothing is bound, and BOUND_SINCE stays empty. What
the cluster's operator reports of its nodes and pods comes last, where there is such a report.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import (
    Clients,
    Connection,
    audit_of,
    audited,
    shard_verb,
    side_by_side,
)
from bigfleet.cli.coordinator_verbs.confirmations import confirm
from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.object_names import CLUSTER
from bigfleet.cli.output import shows
from bigfleet.cli.shard_verbs.needs import COLUMNS as NEED_COLUMNS
from bigfleet.cli.whole_fleet import failure_document, leave_partial, shards_meant, told_apart

if TYPE_CHECKING:
    from bigfleet.cli.shard_verbs.cluster_page import ClusterSeen
    from bigfleet.cli.table_text import Text
    from bigfleet.model.coordination import ClusterBinding
    from bigfleet.model.machines import Instant
    from bigfleet.model.need_states import NeedState
    from bigfleet.model.pauses import Pause
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.model.shard_views import SessionView
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

_COLUMNS = ("CLUSTER", "SHARD", "SESSION", "NEEDS", "UNMET", "MACHINES", "BOUND_SINCE")
_LAST_COLUMN = "PAUSED"
#: What only a cluster's own operator knows.
_REPORTED = ("NODES", "REQUESTS", "COVERED_NOT_PLACED")
#: Needs of the cluster that are not met, by state.
_STATES = ("ARRIVING", "BLOCKED", "SHORT")


@dataclass(frozen=True, slots=True)
class ServedClusters:
    """What one shard has of its clusters."""

    shard_id: str
    views: "dict[str, SessionView]"
    #: Needs that are not met; of an older shard, those that are not even planned.
    unmet: Counter[str]
    machines: Counter[str]
    #: By cluster and state; None: the shard is older and does not tell.
    of_state: "Counter[tuple[str, NeedState]] | None" = None
    #: In force at the shard, each once.
    pauses: "tuple[Pause, ...]" = ()

    def names(self) -> set[str]:
        # A machine may have become Idle after it was chosen and before it was read.
        return {*self.views, *self.unmet, *self.machines} - {""}


@dataclass(frozen=True, slots=True)
class ClusterCells:
    cluster: str
    shard_id: str
    #: None: its shard gave no answer.
    served: ServedClusters | None
    #: None: it is not bound to that shard.
    binding: "ClusterBinding | None" = None

    def states(self) -> dict[str, int] | None:
        """How many of its Needs are in each state that is not met."""
        from bigfleet.model.need_states import NeedState

        if self.served is None or (found := self.served.of_state) is None:
            return None
        return {s.label: found[self.cluster, s] for s in NeedState if s is not NeedState.MET}

    def pauses(self) -> "list[Pause]":
        """Those that hold actions for it."""
        served = self.served
        held = served.pauses if served else ()
        return [pause for pause in held if holds(pause, self.cluster, self.shard_id)]

    def document(self) -> dict[str, Any]:
        from bigfleet.wire.shard_views import PAUSE, SESSION

        view = self.served.views.get(self.cluster) if self.served else None
        shown: dict[str, Any] = SESSION.document(view) if view else {"clusterId": self.cluster}
        shown["shardId"] = self.shard_id
        if self.served:
            shown["unmet"] = self.served.unmet[self.cluster]
            if (counted := self.states()) is not None:
                shown.setdefault("needStates", counted)
            shown["machines"] = self.served.machines[self.cluster]
            shown["pauses"] = [PAUSE.document(pause) for pause in self.pauses()]
        if self.binding:
            shown["boundUnixNanos"] = self.binding.bound_at
        return shown


@click.group(cls=DefaultVerb)
def clusters() -> None:
    """The clusters of a fleet, and which shard serves them.

    \b
    Examples:
      bigfleet clusters
      bigfleet clusters --shard shard-1
      bigfleet clusters -o json | jq '.items[] | select(.connected | not) | .clusterId'
      bigfleet clusters unbind old-shop --reason "shut down in May"
    """


@clusters.command("list", short_help="Every cluster, with its shard and what it has.")
@shard_verb
@shows(lambda: (*_COLUMNS, *_REPORTED, *_STATES, _LAST_COLUMN))
def list_clusters(connection: Connection) -> None:
    """Every cluster that is bound, connected, has asked for something, or holds machines.

    UNMET counts the Needs that are not met; the last columns say how many of them are arriving,
    blocked and short. What its operator reports stands before them: NODES that are ready of all,
    REQUESTS that are acknowledged of all, and COVERED_NOT_PLACED, pods that wait although machines
    serve their Need. PAUSED says which actions are not started for it: bigfleet pause list.

    With a coordinator: of all its shards, or of those that --shard names.
    """
    if not connection.is_led():
        served = connection.ask(_look)
        _show(
            connection,
            [ClusterCells(name, served.shard_id, served) for name in sorted(served.names())],
        )
        return
    bound, addresses, answers = connection.coordinator.ask(
        lambda coordinator: _survey(connection, coordinator)
    )
    told, failed = told_apart(answers)
    silent = [
        {"shardId": shard, "address": addresses[shard], "error": failure_document(why)}
        for shard, why in failed.items()
    ]
    _show(connection, rows_of(bound, told), unreachable=silent)
    leave_partial(connection, addresses, failed)


@clusters.command(short_help="One cluster: its Needs by state, nodes, and pods that wait.")
@shard_verb
@shows(lambda: NEED_COLUMNS)
@click.argument("cluster_id", metavar="ID", type=CLUSTER)
def show(connection: Connection, cluster_id: str) -> None:
    """One cluster: how many of its Needs are in which state, and everything that is not met.

    Where its operator reports: Nodes, and pods that wait although the machines of their Need are
    there, with what the scheduler says of them.

    \b
    Example:
      bigfleet clusters show shop
    """
    from bigfleet.cli.shard_verbs.cluster_page import look_at, show_cluster

    if not connection.is_led():
        show_cluster(
            connection, cluster_id, connection.ask(lambda shard: look_at(shard, cluster_id))
        )
        return
    show_cluster(
        connection,
        cluster_id,
        connection.coordinator.ask(lambda c: _asked_of_its_shard(connection, c, cluster_id)),
    )


async def _asked_of_its_shard(
    connection: Connection, coordinator: "CoordinatorAdminClient", cluster_id: str
) -> "ClusterSeen":
    from bigfleet.cli.shard_verbs.cluster_page import look_at
    from bigfleet.model.provider_calls import Code, Rejected

    meant = await shards_meant(connection, coordinator)
    bound = {each.cluster: each.shard for each in await coordinator.bindings()}
    shard = bound.get(cluster_id, "")
    if shard not in meant:
        raise Rejected(Code.NOT_FOUND, f"no shard serves a cluster {cluster_id}")
    answers = await side_by_side(
        connection, {shard: meant[shard]}, lambda clients: look_at(clients, cluster_id)
    )
    found = answers[shard]
    if isinstance(found, Rejected):
        raise found
    return found


@clusters.command(short_help="Free a cluster from its shard.")
@coordinator_verb
@click.argument("cluster_id", metavar="ID", type=CLUSTER)
@audited
def unbind(
    connection: CoordinatorConnection, cluster_id: str, owner: str | None, reason: str
) -> None:
    """Free a cluster from its shard: for clusters that are gone for good.

    Refused while its shard reports it. The next shard it connects to is its own from then on.

    \b
    Example:
      bigfleet clusters unbind old-shop --reason "shut down in May"
    """

    async def act(coordinator: "CoordinatorAdminClient") -> None:
        await coordinator.unbind(audit_of(owner, reason), cluster_id=cluster_id)

    connection.ask(act)
    confirm(connection, f"cluster {cluster_id} is bound to no shard")


async def _survey(
    connection: Connection, coordinator: "CoordinatorAdminClient"
) -> "tuple[list[ClusterBinding], dict[str, str], dict[str, ServedClusters | Rejected]]":
    meant = await shards_meant(connection, coordinator)
    bound = [each for each in await coordinator.bindings() if each.shard in meant]
    return bound, meant, await side_by_side(connection, meant, _look)


def rows_of(
    bound: "Iterable[ClusterBinding]", told: dict[str, ServedClusters]
) -> list[ClusterCells]:
    """By cluster; also those that a shard serves though they are not bound to it."""
    rows = {
        (b.cluster, b.shard): ClusterCells(b.cluster, b.shard, told.get(b.shard), b) for b in bound
    }
    for shard, served in told.items():
        for name in served.names():
            rows.setdefault((name, shard), ClusterCells(name, shard, served))
    return [rows[key] for key in sorted(rows)]


def _show(connection: Connection, rows: list[ClusterCells], **head: Any) -> None:
    from bigfleet.cli.tables import Page, cell, since_text, table_of, write_items

    if connection.json:
        write_items((row.document() for row in rows), connection.now, **head)
        return
    page = Page.on_stdout(connection.color)
    numbers = ["NEEDS", "UNMET", "MACHINES", *_REPORTED, *_STATES]
    table = table_of(*_COLUMNS, *_REPORTED, *_STATES, _LAST_COLUMN, numbers=numbers)
    for row in rows:
        view = row.served.views.get(row.cluster) if row.served else None
        up = view is not None and view.connected
        session = (
            f"open {since_text(view.connected_at, connection.now)}" if view and up else "closed"
        )
        unmet = row.served.unmet[row.cluster] if row.served else None
        table.add_row(
            cell(row.cluster),
            cell(row.shard_id),
            cell(session if row.served else "", "" if up or not row.served else "red"),
            cell(view.needs if view else ""),
            cell(unmet, "red" if unmet else ""),
            cell(row.served.machines[row.cluster] if row.served else ""),
            cell(since_text(row.binding.bound_at, connection.now) if row.binding else ""),
            *reported_cells(view),
            *state_cells(row),
            cell(paused_text(row.pauses()), "red"),
        )
    page.show(table)
    for row in rows:
        view = row.served.views.get(row.cluster) if row.served else None
        if view is not None and (said := refused_text(view, connection.now)):
            page.say("")
            page.say(f"{row.cluster}: {said}", "red")
    page.write()


def refused_text(view: "SessionView", now: "Instant") -> str:
    """Why its roll-ups are not taken; empty: they are."""
    from bigfleet.cli.tables import counted, since_text

    refused = view.refused_rollup
    if refused is None:
        return ""
    number = counted(refused.times, "roll-up")
    return f"{number} refused in the last {since_text(refused.since, now)}: {refused.text}"


def holds(pause: "Pause", cluster: str, shard_id: str) -> bool:
    """Whether it stops actions of any kind for the cluster."""
    scope = pause.scope
    here = not scope.shard_ids or shard_id in scope.shard_ids
    its = not scope.cluster_ids or cluster in scope.cluster_ids
    return here and its and not scope.rebalance_only


def paused_text(pauses: "list[Pause]") -> str:
    """`every action`, or the kinds: `Reclaim and Preempt`."""
    if any(not pause.scope.kinds for pause in pauses):
        return "every action"
    kinds = {kind: kind.label for pause in pauses for kind in pause.scope.kinds}
    return " and ".join(kinds[kind] for kind in sorted(kinds))


def reported_cells(view: "SessionView | None") -> "list[Text]":
    """The last columns; what is overdue is marked, as its present state is unknown."""
    from bigfleet.cli.tables import cell

    if view is None or (told := view.report) is None:
        return [cell("") for _ in _REPORTED]
    report, waiting = told.report, told.report.pods_covered_not_placed
    old, style = (" (stale)", "yellow") if told.stale else ("", "")
    return [
        cell(f"{report.nodes_ready}/{report.nodes}{old}", style),
        cell(f"{report.acknowledged}/{report.requests}{old}", style),
        cell(f"{waiting}{old}", style or ("red" if waiting else "")),
    ]


def state_cells(row: ClusterCells) -> "list[Text]":
    from bigfleet.cli.tables import cell

    found = row.states()
    if found is None:
        return [cell("") for _ in _STATES]
    styles = {"blocked": "yellow", "short": "red"}
    return [cell(count, styles.get(name, "") if count else "") for name, count in found.items()]


async def _look(shard: Clients) -> ServedClusters:
    from bigfleet.cli.shard_verbs.needs import listed_needs
    from bigfleet.model.machines import MachineState
    from bigfleet.model.need_states import NeedState
    from bigfleet.model.shard_views import MachineQuery, MachineSelector, NeedListing

    status = await shard.admin.status()
    views = {view.cluster: view for view in await shard.admin.sessions()}
    asked = await listed_needs(shard, unmet=True)
    of_state: Counter[tuple[str, NeedState]] | None = None
    if isinstance(asked, NeedListing):
        judged = ((row.view.need.cluster, row.state) for row in asked.rows)
        of_state = Counter((cluster, state) for cluster, state in judged if state is not None)
        unmet = Counter(row.view.need.cluster for row in asked.rows)
    else:
        unmet = Counter(view.need.cluster for view in asked.needs if not view.satisfied)
    bound = {MachineState.CONFIGURING, MachineState.CONFIGURED, MachineState.DRAINING}
    query = MachineQuery(MachineSelector(states=frozenset(bound)))
    found = await shard.admin.machines(query)
    machines = Counter(view.machine.cluster for view in found.machines)
    pauses = tuple({pause.pause_id: pause for pause in status.pauses}.values())
    return ServedClusters(status.shard_id, views, unmet, machines, of_state, pauses)
