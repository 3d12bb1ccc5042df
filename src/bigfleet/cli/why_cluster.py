"""`bigfleet why cluster/ID`: what was decided lately about the machines of a cluster, and why."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.sources import EXIT_NOT_FOUND, Source, named_cycle, read_journal
from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bigfleet.cli.tables import Table
    from bigfleet.model.shard_views import ActionView

#: Rows of the table; `--candidates` is for Needs.
_MOST_DECISIONS = 12
#: Decisions of other clusters, for a name that was meant.
_LOOKED_AT = 1000


def print_cluster(connection: Connection, source: Source, cluster: str) -> None:
    """Leaves with 3 where nothing about the cluster was decided."""
    if source.is_live:
        _print_live(connection, source, cluster)
    elif source.journal is not None:
        decisions, about = _of_journal(source, cluster)
        _write(connection, cluster, decisions, about, {})
    else:
        _write(connection, cluster, _of_file(source, cluster), "in the cycle of the file", {})


def _of_journal(source: Source, cluster: str) -> "tuple[list[ActionView], str]":
    """Of the newest epoch, or of the one asked about."""
    from bigfleet.cli.progress import compile_all
    from bigfleet.journal.decisions import explained
    from bigfleet.journal.history import LATEST
    from bigfleet.journal.notes import decisions_in
    from bigfleet.model.machine_answers import DecisionQuery

    assert source.journal is not None
    with read_journal(source.journal) as segments:
        epoch, until = named_cycle(source.at, segments, LATEST)
        where = "" if source.at is None else f" up to cycle {epoch}:{until}"
        epoch = segments[-1].epoch if source.at is None else epoch
        query = DecisionQuery(to_cycle=0 if source.at is None else until, cluster=cluster)
        found = decisions_in(segments, epoch, query, _MOST_DECISIONS).decisions
        if not found:
            others = decisions_in(segments, epoch, replace(query, cluster=""), _LOOKED_AT)
            raise _unknown(cluster, others.decisions)
        compile_all()
        told = list(explained(segments, epoch, found))
    return told, f"in {plain(str(source.journal))}{where}"


def _of_file(source: Source, cluster: str) -> "list[ActionView]":
    from bigfleet.cli.why_not import decided_from

    cycle = decided_from(source)
    views = [cycle.view_at(place) for place in range(cycle.decision.action_count)]
    own = [view for view in views if view.cluster == cluster]
    if not own:
        raise _unknown(cluster, views)
    return own[:_MOST_DECISIONS]


def _unknown(cluster: str, decisions: "Iterable[ActionView]") -> click.exceptions.Exit:
    from difflib import get_close_matches

    others = sorted({view.cluster for view in decisions if view.cluster})
    near = get_close_matches(cluster, others, n=3) or others[:3]
    there = f"; there are decisions about {', '.join(near)}" if near else ""
    click.echo(plain(f"nothing is decided about cluster/{cluster}{there}"), err=True)
    return click.exceptions.Exit(EXIT_NOT_FOUND)


def _print_live(connection: Connection, source: Source, cluster: str) -> None:
    from bigfleet.cli.object_names import about_cluster, cluster_thing
    from bigfleet.cli.whole_fleet import ask_fleet, known_in
    from bigfleet.cli.why_machine import asked_cycle
    from bigfleet.model.machine_answers import DecisionQuery
    from bigfleet.model.provider_calls import Code, Rejected

    async def look(shard: Clients) -> "tuple[ActionView, ...]":
        _, until = await asked_cycle(shard, source.at)
        query = DecisionQuery(to_cycle=until, cluster=cluster, limit=_MOST_DECISIONS)
        lately = await shard.admin.decisions(query)
        if not lately.decisions:
            raise Rejected(Code.NOT_FOUND, f"nothing is decided about {cluster} lately")
        return lately.decisions

    asked = ask_fleet(connection, about_cluster(cluster, look))
    found = known_in(connection, asked, cluster_thing(cluster))
    for shard, decisions in found.said.items():
        more = {"shardId": shard, **found.document()}
        _write(connection, cluster, decisions, f"by {shard}", more)
    found.leave_partial(connection)


# -- as it is printed ------------------------------------------------------------------------------


def _write(
    connection: Connection,
    cluster: str,
    decisions: "Sequence[ActionView]",
    where: str,
    more: dict[str, Any],
) -> None:
    from bigfleet.cli.tables import Page, counted, write_json

    if connection.json:
        items = [_document(view) for view in decisions]
        write_json({"cluster": cluster, "decisions": items, **more}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    last = "last " if len(decisions) > 1 else ""
    said = counted(len(decisions), "decision")
    page.say(f"cluster/{plain(cluster)}: the {last}{said} about it {where}, newest last", "bold")
    page.show(_table(decisions))
    page.say("")
    page.say(f"more about one: bigfleet why {_name(decisions[-1])}")
    page.write()


def _table(decisions: "Sequence[ActionView]") -> "Table":
    from bigfleet.cli.tables import cell, table_of
    from bigfleet.model.instants import instant_text

    table = table_of("WHEN", "ACTION", "WHAT", "MACHINE", "BECAME", sentence="WHY")
    for view in decisions:
        became, _, detail = _became(view).partition(": ")
        table.add_row(
            cell(instant_text(view.at // 10**9 * 10**9) if view.at else "-"),
            cell(_name(view)),
            cell(view.kind.label),
            cell(view.machine),
            cell(became.replace("_", "-")),
            cell(f"{view.reason}; then: {detail}" if detail else view.reason),
            name=_name(view),
        )
    return table


def _became(view: "ActionView") -> str:
    """`success`, `stockout: RESOURCE_EXHAUSTED...`; of what was held back `suppressed: paused by
    ada`."""
    from bigfleet.model.shard_views import Disposition

    if view.disposition is None:
        return "-"
    if view.disposition is Disposition.ENQUEUED and view.outcome:
        return view.outcome
    word = view.disposition.name.lower()
    return f"{word}: {view.outcome}" if view.outcome else word


def _name(view: "ActionView") -> str:
    return f"action/{view.cycle}.{view.index}"


def _document(view: "ActionView") -> dict[str, Any]:
    from bigfleet.wire.machine_views import ACTION

    return {**ACTION.document(view), "name": _name(view)}
