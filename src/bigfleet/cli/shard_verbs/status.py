"""`bigfleet status`: one screen about a shard: is it well, what holds it back, whom it talks to.

Of a whole fleet, where a coordinator is asked and no shard is named: fleet_status.py.
"""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Connection, shard_verb
from bigfleet.cli.output import shows
from bigfleet.cli.shard_verbs.finding_lines import tell_findings
from bigfleet.cli.shard_verbs.fleet_status import COLUMNS, show_fleet

if TYPE_CHECKING:
    from bigfleet.cli.tables import Page
    from bigfleet.model.machines import Instant
    from bigfleet.model.shard_views import OfferingView, Quarantine, ShardStatus

    Seen = tuple[ShardStatus, tuple[Quarantine, ...], tuple[OfferingView, ...]]


@click.command()
@shard_verb
@shows(lambda: COLUMNS)
def status(connection: Connection) -> None:
    """How a fleet is: who leads its coordinator, and every shard in one line.

    Below, what is wrong or holds something back: each finding with its cause and what to do next,
    a command to copy where there is one.

    With --shard, or without a coordinator: how that shard is, its cycle, its findings, its
    providers, its coordinator. Ends with 0 whenever all that were asked answer; whether they are
    ready is said in words, and by /readyz.

    \b
    Examples:
      bigfleet status
      bigfleet status --coordinator coord-1:7790,coord-2:7790
      bigfleet status --shard shard-1
      bigfleet status --shard 10.0.0.7:7780 --timeout 2s
      bigfleet status --shard shard-1 -o json | jq '.ready, .lastCycleSeconds'
      bigfleet status -o json | jq '.findings[] | {code, text, command}'
    """
    if not connection.narrows and connection.is_led():
        show_fleet(connection)
    else:
        _show_shard(connection)


def _show_shard(connection: Connection) -> None:
    from bigfleet.cli.tables import Page, write_json
    from bigfleet.model.findings import findings_of_shard
    from bigfleet.wire.shard_views import OFFERING, QUARANTINE, STATUS

    async def look(shard: Clients) -> "Seen":
        admin = shard.admin
        return await admin.status(), await admin.quarantines(), await admin.offerings()

    seen, held, resting = connection.ask(look)
    found = findings_of_shard(seen, held, resting)
    if connection.json:
        rails = {
            "quarantines": [QUARANTINE.document(each) for each in held],
            "offerings": [OFFERING.document(each) for each in resting],
            "findings": [each.document() for each in found],
        }
        write_json({**STATUS.document(seen), **rails}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    page.say(headline_of(seen, connection.now), "bold" if seen.ready else "bold red")
    _show_counts(page, seen)
    if found:
        tell_findings(page, found)
    else:
        page.say("")
        page.say("No pause, quarantine or back-off is in force.")
    show_links(page, seen, connection.now)
    page.write()


def headline_of(seen: "ShardStatus", now: "Instant") -> str:
    from bigfleet.cli.tables import counted, since_text

    state = "is ready" if seen.ready else f"is not ready: {seen.not_ready_reason}"
    decided = "no cycle has ended yet"
    if seen.last_cycle_at:
        took = f"{seen.last_cycle_seconds * 1000:.0f} ms"
        decided = f"cycle {seen.cycle} took {took}, {since_text(seen.last_cycle_at, now)} ago"
    # A person who reads only one line must see why nothing is done.
    disk = f"; cannot write: {seen.store_error}" if seen.store_error else ""
    number = len({pause.pause_id for pause in seen.pauses})
    held = f"; {counted(number, 'pause')} in force" if number else ""
    if seen.failed_machines:
        held += f"; {counted(seen.failed_machines, 'machine')} Failed"
    if seen.verifier_incidents:
        held += f"; {counted(seen.verifier_incidents, 'verifier incident')}"
    if seen.verifier_error:
        held += "; the verifier fails"
    return f"{seen.shard_id} {state}; {decided}; {demand_text(seen)}{held}{disk}"


def demand_text(seen: "ShardStatus") -> str:
    """How the Needs of a shard stand; that all are met is said only where all are."""
    from bigfleet.cli.shard_verbs.needs import counts_text
    from bigfleet.cli.tables import counted

    counts = seen.need_states
    if counts is None:
        # An older shard: it knows what was planned, not what has come.
        return f"{seen.shortfalls:,} short" if seen.shortfalls else "no shortfall"
    if not counts.total:
        return "no needs"
    stuck = f"; {counted(seen.stuck_pods, 'pod')} stuck" if seen.stuck_pods else ""
    if counts.met == counts.total:
        return f"all {counted(counts.total, 'need')} met{stuck}"
    return f"{counted(counts.total, 'need')}: {counts_text(counts)}{stuck}"


def _show_counts(page: "Page", seen: "ShardStatus") -> None:
    from bigfleet.cli.tables import cell, table_of

    counts = {
        "EPOCH": seen.epoch,
        "CYCLE": seen.cycle,
        "SESSIONS": seen.sessions,
        "MACHINES": seen.machines,
        "NEEDS": seen.needs,
        "SHORTFALLS": seen.shortfalls,
        "QUEUED": seen.queue_depth,
        "IN_FLIGHT": seen.in_flight,
    }
    table = table_of("SHARD", *counts, "VERSION", numbers=counts)
    numbers = [cell(count) for count in counts.values()]
    table.add_row(cell(seen.shard_id), *numbers, cell(seen.version))
    page.show(table)


def show_links(page: "Page", seen: "ShardStatus", now: "Instant") -> None:
    from bigfleet.cli.tables import cell, since_text, table_of

    table = table_of(
        *("PROVIDER", "ADDRESS", "MACHINES", "LISTED", "LISTS", "BREAKER"),
        sentence="ERROR",
        numbers=["MACHINES"],
    )
    for provider in seen.providers:
        open_now = provider.breaker_open
        table.add_row(
            cell(provider.name),
            cell(provider.address),
            cell(provider.machines),
            cell(since_text(provider.last_list_at, now)),
            cell("incremental" if provider.incremental else "full"),
            cell("open" if open_now else "closed", "red" if open_now else ""),
            cell(provider.last_error),
        )
    if table.row_count:
        page.show(table)
    else:
        page.say("")
        page.say("No provider: it has no machines until --provider-addr NAME=HOST:PORT names one.")
    link = seen.coordinator
    if link is None:
        return
    table = table_of("COORDINATOR", "LINK", "REPORTED", "TERM", sentence="ERROR", numbers=["TERM"])
    table.add_row(
        cell(link.address),
        cell("up" if link.connected else "down", "" if link.connected else "red"),
        cell(since_text(link.last_report_at, now)),
        cell(link.term),
        cell(link.last_error),
    )
    page.show(table)
