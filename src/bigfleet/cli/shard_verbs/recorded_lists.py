"""Lists of a cycle of a journal or of a fleet file, without a shard: Needs, machines, the report of
the shard, offerings that rest. A journal's cycle is decided again, by the engine that decided it
then."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bigfleet.cli.object_names import cluster_thing, machine_thing
from bigfleet.cli.sources import EXIT_NOT_FOUND, AskedCycle, Source, read_journal
from bigfleet.cli.terminal import plain
from bigfleet.cli.whole_fleet import not_found_text
from bigfleet.cli.why_not import decided_again

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bigfleet.explain.decided_cycle import DecidedCycle
    from bigfleet.explain.need_states import NeedStates
    from bigfleet.model.coordination import ReportView
    from bigfleet.model.forecasts import Forecast
    from bigfleet.model.machines import Instant
    from bigfleet.model.needs import NeedKey
    from bigfleet.model.shard_views import MachinePage, MachineQuery, NeedListing, NeedQuery


def recorded_needs(
    source: Source, query: "NeedQuery", *, forecast: bool = False
) -> "dict[str, NeedListing]":
    """By shard; leaves with 3 where the cluster of the query is unknown in the cycle."""
    from bigfleet.model.shard_views import with_forecasts
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
    if not forecast:
        return {asked.shard: listing}
    return {asked.shard: with_forecasts(listing, _forecasts(cycle, source, asked, listing))}


def _forecasts(
    cycle: "DecidedCycle", source: Source, asked: AskedCycle, listing: "NeedListing"
) -> "Mapping[NeedKey, Forecast]":
    from bigfleet.journal.forecasts import forecasts_of, forecasts_of_file

    listed = {row.view.need.key for row in listing.rows}
    if source.journal is None or asked.found is None:
        return forecasts_of_file(cycle).of_needs(listed)
    with read_journal(source.journal) as segments:
        return forecasts_of(cycle, segments, asked.found).of_needs(listed)


def recorded_machines(
    asked: AskedCycle, query: "MachineQuery"
) -> "tuple[dict[str, MachinePage], list[str]]":
    """By shard, and a sentence about each machine that is named and not there."""
    from bigfleet.engine.selection import selected_rows
    from bigfleet.explain.decided_cycle import nearest_ids
    from bigfleet.explain.machine_trace import machine_view
    from bigfleet.model.shard_views import MachinePage

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


def recorded_report(asked: AskedCycle) -> "ReportView":
    """What the shard would have told its coordinator after the cycle."""
    from bigfleet.model.coordination import ReportedShortfall, ReportView
    from bigfleet.model.machines import MachineState
    from bigfleet.model.shard_views import ShardSummary

    cycle, snapshot = decided_again(asked), asked.given.snapshot
    machines = [cycle.machine(row).machine for row in range(len(snapshot))]
    free = (MachineState.IDLE, MachineState.SPECULATIVE)
    ages = {key: shortfall.age for key, shortfall in cycle.decision.memory.shortfalls.items()}
    shortfalls = tuple(
        ReportedShortfall(
            verdict.deficit.positive(),
            verdict.need.profile.priority,
            ages.get(verdict.need.key, 0),
            verdict.need.profile.interruption_bucket,
        )
        for verdict in cycle.decision.verdicts
        if not verdict.satisfied
    )
    summary = ShardSummary(
        len(machines),
        sum(machine.state in free for machine in machines),
        Counter(machine.instance_type for machine in machines),
        Counter(machine.zone for machine in machines),
        "",
    )
    return ReportView(asked.shard, asked.given.cycle, asked.given.at, summary, shortfalls)


@dataclass(frozen=True, slots=True)
class HeldOffering:
    """One that rests in a recorded cycle, as far as the machines of the cycle tell."""

    shard: str
    #: `type/zone/capacityType`: a slot that is not bought has no provider yet.
    name: str
    #: Slots that could not be bought.
    slots: int
    #: When they are free again; None: it is not recorded.
    until: "Instant | None"
    #: Of the cycle; 0: a fleet file names none.
    at: "Instant"


def held_offerings(asked: AskedCycle) -> tuple[list[HeldOffering], str]:
    """In the order of their names, and where they were found."""
    from bigfleet.model.fleet import HeldBy

    if asked.fleet is not None:
        entries, at = asked.fleet.machines, asked.fleet.now or 0
    else:
        cycle = decided_again(asked)
        entries = tuple(map(cycle.machine, range(len(asked.given.snapshot))))
        at = asked.given.at
    slots: Counter[str] = Counter()
    until: dict[str, Instant | None] = {}
    for entry in entries:
        held, machine = entry.marks.held, entry.machine
        if held is not None and held.by is HeldBy.BACKOFF:
            name = f"{machine.instance_type}/{machine.zone}/{machine.capacity_type.label}"
            slots[name] += 1
            until.setdefault(name, held.until)
    found = [
        HeldOffering(asked.shard, name, count, until[name], at) for name, count in slots.items()
    ]
    return sorted(found, key=lambda each: each.name), where(asked)


def is_recorded(source: Source) -> bool:
    """Whether a cycle is decided again; else the shard tells what it knows of its last one."""
    return not source.is_live or source.at is not None


def where(asked: AskedCycle) -> str:
    return f"cycle {asked.name}" if asked.fleet is None else "the fleet file"


def _states(cycle: "DecidedCycle", source: Source, asked: AskedCycle) -> "NeedStates":
    from bigfleet.engine.need_progress import progress_of
    from bigfleet.explain.need_states import Holds, judged
    from bigfleet.journal.recorded_holds import recorded_states

    if source.journal is None or asked.found is None:
        return judged(cycle.decision, progress_of(cycle.decision), Holds(cycle.given.at), None)
    with read_journal(source.journal) as segments:
        return recorded_states(cycle, segments, asked.found)
