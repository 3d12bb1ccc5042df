"""`bigfleet why cluster/ID`: what was decided lately about the machines of a cluster, and why."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.sources import EXIT_NOT_FOUND, Source, read_journal
from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from bigfleet.cli.tables import Table
    from bigfleet.journal.decisions import RecordedDecision
    from bigfleet.model.shard_views import ActionView

#: Rows of the table; `--candidates` is for Needs.
_MOST_DECISIONS = 12


@dataclass(frozen=True, slots=True)
class ToldDecision:
    """One row."""

    view: "ActionView"
    #: Of the journal; 0: of a live shard, or of a file.
    epoch: int = 0
    times: int = 1

    @property
    def name(self) -> str:
        place = f"{self.view.cycle}.{self.view.index}"
        return f"action/{self.epoch}:{place}" if self.epoch else f"action/{place}"


def print_cluster(connection: Connection, source: Source, cluster: str) -> None:
    """Leaves with 3 where nothing about the cluster was decided."""
    if source.is_live:
        _print_live(connection, source, cluster)
    elif source.journal is not None:
        decisions, about = _of_journal(source, cluster)
        _write(connection, cluster, decisions, about, {})
    else:
        _write(connection, cluster, _of_file(source, cluster), "in the cycle of the file", {})


def _of_journal(source: Source, cluster: str) -> tuple[list[ToldDecision], str]:
    from bigfleet.cli.progress import compile_all
    from bigfleet.journal.decisions import decisions_about, explained

    assert source.journal is not None
    others: set[str] = set()

    def matches(view: "ActionView") -> bool:
        others.add(view.cluster)
        return view.cluster == cluster

    with read_journal(source.journal) as segments:
        newest = segments[-1].epoch
        until = None if source.at is None else (source.at[0] or newest, source.at[1])
        found = decisions_about(segments, matches, _MOST_DECISIONS, until)
        if not found:
            raise _unknown(cluster, others - {""})
        compile_all()
        told = [_told(each, newest) for each in explained(segments, found)]
    where = "" if until is None else f" up to cycle {until[0]}:{until[1]}"
    return told, f"in {plain(str(source.journal))}{where}"


def _told(each: "RecordedDecision", newest: int) -> ToldDecision:
    return ToldDecision(each.view, each.epoch if each.epoch != newest else 0, each.times)


def _of_file(source: Source, cluster: str) -> list[ToldDecision]:
    from bigfleet.cli.why_not import decided_from

    cycle = decided_from(source)
    views = [cycle.view_at(place) for place in range(cycle.decision.action_count)]
    own = [ToldDecision(view) for view in views if view.cluster == cluster]
    if not own:
        raise _unknown(cluster, {view.cluster for view in views} - {""})
    return own[:_MOST_DECISIONS]


def _unknown(cluster: str, others: set[str]) -> click.exceptions.Exit:
    from difflib import get_close_matches

    near = get_close_matches(cluster, others, n=3) or sorted(others)[:3]
    there = f"; there are decisions about {', '.join(near)}" if near else ""
    click.echo(plain(f"nothing is decided about cluster/{cluster}{there}"), err=True)
    return click.exceptions.Exit(EXIT_NOT_FOUND)


def _print_live(connection: Connection, source: Source, cluster: str) -> None:
    from bigfleet.cli.object_names import about_cluster, cluster_thing
    from bigfleet.cli.whole_fleet import ask_fleet, known_in
    from bigfleet.cli.why_machine import asked_cycle
    from bigfleet.model.machine_answers import DecisionQuery
    from bigfleet.model.provider_calls import Code, Rejected

    async def look(shard: Clients) -> list[ToldDecision]:
        _, until = await asked_cycle(shard, source.at)
        query = DecisionQuery(to_cycle=until, cluster=cluster, limit=_MOST_DECISIONS)
        lately = await shard.admin.decisions(query)
        if not lately.decisions:
            raise Rejected(Code.NOT_FOUND, f"nothing is decided about {cluster} lately")
        return [ToldDecision(view) for view in lately.decisions]

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
    decisions: list[ToldDecision],
    where: str,
    more: dict[str, Any],
) -> None:
    from bigfleet.cli.tables import Page, counted, write_json

    if connection.json:
        items = [_document(each) for each in decisions]
        write_json({"cluster": cluster, "decisions": items, **more}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    last = "last " if len(decisions) > 1 else ""
    said = counted(len(decisions), "decision")
    page.say(f"cluster/{plain(cluster)}: the {last}{said} about it {where}, newest last", "bold")
    page.show(_table(decisions))
    page.say("")
    page.say(f"more about one: bigfleet why {decisions[-1].name}")
    page.write()


def _table(decisions: list[ToldDecision]) -> "Table":
    from bigfleet.cli.tables import cell, table_of
    from bigfleet.model.instants import instant_text

    table = table_of("WHEN", "ACTION", "WHAT", "MACHINE", "BECAME", sentence="WHY")
    for each in decisions:
        view = each.view
        became = "" if view.disposition is None else view.disposition.name.lower().replace("_", "-")
        again = f", {each.times} cycles" if each.times > 1 else ""
        table.add_row(
            cell(instant_text(view.at // 10**9 * 10**9) if view.at else "-"),
            cell(each.name),
            cell(view.kind.label),
            cell(view.machine),
            cell(f"{view.outcome or became}{again}"),
            cell(view.reason),
            name=each.name,
        )
    return table


def _document(each: ToldDecision) -> dict[str, Any]:
    from bigfleet.wire.machine_views import ACTION

    return {**ACTION.document(each.view), "name": each.name, "times": each.times}
