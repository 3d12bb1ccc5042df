"""A plan as tables for people: what changes, for whom, for how many dollars an hour, and why.

Ids are never wrapped or cut; only sentences are folded to the width of the terminal.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from bigfleet.cli.output import current_output
from bigfleet.cli.plan import ACTION_COLUMNS
from bigfleet.cli.table_text import Text
from bigfleet.cli.tables import Page, Table, cell, counted, table_of
from bigfleet.cli.terminal import plain
from bigfleet.engine.decision import Verdict
from bigfleet.explain.actions import reasons_of_action
from bigfleet.explain.needs import reasons_of_need
from bigfleet.explain.situation import Situation
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.reasons import Reason, dollars_text, resources_text
from bigfleet.plan.cycles import PlannedCycle
from bigfleet.plan.document import summary_of, verdicts_by_file
from bigfleet.plan.ledger import POOL, ClusterChange, changes_of
from bigfleet.verifier.facts import POLICIES

_STYLE_OF_KIND = {
    ActionKind.BOOTSTRAP: "green",
    ActionKind.PROVISION: "cyan",
    ActionKind.RECLAIM: "yellow",
    ActionKind.PREEMPT: "red",
    ActionKind.DELETE: "magenta",
}
Row = TypeVar("Row")


def fill(page: Page, cycles: Sequence[PlannedCycle], *, explain: bool, limit: int) -> None:
    first = cycles[0]
    situation = Situation.of(first.fleet, first.decision, first.name)
    page.say(headline_of(first), "bold")
    _show_clusters(page, first, limit=limit)
    _show_actions(page, first, situation, explain=explain, limit=limit)
    _show_unmet(page, first, situation, explain=explain, limit=limit)
    if explain:
        _show_met(page, first, situation, limit=limit)
    if first.vetoes is not None:
        _show_vetoes(page, cycles, limit=limit)
    if len(cycles) > 1:
        _show_later(page, cycles, limit=limit)


def _show_vetoes(page: Page, cycles: Sequence[PlannedCycle], *, limit: int) -> None:
    """What the verifier has against the actions of any cycle."""
    found = [
        (cycle, place, veto)
        for cycle in cycles
        for place, veto in sorted((cycle.vetoes or {}).items())
    ]
    actions = sum(len(cycle.kept.actions) for cycle in cycles)
    page.say("")
    if not found:
        page.say(f"Verified: {counted(actions, 'action')}, no veto.")
        return
    table = table_of("CYCLE", "VETOED", "MACHINE", "INVARIANT", sentence="WHY", numbers=["CYCLE"])
    for cycle, place, veto in _shown(found, limit):
        action = cycle.kept.actions[place]
        by_policy = veto.invariant in POLICIES
        table.add_row(
            str(cycle.number),
            Text(action.kind.label, _STYLE_OF_KIND[action.kind]),
            plain(action.machine),
            Text(veto.invariant.name, "yellow" if by_policy else "bold red"),
            plain(veto.reason.text),
        )
    page.show(table, aside=True)
    _say_rest(page, len(found), limit, "vetoes")


def headline_of(cycle: PlannedCycle) -> str:
    summary = summary_of(cycle)
    before, after = summary["hourlyCostBefore"], summary["hourlyCostAfter"]
    unmet = sum(not v.satisfied for v in verdicts_by_file(cycle.decision).values())
    demand = "all demand met" if not unmet else f"{unmet:,} unmet"
    name = f"{cycle.fleet.name}: " if cycle.fleet.name else ""
    return (
        f"{name}{counted(summary['machines'], 'machine')}, "
        f"{counted(summary['needs'], 'need')}; {demand}; "
        f"{dollars_text(_cents(before))}/h -> {dollars_text(_cents(after))}/h "
        f"({change_text(after - before)}); decided in {summary['cycleSeconds'] * 1000:.1f} ms"
    )


def _cents(dollars: float) -> float:
    return round(dollars, 2)


def change_text(dollars: float) -> str:
    rounded = _cents(dollars)
    return f"{'-' if rounded < 0 else '+'}{dollars_text(abs(rounded))}/h"


def _show_clusters(page: Page, cycle: PlannedCycle, *, limit: int) -> None:
    """All clusters by name; where they are too many, those with the largest change."""
    counted = ("MET", "UNMET", "BOOTSTRAP", "PROVISION", "RECLAIM", "PREEMPT", "DELETE", "$/H")
    table = table_of("CLUSTER", *counted, numbers=frozenset(counted))
    changes = changes_of(cycle)
    clusters = [change for change in changes if change.cluster != POOL]
    if limit and len(clusters) > limit:
        clusters.sort(key=lambda c: (-abs(c.dollars_per_hour), -c.unmet, c.cluster))
    for change in [*_shown(clusters, limit), *(c for c in changes if c.cluster == POOL)]:
        table.add_row(*_cluster_row(change))
    total = math.fsum(change.dollars_per_hour for change in changes)
    table.add_row("total", *[""] * 7, change_text(total), style="bold")
    page.show(table, aside=True)
    _say_rest(page, len(clusters), limit, "clusters")


def _cluster_row(change: ClusterChange) -> list[Text | str]:
    counts = change.count_of_kind
    pool = change.cluster == POOL
    return [
        "idle pool" if pool else plain(change.cluster),
        "" if pool else str(change.met),
        "" if pool else Text(str(change.unmet), "red" if change.unmet else ""),
        _signed(counts[ActionKind.BOOTSTRAP], "+"),
        _signed(counts[ActionKind.PROVISION], "+"),
        _signed(counts[ActionKind.RECLAIM], "-"),
        _signed(counts[ActionKind.PREEMPT], "-"),
        _signed(counts[ActionKind.DELETE], "-"),
        change_text(change.dollars_per_hour),
    ]


def _signed(count: int, sign: str) -> str:
    return f"{sign}{count:,}" if count else ""


def _show_actions(
    page: Page, cycle: PlannedCycle, situation: Situation, *, explain: bool, limit: int
) -> None:
    actions = cycle.kept.actions
    # Sorted before they are cut, so that the cut leaves the largest or the first.
    by = current_output().sort_by
    table = _table_of_actions(actions if by else _shown(actions, limit), cycle, situation, explain)
    if by:
        table.sort(by)
        table.rows, table.names = _cut(table.rows, limit), _cut(table.names, limit)
    if not actions:
        page.say("")
    page.show_or_say(table, "Nothing to do: no machine moves this cycle.", sort=False)
    _say_rest(page, len(actions), limit, "actions")
    if cycle.kept.capped:
        page.say(f"{cycle.kept.capped} reclaims held back by reclaimCapFraction; they come again.")
    if cycle.kept.deferred:
        page.say(f"{cycle.kept.deferred} actions deferred by maxActionsPerCycle; they come again.")


def _table_of_actions(
    actions: Sequence[Action], cycle: PlannedCycle, situation: Situation, explain: bool
) -> Table:
    *columns, sentence = ACTION_COLUMNS
    table = table_of(*columns, sentence=sentence, numbers=["$/H"], wide=columns[3:])
    machine_of = {entry.machine.id: entry.machine for entry in cycle.fleet.machines}
    for action in actions:
        machine = machine_of[action.machine]
        table.add_row(
            Text(action.kind.label, _STYLE_OF_KIND[action.kind]),
            plain(action.machine),
            cell(action.cluster),
            cell(machine.instance_type),
            cell(machine.zone),
            machine.capacity_type.label,
            dollars_text(machine.price_per_hour).removeprefix("$"),
            _why(reasons_of_action(situation, action), explain=explain, most=1),
            name=f"machine/{action.machine}",
        )
    return table


def _show_unmet(
    page: Page, cycle: PlannedCycle, situation: Situation, *, explain: bool, limit: int
) -> None:
    unmet = [v for v in _in_order(cycle) if not v.satisfied]
    if not unmet:
        return
    table = table_of("UNMET", "CLUSTER", "PRIORITY", "SHORT OF", sentence="WHY")
    for verdict in _shown(unmet, limit):
        table.add_row(
            *_need_cells(cycle, verdict),
            plain(resources_text(verdict.deficit.positive().texts())),
            _why(reasons_of_need(situation, verdict), explain=explain, most=4),
        )
    page.show(table)
    _say_rest(page, len(unmet), limit, "unmet needs")


def _show_met(page: Page, cycle: PlannedCycle, situation: Situation, *, limit: int) -> None:
    met = [v for v in _in_order(cycle) if v.satisfied]
    if not met:
        return
    table = table_of("MET", "CLUSTER", "PRIORITY", "MACHINES", sentence="WHY")
    for verdict in _shown(met, limit):
        table.add_row(
            *_need_cells(cycle, verdict),
            f"{len(verdict.claimed):,}",
            _why(reasons_of_need(situation, verdict), explain=True, most=4),
        )
    page.show(table)
    _say_rest(page, len(met), limit, "met needs")


def _in_order(cycle: PlannedCycle) -> list[Verdict]:
    """One verdict per Need or folded group, in file order."""
    return sorted(cycle.decision.verdicts, key=lambda verdict: min(verdict.members))


def _need_cells(cycle: PlannedCycle, verdict: Verdict) -> list[str]:
    member = cycle.fleet.needs[min(verdict.members)]
    name = member.name or member.need.key.need_id
    others = f" and {len(verdict.members) - 1} alike" if len(verdict.members) > 1 else ""
    return [
        plain(name) + others,
        plain(verdict.need.cluster),
        str(verdict.need.profile.priority),
    ]


def _why(reasons: Sequence[Reason], *, explain: bool, most: int) -> Text:
    """The sentences; with --explain all of them, with their codes and facts."""
    if not explain:
        return Text(plain("; ".join(reason.text for reason in reasons[:most])))
    lines = []
    for reason in reasons:
        facts = ", ".join(f"{name}={_fact(value)}" for name, value in reason.facts.items())
        lines.append(f"{reason.code}: {reason.text}")
        lines += [f"  {facts}"] if facts else []
    return Text("\n".join(plain(line) for line in lines))


def _fact(value: object) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{k} {_fact(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_fact, value)) + "]"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _show_later(page: Page, cycles: Sequence[PlannedCycle], *, limit: int) -> None:
    table = table_of("CYCLE", "UNMET", sentence="ACTIONS")
    for cycle in _shown(cycles, limit):
        counts = Counter(action.kind for action in cycle.kept.actions)
        done = ", ".join(f"{counts[kind]:,} {kind.label}" for kind in ActionKind if counts[kind])
        unmet = sum(not v.satisfied for v in verdicts_by_file(cycle.decision).values())
        table.add_row(str(cycle.number), str(unmet), done or "quiet")
    page.show(table)
    _say_rest(page, len(cycles), limit, "cycles")


def _shown(rows: Sequence[Row], limit: int) -> Sequence[Row]:
    return rows[:limit] if limit else rows


def _cut(rows: list[Row], limit: int) -> list[Row]:
    return rows[:limit] if limit else rows


def _say_rest(page: Page, count: int, limit: int, what: str) -> None:
    if limit and count > limit:
        page.say(f"and {count - limit:,} more {what} (--limit 0 shows all)")
