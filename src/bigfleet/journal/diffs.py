"""Recorded cycles, and what a candidate decides on them: an engine, or this one with other options.

The record is compared, not a second run: its actions are read where they were all recorded, and
decided again where not all were and this engine still decides the same.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.journal.answers import Answer, answer_of, recorded_answer, shortfalls_of
from bigfleet.journal.comparison import Comparison
from bigfleet.journal.digests import line, output_digest
from bigfleet.journal.history import RecordedCycle
from bigfleet.model.journal import CycleOutput
from bigfleet.model.options import EngineOptions
from bigfleet.model.shard_views import ActionView
from bigfleet.wire.journal_records import option_texts, options_of

#: Answers for a recorded cycle.
Candidate = Callable[[RecordedCycle], Answer]
_NOTHING = hashlib.sha256().digest()


def with_settings(options: EngineOptions, settings: Mapping[str, str]) -> EngineOptions:
    """Raises ValueError, in words, for a setting that is not known or not readable."""
    if not settings:
        return options
    texts = option_texts(options)
    known = sorted(texts.keys() - {"clustersReady"})
    for name in settings:
        if name not in known:
            raise ValueError(
                f"{name!r} is not an option of the engine; these are: {', '.join(known)}"
            )
    changed = options_of({**texts, **settings})
    return replace(
        changed,
        clusters_ready=options.clusters_ready,
        workers=options.workers,
        smallest_share=options.smallest_share,
        most_conflicts=options.most_conflicts,
    )


def this_engine(
    settings: Mapping[str, str], *, workers: int = 1, run_workers: RunWorkers = map
) -> Candidate:
    def answer(cycle: RecordedCycle) -> Answer:
        given = cycle.given
        given = replace(given, options=with_settings(given.options, settings))
        decision = given.decide(workers=workers, run_workers=run_workers)
        is_other = output_digest(decision) != _digest(cycle)
        return answer_of(cycle.epoch, given, decision, explained=is_other)

    return answer


def compare(
    cycles: Iterable[RecordedCycle],
    candidate: Candidate,
    each_cycle: Callable[[int], None] = lambda cycles: None,
) -> Comparison:
    """`each_cycle` is told how many are done."""
    comparison = Comparison()
    for cycle, following in _with_following(cycles):
        now = candidate(cycle)
        shortfalls = _shortfalls_after(cycle, following)
        is_same = now.digest == _digest(cycle).hex()
        if is_same and shortfalls in (None, now.shortfalls):
            comparison.take_same(now.name, now)
        elif is_same:
            comparison.take(replace(now, shortfalls=shortfalls), now)
        else:
            comparison.take(_as_recorded(cycle, shortfalls), now)
        each_cycle(comparison.cycles)
    return comparison


def _as_recorded(cycle: RecordedCycle, shortfalls: Mapping[str, int] | None) -> Answer:
    given, output = cycle.given, cycle.output or CycleOutput((), _NOTHING, b"")
    decision = given.decide()
    # This engine decides as it was decided, and can say why.
    if output_digest(decision) == output.digest:
        return replace(answer_of(cycle.epoch, given, decision), shortfalls=shortfalls)
    if views_digest(output.actions) == output.digest:
        return recorded_answer(cycle.epoch, given, decision, output.actions, shortfalls)
    return Answer(cycle.epoch, given.cycle, None, shortfalls)


def _digest(cycle: RecordedCycle) -> bytes:
    return _NOTHING if cycle.output is None else cycle.output.digest


def views_digest(actions: Iterable[ActionView]) -> bytes:
    """As `output_digest`, of recorded actions: equal only where all of them were recorded."""
    digest = hashlib.sha256()
    for action in actions:
        document = {
            "cluster": action.cluster,
            "graceSeconds": action.grace_seconds,
            "kind": action.kind.label,
            "machine": action.machine,
            "need": None if action.need is None else action.need._asdict(),
            "preemptorPriority": action.preemptor_priority,
        }
        digest.update(line(document))
    return digest.digest()


def _shortfalls_after(
    cycle: RecordedCycle, following: RecordedCycle | None
) -> dict[str, int] | None:
    """What a cycle left short is part of the next one's input."""
    if following is None or following.epoch != cycle.epoch:
        return None
    if following.given.cycle != cycle.given.cycle + 1:
        return None
    return shortfalls_of(following.given.memory.shortfalls)


def _with_following(
    cycles: Iterable[RecordedCycle],
) -> Iterator[tuple[RecordedCycle, RecordedCycle | None]]:
    before: RecordedCycle | None = None
    for cycle in cycles:
        if before is not None:
            yield before, cycle
        before = cycle
    if before is not None:
        yield before, None
