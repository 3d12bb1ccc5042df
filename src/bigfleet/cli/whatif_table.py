"""The answer of a what-if for people: what happens in a few sentences, then both sides."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from bigfleet.cli.table_text import Text
from bigfleet.cli.tables import Page, cell, counted, table_of
from bigfleet.cli.terminal import plain
from bigfleet.cli.whatif import COLUMNS
from bigfleet.model.actions import ActionKind
from bigfleet.model.durations import short_text
from bigfleet.model.latencies import Latencies
from bigfleet.model.reasons import dollars_text, resources_text
from bigfleet.model.what_if import (
    ClusterDelta,
    NeedChange,
    SettledSide,
    Settling,
    WhatIfAnswer,
    WhatIfSide,
)
from bigfleet.whatif.settling import MOST_CYCLES

Row = TypeVar("Row")
_BILLED = "billed $/h"


def fill(page: Page, answer: WhatIfAnswer, limit: int) -> None:
    overlay = "; ".join(answer.overlay) or "nothing changes"
    page.say(f"What if: {overlay}   (cycle {answer.cycle})")
    for sentence in sentences_of(answer):
        page.say(sentence)
    for warning in answer.warnings:
        page.say(f"warning: {warning}", "yellow")
    _show_sides(page, answer)
    _show_clusters(page, answer.clusters, limit)
    if answer.settling is None:
        _show_needs(page, "NEWLY UNMET", answer.newly_unmet, answer.newly_unmet_count, limit)
    _show_needs(page, "NEWLY MET", answer.newly_met, answer.newly_met_count, limit)
    if answer.settling is not None:
        _show_waits(page, answer, answer.settling, limit)


def sentences_of(answer: WhatIfAnswer) -> list[str]:
    """What a person wants to know first."""
    base, changed = answer.base, answer.changed
    told = []
    if answer.removed:
        lost = sorted((c for c in answer.clusters if c.lost), key=lambda c: (-c.lost, c.cluster))
        named = ", ".join(f"{c.cluster} {c.lost:,}" for c in lost[:5])
        more = f" and {len(lost) - 5} more clusters" if len(lost) > 5 else ""
        in_use = sum(c.lost for c in lost)
        whose = f", {in_use:,} of them in use ({named}{more})" if lost else ", none of them in use"
        told.append(f"{counted(answer.removed, 'machine')} leave{whose}.")
    told += _needs_sentences(answer)
    if answer.moved:
        moves = [f"{m.machines:,} from {m.from_cluster} to {m.to_cluster}" for m in answer.moved]
        more = f" and {len(moves) - 5} more pairs" if len(moves) > 5 else ""
        told.append(f"Machines change hands by preemption: {', '.join(moves[:5])}{more}.")
    before, after = round(base.cost_per_hour, 2), round(changed.cost_per_hour, 2)
    told.append(
        f"The bill goes from {dollars_text(before)}/h to {dollars_text(after)}/h"
        f" ({_dollar_change(after - before)}/h)."
    )
    return told


def _needs_sentences(answer: WhatIfAnswer) -> list[str]:
    rest, settling = answer.changed.settled, answer.settling
    if rest is None or settling is None:
        return [_needs_sentence(answer)]
    told = [_rest_sentence(rest)]
    if rest.waiting:
        half, last = rest.time_to_cover(0.5), rest.time_to_cover(1.0)
        when = (
            f"after {short_text(last)}"
            if half == last
            else (f"half of them after {short_text(half)}, the last after {short_text(last)}")
        )
        had = "has" if rest.waiting == 1 else "have"
        told.append(f"{counted(rest.waiting, 'Need')} {had} to wait for machines: covered {when}.")
    elif not rest.uncovered:
        told.append("All demand is covered throughout.")
    if rest.uncovered:
        end = short_text(rest.seconds)
        told.append(f"Still short after {end}: {counted(rest.uncovered, 'Need')}.")
    if settling.short_at_first:
        told.append(
            f"Of {counted(settling.short_at_first, 'Need')} that the edits leave short at first,"
            f" {settling.recovered:,} {'recovers' if settling.recovered == 1 else 'recover'}."
        )
    return told


def _rest_sentence(rest: SettledSide) -> str:
    if rest.quiet_after_cycles is None:
        return (
            f"The fleet is not at rest after {MOST_CYCLES} cycles, {short_text(rest.seconds)} of"
            " virtual time."
        )
    if not rest.quiet_after_cycles:
        return "Nothing happens: the fleet is at rest."
    return f"The fleet is at rest after {short_text(float(rest.quiet_after_cycles))}."


def _needs_sentence(answer: WhatIfAnswer) -> str:
    unmet, met = answer.newly_unmet_count, answer.newly_met_count
    still = answer.changed.unsatisfied_needs - unmet
    if not unmet and not still:
        return "All demand would be covered by what is there and what this cycle starts."
    parts = []
    if unmet:
        top = max((n.priority for n in answer.newly_unmet), default=0)
        parts.append(f"{counted(unmet, 'more Need')} would be short, up to priority {top}")
    if met:
        parts.append(f"{counted(met, 'Need')} would be covered that {_is(met)} short now")
    if still > 0:
        parts.append(f"{counted(still, 'Need')} {_is(still)} short either way")
    return f"{'; '.join(parts)}."


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _show_sides(page: Page, answer: WhatIfAnswer) -> None:
    table = table_of("", "NOW", "THEN", "CHANGE", numbers=("NOW", "THEN", "CHANGE"))
    base, changed = answer.base, answer.changed
    counts: list[tuple[str, int, int]] = [
        ("machines", _machines(base), _machines(changed)),
        ("needs covered", base.satisfied_needs, changed.satisfied_needs),
        ("needs short", base.unsatisfied_needs, changed.unsatisfied_needs),
    ]
    for priority in sorted(
        {*base.shortfalls_by_priority, *changed.shortfalls_by_priority}, reverse=True
    ):
        before = base.shortfalls_by_priority.get(priority, 0)
        after = changed.shortfalls_by_priority.get(priority, 0)
        counts.append((f"  not even by preemption, priority {priority}", before, after))
    for kind in ActionKind:
        before, after = (s.actions_by_kind.get(kind.label, 0) for s in (base, changed))
        if before or after:
            counts.append((kind.label, before, after))
    for name, before, after in counts:
        table.add_row(name, f"{before:,}", f"{after:,}", _change(after - before))
    if base.settled is not None and changed.settled is not None:
        for name, row in _rest_rows(base.settled, changed.settled):
            table.add_row(name, *row)
    dollars = [
        (_BILLED, base.cost_per_hour, changed.cost_per_hour),
        ("declared penalties of victims", base.declared_penalties, changed.declared_penalties),
        (
            "expected interruptions $/h (declared)",
            base.expected_interruption_per_hour,
            changed.expected_interruption_per_hour,
        ),
    ]
    for name, sum_before, sum_after in dollars:
        low, high = round(sum_before, 2), round(sum_after, 2)
        if low or high or name == _BILLED:
            table.add_row(name, dollars_text(low), dollars_text(high), _dollar_change(high - low))
    if base.pinned_victims or changed.pinned_victims:
        low_count, high_count = base.pinned_victims, changed.pinned_victims
        change = _change(high_count - low_count)
        table.add_row("victims that are pinned", f"{low_count:,}", f"{high_count:,}", change)
    page.show(table, aside=True)


def _rest_rows(base: SettledSide, changed: SettledSide) -> Iterator[tuple[str, list[str]]]:
    for name, share in (("time to cover, half", 0.5), ("time to cover, all", 1.0)):
        yield name, [short_text(s.time_to_cover(share)) for s in (base, changed)] + [""]
    if base.uncovered or changed.uncovered:
        change = _change(changed.uncovered - base.uncovered)
        yield "still short at the end", [f"{base.uncovered:,}", f"{changed.uncovered:,}", change]
    quiet = [each.quiet_after_cycles for each in (base, changed)]
    yield "at rest after", ["-" if q is None else short_text(float(q)) for q in quiet] + [""]


def _show_waits(page: Page, answer: WhatIfAnswer, settling: Settling, limit: int) -> None:
    if settling.waits:
        why = any(wait.sentence for wait in settling.waits)
        table = table_of("WAITING", "PRIORITY", "COVERED AFTER", sentence="WHY" if why else "")
        for wait in _shown(settling.waits, limit):
            after = wait.covered_after
            text = "not covered" if after is None else short_text(after)
            row = [plain(wait.name), str(wait.priority), text]
            table.add_row(*row, *([plain(wait.sentence)] if why else []), name=wait.name)
        page.show(table)
        rest = answer.changed.settled or SettledSide()
        shown = min(limit or len(settling.waits), len(settling.waits))
        _say_rest(page, rest.waiting + rest.uncovered, shown, "Needs")
    for sentence in latency_sentences(settling.latencies):
        page.say(sentence)


def latency_sentences(latencies: Latencies) -> Iterator[str]:
    """Which were used, and where they come from."""

    def listed(texts: Mapping[str, str]) -> str:
        return ", ".join(f"{name} {text}" for name, text in texts.items())

    if said := listed(latencies.said_texts):
        yield f"Latencies given: {said}."
    if measured := listed(latencies.measured_texts):
        yield f"Latencies measured in the journal: {measured}, medians of n machines each."
    if assumed := listed(Latencies(latencies.assumed).texts):
        yield f"Assumed: {assumed} (medians of the simulated provider; --latency gives others)."


def _machines(side: WhatIfSide) -> int:
    return sum(side.machines_by_state.values())


def _change(difference: int) -> str:
    return f"{difference:+,}" if difference else ""


def _dollar_change(difference: float) -> str:
    rounded = round(difference, 2)
    return f"{'-' if rounded < 0 else '+'}{dollars_text(abs(rounded))}"


def _show_clusters(page: Page, clusters: Sequence[ClusterDelta], limit: int) -> None:
    """Those that change; where they are too many, the largest changes."""
    changed = [c for c in clusters if c.lost or c.before != c.after]
    if not changed:
        return
    table = table_of(*COLUMNS, numbers=COLUMNS[1:])
    if limit and len(changed) > limit:
        changed.sort(key=lambda c: (c.before.unmet - c.after.unmet, -c.lost, c.cluster))
    for delta in _shown(changed, limit):
        kinds = delta.after.actions_by_kind
        new = kinds.get("Bootstrap", 0) + kinds.get("Provision", 0)
        table.add_row(
            plain(delta.cluster),
            f"{delta.lost:,}" if delta.lost else "",
            f"{delta.before.machines:,}",
            f"{delta.after.machines:,}",
            f"{delta.before.unmet:,}",
            Text(f"{delta.after.unmet:,}", "red" if delta.after.unmet else ""),
            f"{kinds.get('Preempt', 0):,}",
            f"{new:,}",
            _dollar_change(delta.after.cost_per_hour - delta.before.cost_per_hour),
        )
    page.show(table)
    _say_rest(page, len(changed), limit, "clusters")


def _show_needs(
    page: Page, heading: str, changes: Sequence[NeedChange], count: int, limit: int
) -> None:
    if not changes:
        return
    unmet = any(change.sentence for change in changes)
    names = (heading, "PRIORITY", "SHORT OF") if unmet else (heading, "PRIORITY")
    table = table_of(*names, sentence="WHY" if unmet else "")
    for change in _shown(changes, limit):
        row = [plain(change.name), str(change.priority)]
        if unmet:
            row.append(cell(resources_text(change.deficit.texts())).text)
            row.append(plain(change.sentence))
        table.add_row(*row, name=change.name)
    page.show(table)
    _say_rest(page, count, min(limit, len(changes)) if limit else len(changes), "Needs")


def _shown(rows: Sequence[Row], limit: int) -> Sequence[Row]:
    return rows[:limit] if limit else rows


def _say_rest(page: Page, count: int, shown: int, what: str) -> None:
    if shown and count > shown:
        page.say(f"and {count - shown:,} more {what}")
