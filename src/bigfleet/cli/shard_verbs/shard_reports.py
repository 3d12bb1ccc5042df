"""Reports of shards: totals, what is free, by type and zone, and what is short.

The coordinator has the last report of every shard in its memory; right after a change of leader
some are missing. Without a coordinator the one shard that is asked makes its own.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.request_options import EXIT_PARTIAL, named_text
from bigfleet.cli.terminal import plain
from bigfleet.cli.whole_fleet import shards_meant

if TYPE_CHECKING:
    from bigfleet.cli.tables import Page
    from bigfleet.model.coordination import ReportedShortfall, ReportView
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

_NUMBERS = ("TOTAL", "FREE", "SHORTFALLS")
COLUMNS = ("SHARD", *_NUMBERS, "AGE", "BY_ZONE", "BY_TYPE")
#: Types and zones that are named, the most frequent first; and shortfalls, highest priority first.
_NAMED, _SHORTFALLS = 4, 20


def show_reports(connection: Connection) -> None:
    """Leaves with 5 where a shard the coordinator knows has not reported to this leader."""
    if connection.is_led():
        found, silent = connection.coordinator.ask(
            lambda coordinator: _reported(connection, coordinator)
        )
    else:
        found, silent = [connection.ask(_made)], []
    if connection.json:
        from bigfleet.cli.tables import write_items
        from bigfleet.wire.coordination import REPORT_VIEW

        write_items(map(REPORT_VIEW.document, found), connection.now)
    else:
        _show(connection, found, silent)
    if silent:
        said = f"{named_text(silent)} told this coordinator nothing since it leads"
        text = f"{said}; a shard that lives does so within 10 s: ask again"
        click.echo(plain(text), err=True)
        raise click.exceptions.Exit(EXIT_PARTIAL)


def show_recorded_report(connection: Connection, told: "ReportView") -> None:
    """Of a cycle of a journal or a fleet file."""
    if connection.json:
        from bigfleet.cli.tables import write_items
        from bigfleet.wire.coordination import REPORT_VIEW

        write_items([REPORT_VIEW.document(told)], connection.now)
    else:
        named = replace(told, shard_id=told.shard_id or "unknown")
        _show(connection, [named], [])


async def _reported(
    connection: Connection, coordinator: "CoordinatorAdminClient"
) -> "tuple[list[ReportView], list[str]]":
    meant = await shards_meant(connection, coordinator)
    (only,) = meant if len(meant) == 1 else ("",)
    found = [each for each in await coordinator.reports(shard_id=only) if each.shard_id in meant]
    heard = {each.shard_id for each in found}
    return found, [shard for shard in meant if shard not in heard]


async def _made(shard: Clients) -> "ReportView":
    """As the shard would report it."""
    from bigfleet.model.coordination import ReportedShortfall, ReportView
    from bigfleet.model.machines import MachineState
    from bigfleet.model.shard_views import ShardSummary

    status = await shard.admin.status()
    page = await shard.admin.machines()
    asked = await shard.read.needs()
    machines = [view.machine for view in page.machines]
    free = (MachineState.IDLE, MachineState.SPECULATIVE)
    summary = ShardSummary(
        len(machines),
        sum(machine.state in free for machine in machines),
        Counter(machine.instance_type for machine in machines),
        Counter(machine.zone for machine in machines),
        status.providers[0].address if status.providers else "",
    )
    shortfalls = tuple(
        ReportedShortfall(
            view.deficit.positive(),
            view.need.profile.priority,
            view.unmet_age,
            view.need.profile.interruption_bucket,
        )
        for view in asked.needs
        if not view.satisfied
    )
    return ReportView(status.shard_id, page.cycle, page.computed_at, summary, shortfalls)


def _show(connection: Connection, found: "list[ReportView]", silent: list[str]) -> None:
    from bigfleet.cli.tables import Page, cell, since_text, table_of

    page = Page.on_stdout(connection.color)
    if not (found or silent):
        page.say("No shard has reported yet; start one with --coordinator-addr.")
        page.write()
        return
    page.say(totals_text(found), "bold")
    *columns, by_zone, by_type = COLUMNS
    table = table_of(*columns, sentence=by_zone, numbers=_NUMBERS)
    table.add_column(by_type, min_width=30)
    for each in found:
        summary = each.summary
        table.add_row(
            cell(each.shard_id),
            cell(f"{summary.total_machines:,}"),
            cell(f"{summary.free_machines:,}"),
            cell(len(each.shortfalls), "red" if each.shortfalls else ""),
            cell(since_text(each.received_at, connection.now)),
            cell(counts_text(summary.count_of_zone)),
            cell(counts_text(summary.count_of_instance_type)),
        )
    for shard in silent:
        table.add_row(cell(shard), *([cell("")] * (len(_NUMBERS) + 3)))
    page.show(table)
    _show_shortfalls(page, found, several=len(found) + len(silent) > 1)
    page.write()


def totals_text(found: "list[ReportView]") -> str:
    from bigfleet.cli.tables import counted

    machines = sum(each.summary.total_machines for each in found)
    free = sum(each.summary.free_machines for each in found)
    short = sum(len(each.shortfalls) for each in found)
    held = f"{counted(machines, 'machine')}, {free:,} free"
    missing = f"{short:,} short" if short else "nothing short"
    return f"{counted(len(found), 'shard')}; {held}; {missing}"


def counts_text(count_of: Mapping[str, int]) -> str:
    """`a=12, b=3 and 2 more`."""
    ranked = sorted(count_of.items(), key=lambda pair: (-pair[1], pair[0]))
    said = ", ".join(f"{name or '(none)'}={count:,}" for name, count in ranked[:_NAMED])
    return f"{said} and {len(ranked) - _NAMED} more" if len(ranked) > _NAMED else said


def _show_shortfalls(page: "Page", found: "list[ReportView]", *, several: bool) -> None:
    from bigfleet.cli.tables import cell, table_of
    from bigfleet.model.reasons import resources_text

    short = sorted(
        ((each.shard_id, one) for each in found for one in each.shortfalls), key=_urgency
    )
    if not short:
        return
    table = table_of("SHARD", "PRIORITY", "DEFICIT", "CYCLES", numbers=["PRIORITY", "CYCLES"])
    for shard, one in short[:_SHORTFALLS]:
        deficit = resources_text(one.deficit.texts())
        table.add_row(cell(shard), cell(one.priority), cell(deficit), cell(one.age_cycles))
    page.show(table)
    notes = []
    if len(short) > _SHORTFALLS:
        notes.append(f"{_SHORTFALLS} of {len(short):,} shortfalls shown; -o json has all")
    if several:
        notes.append("bigfleet shards shortfalls says why no other shard helps")
    if notes:
        page.say("")
    for note in notes:
        page.say(note)


def _urgency(shortfall: "tuple[str, ReportedShortfall]") -> tuple[int, int, str]:
    shard, one = shortfall
    return (-one.priority, -one.age_cycles, shard)
