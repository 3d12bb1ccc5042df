"""Findings: what was seen to thrash lately, told once each, and what is held because of it.

The same kind of thrash of one (cluster, profile) is one finding that counts how often it was seen,
of any machine; re-buys are told apart by offering too. Returns and re-buys hold the Reclaims and
Deletes of their (cluster, profile) for a while: a machine that stays a little longer costs little,
one that goes back and forth costs its users a drain each time. Nothing else is ever held: what a
Need lacks, it gets.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from bigfleet.model.durations import short_text
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import Reason
from bigfleet.model.thrash import ThrashFinding, ThrashKind, TraceAction
from bigfleet.thrash.detector import DEFAULTS, Detector, Sighting, ThrashLimits

#: Findings that are kept; the oldest are forgotten first.
MOST_FINDINGS = 500
#: What holds Reclaims and Deletes.
HOLDS = (ThrashKind.RETURN, ThrashKind.REBUY)


class _Subject(NamedTuple):
    """What makes two sightings one finding."""

    kind: ThrashKind
    cluster: str
    fingerprint: str
    offering: str = ""


class Findings:
    def __init__(self, window_seconds: float = 1800.0, hold_seconds: float = 600.0) -> None:
        self._window_seconds = window_seconds
        self._hold_seconds = hold_seconds
        #: The one that was seen last at the end.
        self._known: dict[_Subject, ThrashFinding] = {}
        self._next_number = 1
        #: (cluster, fingerprint) -> what holds it longest.
        self._held: dict[tuple[str, str], ThrashFinding] = {}
        #: Offering -> what holds its idle machines longest.
        self._held_offerings: dict[str, ThrashFinding] = {}

    def __len__(self) -> int:
        return len(self._known)

    def all(self) -> tuple[ThrashFinding, ...]:
        """By number."""
        return tuple(sorted(self._known.values(), key=lambda each: each.number))

    def add(self, seen: Sighting) -> ThrashFinding:
        self.expire(seen.at)
        subject = _subject_of(seen)
        known = self._known.pop(subject, None)
        held_until = None
        if seen.kind in HOLDS:
            held_until = seen.at + round(self._hold_seconds * SECOND)
        if known is None:
            finding = ThrashFinding(
                self._next_number,
                seen.kind,
                subject.cluster,
                subject.fingerprint,
                _name_of(seen),
                text=sentence_of(seen),
                first_at=seen.at,
                last_at=seen.at,
                held_until=held_until,
                witness=seen.witness,
            )
            self._next_number += 1
        else:
            times = known.times + 1
            finding = replace(known, last_at=seen.at, times=times, held_until=held_until)
        self._known[subject] = finding
        if held_until is not None:
            self._hold(finding, seen.last)
        while len(self._known) > MOST_FINDINGS:
            self._known.pop(next(iter(self._known)))
        return finding

    def expire(self, at: Instant) -> None:
        """Forget what was last seen before the window, and let go of what was held long enough."""
        while self._known:
            oldest = next(iter(self._known))
            if at - self._known[oldest].last_at <= self._window_seconds * SECOND:
                break
            del self._known[oldest]
        self._held = {pair: f for pair, f in self._held.items() if _holds(f, at)}
        self._held_offerings = {o: f for o, f in self._held_offerings.items() if _holds(f, at)}

    # -- the rail --------------------------------------------------------------------------------

    @property
    def holds_anything(self) -> bool:
        return bool(self._held)

    def may_hold(self, cluster: str) -> bool:
        """Whether something of a cluster is held; a quick answer before the exact one."""
        return any(pair[0] == cluster for pair in self._held)

    def why_held(self, cluster: str, fingerprint: str, offering: str, at: Instant) -> Reason | None:
        """Against the Reclaim or Delete of a machine that serves, or served last, a (cluster,
        profile). `offering`: of a machine that would be deleted, empty for a Reclaim.
        """
        finding = self._held.get((cluster, fingerprint)) or self._held_offerings.get(offering)
        if finding is None or finding.held_until is None or at >= finding.held_until:
            return None
        left = -(-(finding.held_until - at) // SECOND)
        facts = {"left": left, "finding": finding.text, "number": finding.number}
        return Reason("rail.thrash-hold", facts)

    def _hold(self, finding: ThrashFinding, last: TraceAction) -> None:
        self._held[(finding.cluster, finding.fingerprint)] = finding
        if finding.kind is ThrashKind.REBUY:
            self._held_offerings[last.offering] = finding


def findings_of(trace: Sequence[TraceAction], limits: ThrashLimits = DEFAULTS) -> list[Sighting]:
    """What a trace shows when it is replayed alone."""
    detector, found, leaving = Detector(limits), list[Sighting](), list[TraceAction]()
    for action in trace:
        for earlier in leaving:
            if earlier.done_at is not None and earlier.done_at <= action.at:
                detector.complete(earlier.machine, earlier.done_at)
        leaving = [each for each in leaving if each.done_at is None or each.done_at > action.at]
        # A detector finds out itself when an action is complete.
        found += detector.begin(replace(action, done_at=None))
        leaving.append(action)
    return found


def sentence_of(seen: Sighting) -> str:
    first, last = seen.witness[0], seen.last
    match seen.kind:
        case ThrashKind.RETURN:
            return f"{last.machine} left {last.cluster} and came back {_between(first, last)} later"
        case ThrashKind.PING_PONG:
            way = f"{first.cluster} -> {seen.witness[1].cluster} -> {last.cluster}"
            return f"{last.machine} went {way} within {_span(seen.witness)}"
        case ThrashKind.CHAIN:
            clusters = " -> ".join([*_preemptors(seen.witness), last.cluster])
            return f"{len(seen.witness)} preemptions caused each other: {clusters}"
        case ThrashKind.REBUY:
            kept = short_text(first.hold_seconds)
            return (
                f"{last.offering} was released and bought again {_between(first, last)} later;"
                f" idle machines of it are kept for {kept}"
            )
        case ThrashKind.REPEATED:
            return _repeated_sentence(seen)
        case _:
            return "machines went back and forth"


def _repeated_sentence(seen: Sighting) -> str:
    last = seen.last
    victims = [each for each in seen.witness[:-1] if each.preemptor == last.preemptor]
    taken = [each for each in seen.witness[:-1] if each.preemptor != last.preemptor]
    machines = "machine" if len(victims) == 1 else "machines"
    text = (
        f"{_need_name(last)} preempted {last.machine} although the {len(victims)} {machines} it"
        f" preempted before cover what it lacks"
    )
    if taken:
        text += f"; {taken[0].cluster} took {taken[0].machine} of these"
    return text


def _subject_of(seen: Sighting) -> _Subject:
    last = seen.last
    holder = last.preemptor or last.holder
    offering = last.offering if seen.kind is ThrashKind.REBUY else ""
    return _Subject(seen.kind, holder.cluster, holder.fingerprint, offering)


def _name_of(seen: Sighting) -> str:
    match seen.kind:
        case ThrashKind.REBUY:
            return f"offering/{seen.last.offering}"
        case ThrashKind.REPEATED | ThrashKind.CHAIN:
            return _need_name(seen.last)
        case _:
            return f"machine/{seen.last.machine}"


def _need_name(action: TraceAction) -> str:
    need = action.preemptor or action.holder
    return f"need/{need.cluster}/{need.need_id}"


def _preemptors(preempts: Iterable[TraceAction]) -> list[str]:
    return [each.preemptor.cluster for each in preempts if each.preemptor is not None]


def _between(first: TraceAction, last: TraceAction) -> str:
    """From when the first was complete to the beginning of the last."""
    began = first.done_at if first.done_at is not None else first.at
    return short_text(round((last.at - began) / SECOND))


def _span(trace: Sequence[TraceAction]) -> str:
    return short_text(round((trace[-1].at - trace[0].at) / SECOND))


def _holds(finding: ThrashFinding, at: Instant) -> bool:
    return finding.held_until is not None and at < finding.held_until
