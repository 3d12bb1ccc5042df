"""Needs and machines of a journal or a fleet file: the lists of `needs` and `machines` of a cycle,
without a shard. A journal's cycle is decided again, by the engine that decided it then."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.object_names import cluster_thing, machine_thing
from bigfleet.cli.sources import EXIT_NOT_FOUND, AskedCycle, Source, read_journal
from bigfleet.cli.terminal import plain
from bigfleet.cli.whole_fleet import not_found_text
from bigfleet.cli.why_not import decided_again

if TYPE_CHECKING:
    from bigfleet.explain.decided_cycle import DecidedCycle
    from bigfleet.explain.need_states import NeedStates
    from bigfleet.model.shard_views import MachinePage, MachineQuery, NeedListing, NeedQuery


def recorded_needs(source: Source, query: "NeedQuery") -> "dict[str, NeedListing]":
    """By shard; leaves with 3 where the cluster of the query is unknown in the cycle."""
    from bigfleet.shard.ledgers.needs import NeedsLedger

    asked = source.read()
    cycle, given = decided_again(asked), asked.given
    known = cycle.outcome.scene.cluster_names
    if query.cluster and query.cluster not in known:
        text = not_found_text(cluster_thing(query.cluster), list(known), where(asked))
        click.echo(plain(text), err=True)
        raise click.exceptions.Exit(EXIT_NOT_FOUND)
    states = _states(cycle, source, asked)
    ledger = NeedsLedger(cycle.decision, given.cycle, given.at, states, cycle.facts, is_past=True)
    listing = ledger.answer(query)
    return {asked.shard: listing}


def recorded_machines(
    source: Source, query: "MachineQuery"
) -> "tuple[dict[str, MachinePage], list[str]]":
    """By shard, and a sentence about each machine that is named and not there."""
    from bigfleet.engine.selection import selected_rows
    from bigfleet.explain.decided_cycle import nearest_ids
    from bigfleet.explain.machine_trace import machine_view
    from bigfleet.model.shard_views import MachinePage

    asked = source.read()
    cycle, given = decided_again(asked), asked.given
    snapshot, states = given.snapshot, query.selector.states
    unknown = [
        not_found_text(machine_thing(each), nearest_ids(snapshot.ids, each), where(asked))
        for each in sorted(query.selector.ids)
        if snapshot.row_of(each) < 0
    ]
    rows = selected_rows(snapshot, query.selector)
    views = (machine_view(cycle, row) for row in rows.tolist())
    meant = [view for view in views if not states or view.machine.state in states]
    shown = tuple(meant[: query.limit] if query.limit else meant)
    return {asked.shard: MachinePage(given.cycle, given.at, len(meant), shown)}, unknown


def where(asked: AskedCycle) -> str:
    return f"cycle {asked.name}" if asked.found is not None else "the fleet file"


def _states(cycle: "DecidedCycle", source: Source, asked: AskedCycle) -> "NeedStates":
    from bigfleet.engine.need_progress import progress_of
    from bigfleet.explain.need_states import Holds, judged
    from bigfleet.journal.recorded_holds import recorded_states

    if source.journal is None or asked.found is None:
        return judged(cycle.decision, progress_of(cycle.decision), Holds(cycle.given.at), None)
    with read_journal(source.journal) as segments:
        return recorded_states(cycle, segments, asked.found)
