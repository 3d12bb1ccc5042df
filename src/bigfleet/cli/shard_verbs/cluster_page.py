"""`bigfleet clusters show`: one cluster on a page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.object_names import require_cluster
from bigfleet.cli.shard_verbs.needs import (
    counts_text,
    listed_needs,
    row_document,
    rows_table,
    tell_reasons,
)
from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from bigfleet.cli.tables import Page
    from bigfleet.model.pauses import Pause
    from bigfleet.model.shard_views import NeedListing, NeedPage, NeedRow, SessionView

#: Needs that are shown; `bigfleet needs --cluster` shows all.
_MOST_NEEDS = 50
#: Needs among which margins are looked for.
_MOST_READ = 2000


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    shard_id: str
    #: None: it has not connected since the shard started.
    session: "SessionView | None"
    needs: "NeedListing | NeedPage"
    #: Its margins, met or not.
    margins: "tuple[NeedRow, ...]" = ()
    #: Those that hold actions for it.
    pauses: "tuple[Pause, ...]" = ()


async def look_at(shard: Clients, cluster: str) -> ClusterSeen:
    from bigfleet.cli.shard_verbs.clusters import holds

    status = await shard.admin.status()
    sessions = await shard.admin.sessions(cluster_id=cluster)
    found = await listed_needs(shard, cluster, _MOST_NEEDS, unmet=True)
    session = sessions[0] if sessions else None
    if session is None:
        await require_cluster(shard, cluster)
    margins = _margins_in(await listed_needs(shard, cluster, _MOST_READ))
    pauses = {each.pause_id: each for each in status.pauses}.values()
    held = tuple(each for each in pauses if holds(each, cluster, status.shard_id))
    return ClusterSeen(status.shard_id, session, found, margins, held)


def _pause_line(pause: "Pause") -> str:
    from bigfleet.cli.shard_verbs.pause_words import scope_text, until_text

    who = pause.who or pause.source.name.lower()
    said = f"Paused: {scope_text(pause.scope)} by {who} {until_text(pause)}: {pause.reason}"
    return f"{said}; to lift it: bigfleet resume {pause.pause_id} --reason WHY"


def _margins_in(found: "NeedListing | NeedPage") -> "tuple[NeedRow, ...]":
    from bigfleet.model.needs import is_margin
    from bigfleet.model.shard_views import NeedListing

    rows = found.rows if isinstance(found, NeedListing) else ()
    return tuple(row for row in rows if is_margin(row.view.need.group))


def show_cluster(connection: Connection, cluster: str, seen: ClusterSeen) -> None:
    from bigfleet.cli.shard_verbs.clusters import refused_text
    from bigfleet.cli.tables import Page, write_json
    from bigfleet.model.shard_views import NeedListing
    from bigfleet.wire.shard_views import PAUSE, SESSION

    listing = seen.needs if isinstance(seen.needs, NeedListing) else None
    if connection.json:
        shown = SESSION.document(seen.session) if seen.session else {"clusterId": cluster}
        unmet = [row_document(row) for row in listing.rows] if listing else []
        margins = [row_document(row) for row in seen.margins]
        paused = [PAUSE.document(pause) for pause in seen.pauses]
        known = {"shardId": seen.shard_id, "unmetNeeds": unmet, "margins": margins}
        known["pauses"] = paused
        write_json({**shown, **known}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    page.say(_headline(cluster, seen, connection), "bold")
    for pause in seen.pauses:
        page.say(_pause_line(pause), "red")
    if seen.session is not None:
        if said := refused_text(seen.session, connection.now):
            page.say(said, "red")
        _show_report(page, seen.session)
    if seen.margins:
        page.say(_margins_text(seen.margins))
    if listing is None:
        click.echo(plain(f"{seen.shard_id} is older: bigfleet needs --cluster {cluster}"), err=True)
    elif listing.rows:
        page.show(rows_table(listing.rows, connection.now))
        tell_reasons(page, listing.rows)
        if listing.matching > len(listing.rows):
            page.say("")
            page.say(f"{listing.matching:,} are not met; bigfleet needs --cluster {cluster}")
    page.write()


def _headline(cluster: str, seen: ClusterSeen, connection: Connection) -> str:
    from bigfleet.cli.tables import counted, since_text
    from bigfleet.model.shard_views import NeedListing

    session = seen.session
    link = "not connected"
    if session is not None and session.connected:
        link = f"connected for {since_text(session.connected_at, connection.now)}"
    demand = "needs unknown"
    if isinstance(seen.needs, NeedListing):
        counts = seen.needs.counts
        demand = f"{counted(counts.total, 'need')}: {counts_text(counts)}"
        if counts.total and counts.met == counts.total:
            demand = f"all {counted(counts.total, 'need')} met"
    stuck = session.stuck_pods if session else 0
    waits = f"; {counted(stuck, 'pod')} stuck" if stuck else ""
    return f"{cluster} at {seen.shard_id}, {link}; {demand}{waits}"


def _margins_text(margins: "tuple[NeedRow, ...]") -> str:
    """`beyond the requests, for pods that found no place: cpu 128.9 on 18 machines`."""
    from bigfleet.cli.tables import counted
    from bigfleet.model.reasons import resources_text
    from bigfleet.model.resources import Resources

    asked = Resources()
    for row in margins:
        asked = asked.plus(row.view.need.aggregate)
    machines = counted(sum(row.view.claimed for row in margins), "machine")
    amount = resources_text(asked.texts())
    return f"beyond the requests, for pods that found no place: {amount} on {machines}"


def _show_report(page: "Page", session: "SessionView") -> None:
    from bigfleet.cli.tables import counted

    told = session.report
    if told is None:
        page.say("Its operator reports neither Nodes nor pods.")
        return
    report, old = told.report, " (overdue, so not counted)" if told.stale else ""
    nodes = f"{report.nodes_ready} of {counted(report.nodes, 'Node')} ready"
    missing = f", {counted(report.nodes_missing, 'machine')} without Node"
    page.say(f"{nodes}{missing if report.nodes_missing else ''}{old}")
    if (pods := session.pods) is not None:
        page.say(f"{counted(pods.running, 'pod')} running, {pods.waiting:,} waiting")
    waiting = report.pods_covered_not_placed
    if waiting:
        page.say(f"{counted(waiting, 'pod')} wait although machines serve their Need:")
    for pod in report.examples:
        page.say(f"  {pod.pod} ({pod.need_id}): {pod.text}")
