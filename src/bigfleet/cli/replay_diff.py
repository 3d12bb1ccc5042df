"""`bigfleet replay JOURNAL --diff`: what another engine or other options would have decided."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.output import current_output
from bigfleet.cli.terminal import escaped, refuse

if TYPE_CHECKING:
    from bigfleet.journal.answers import AnsweredAction
    from bigfleet.journal.comparison import Change, Comparison, Limit
    from bigfleet.journal.history import RecordedCycle
    from bigfleet.journal.segments import Segment
    from bigfleet.model.latencies import Latencies

#: Of one change, on either side.
_MOST_ACTIONS = 3


@dataclass(frozen=True, slots=True)
class DiffRequest:
    journal: Path
    #: The first and the last cycle: epoch and number.
    span: tuple[tuple[int, int], tuple[int, int]]
    workers: int
    #: Another interpreter; None: the engine of this version.
    engine: str | None
    settings: Mapping[str, str]
    limits: "list[Limit]"
    #: Each engine lives with what it decides.
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    comparison: "Comparison"
    #: Of a closed comparison: those that the journal shows.
    latencies: "Latencies | None" = None


def settings_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Of `--set NAME=VALUE`, checked against the options of this version."""
    from bigfleet.journal.diffs import with_settings
    from bigfleet.model.options import EngineOptions

    for text in texts:
        if "=" not in text:
            raise refuse([f"--set {text}: write NAME=VALUE, for example parking.after=4"])
    settings = dict(text.split("=", 1) for text in texts)
    try:
        with_settings(EngineOptions(), settings)
    except ValueError as problem:
        raise refuse([f"--set: {problem}"]) from None
    return settings


def limits_from(text: str) -> "list[Limit]":
    from bigfleet.journal.comparison import limits_of

    try:
        return limits_of(text)
    except ValueError as problem:
        raise refuse([f"--fail-on: {problem}"]) from None


def compared(
    request: DiffRequest, segments: "list[Segment]", tell: Callable[[int], None]
) -> Compared:
    if request.is_closed:
        return _compared_closed(request, segments, tell)
    return Compared(_compared_open(request, segments, tell))


def _cycles(request: DiffRequest, segments: "list[Segment]") -> "Iterator[RecordedCycle]":
    from bigfleet.journal.history import History
    from bigfleet.journal.other_engine import until
    from bigfleet.journal.segments import records_in_order

    first, last = request.span
    return until(History(first).cycles(records_in_order(segments, first)), last)


def _compared_closed(
    request: DiffRequest, segments: "list[Segment]", tell: Callable[[int], None]
) -> Compared:
    from bigfleet.journal.closed_diffs import ClosedEngine, compare_closed
    from bigfleet.journal.measured_latencies import measured_latencies
    from bigfleet.journal.other_engine import BrokenEngine, closed_settings, other_engine

    latencies = measured_latencies(_cycles(request, segments))
    cycles = _cycles(request, segments)
    with ThreadPoolExecutor(request.workers) as threads:

        def engine(settings: Mapping[str, str]) -> ClosedEngine:
            return ClosedEngine(
                settings, latencies, workers=request.workers, run_workers=threads.map
            )

        base = engine({})
        if request.engine is None:
            candidate = engine(request.settings).answer
            return Compared(compare_closed(cycles, base, candidate, tell), latencies)
        told = closed_settings(request.settings, latencies)
        try:
            with other_engine(request.engine, request.journal, request.span, told) as answer:
                found = compare_closed(cycles, base, lambda cycle, _: answer(cycle), tell)
        except BrokenEngine as problem:
            raise refuse([str(problem)]) from None
    return Compared(found, latencies)


def _compared_open(
    request: DiffRequest, segments: "list[Segment]", tell: Callable[[int], None]
) -> "Comparison":
    from bigfleet.journal.diffs import compare, this_engine
    from bigfleet.journal.other_engine import BrokenEngine, other_engine

    cycles = _cycles(request, segments)
    if request.engine is None:
        with ThreadPoolExecutor(request.workers) as threads:
            candidate = this_engine(
                request.settings, workers=request.workers, run_workers=threads.map
            )
            return compare(cycles, candidate, tell)
    try:
        with other_engine(
            request.engine, request.journal, request.span, request.settings
        ) as candidate:
            return compare(cycles, candidate, tell)
    except BrokenEngine as problem:
        raise refuse([str(problem)]) from None


def print_comparison(compared: Compared, limits: "list[Limit]") -> None:
    from bigfleet.cli.tables import write_json

    found, latencies = compared.comparison, compared.latencies
    if current_output().is_document:
        closed = {} if latencies is None else _latency_document(latencies)
        write_json({**document_of(found, limits), **closed}, time.time_ns())
        return
    if latencies is not None:
        for sentence in _latency_sentences(latencies):
            click.echo(sentence)
    click.echo(f"{found.verdict(limits)}: {found.changed:,} of {found.cycles:,} cycles changed")
    for passed in found.beyond(limits):
        click.echo(f"  beyond {passed}")
    if not found.changed:
        return
    click.echo(f"first changed: cycle {found.first_changed}")
    if found.unknown:
        click.echo(f"{found.unknown} changed cycles are not recorded in full: left out below")
    for title, counts in (("added", found.added), ("removed", found.removed)):
        for (kind, cluster), count in sorted(counts.items()):
            click.echo(escaped(f"  {title} {count} {kind} {cluster}".rstrip()))
    dollars = _dollars(found.dollars_per_hour)
    click.echo(f"planned: {dollars}/h, summed over the cycles that decide it")
    click.echo(
        f"preemptions: {found.preempts:+d}, declared penalties: {_dollars(found.penalty_dollars)}"
    )
    for title, needs in (("new", found.new_shortfalls), ("gone", found.gone_shortfalls)):
        for priority, count in sorted(Counter(needs.values()).items(), reverse=True):
            click.echo(f"shortfalls {title}: {count} at priority {priority}")
    if found.changes:
        click.echo("largest changes, each in the first cycle that decides it:")
    for change in found.changes:
        _print_change(change)


def _latency_sentences(latencies: "Latencies") -> "Iterator[str]":
    from bigfleet.model.latencies import Latencies

    yield "Each engine lives with what it decides; demand is the recorded one."
    for title, texts in (
        ("Measured in the journal", latencies.measured_texts),
        ("Assumed", Latencies(latencies.assumed).texts),
    ):
        if texts:
            yield f"{title}: {', '.join(f'{name} {text}' for name, text in texts.items())}."


def _latency_document(latencies: "Latencies") -> dict[str, Any]:
    from bigfleet.model.latencies import Latencies

    return {
        "mode": "closed",
        "measuredLatencies": latencies.texts,
        "latencySamples": dict(latencies.samples),
        "assumedLatencies": Latencies(latencies.assumed).texts,
    }


def _print_change(change: "Change") -> None:
    click.echo(escaped(f"cycle {change.cycle} {change.subject}"))
    for title, actions in (("then", change.removed), ("now", change.added)):
        for action in actions[:_MOST_ACTIONS]:
            what = f"{action.kind} {action.machine}"
            click.echo(escaped(f"  {title}: {what}: {action.sentence}".rstrip(": ")))
        if len(actions) > _MOST_ACTIONS:
            click.echo(f"  {title}: and {len(actions) - _MOST_ACTIONS} more")
        if not actions:
            click.echo(f"  {title}: nothing")


def document_of(found: "Comparison", limits: "list[Limit]") -> dict[str, Any]:
    return {
        "verdict": str(found.verdict(limits)),
        "beyond": found.beyond(limits),
        "cycles": found.cycles,
        "changed": found.changed,
        "first": found.first,
        "last": found.last,
        "firstChanged": found.first_changed or None,
        "notRecordedInFull": found.unknown,
        "added": _counts(found.added),
        "removed": _counts(found.removed),
        "plannedDollarsPerHour": found.dollars_per_hour,
        "recordedBoughtPerHour": found.bought_per_hour,
        "preempts": found.preempts,
        "penaltyDollars": found.penalty_dollars,
        "newShortfalls": found.new_shortfalls,
        "goneShortfalls": found.gone_shortfalls,
        "largestChanges": [_change_document(change) for change in found.changes],
    }


def _counts(counts: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "cluster": cluster, "count": count}
        for (kind, cluster), count in sorted(counts.items())
    ]


def _change_document(change: "Change") -> dict[str, Any]:
    return {
        "cycle": change.cycle,
        "subject": change.subject,
        "dollarsPerHour": change.dollars_per_hour,
        "penaltyDollars": change.penalty_dollars,
        "then": [_action_document(action) for action in change.removed],
        "now": [_action_document(action) for action in change.added],
    }


def _action_document(action: "AnsweredAction") -> dict[str, Any]:
    return {
        "kind": action.kind,
        "machine": action.machine,
        "cluster": action.cluster,
        "need": action.need or None,
        "dollarsPerHour": action.dollars_per_hour,
        "sentence": action.sentence,
    }


def _dollars(amount: float) -> str:
    return f"{'-' if amount < 0 else '+'}${abs(amount):,.2f}"
