"""What went back and forth in recorded cycles: the detector of a live shard, told from a journal.

A journal does not know whose List a machine came from: of every offering the provider is `*`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bigfleet.engine.decision import Decision
from bigfleet.engine.deficits import deficit_of, short_among
from bigfleet.engine.encoding import machine_at
from bigfleet.engine.engine_input import EngineInput
from bigfleet.journal.history import LATEST, RecordedCycle
from bigfleet.journal.inputs import rows_before
from bigfleet.journal.segments import Segment, records_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.journal import JournalHeader
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.model.thrash import ThrashFinding
from bigfleet.thrash.detector import DEFAULTS, Detector, ThrashLimits
from bigfleet.thrash.findings import Findings
from bigfleet.thrash.tracing import tell_change, traced

ANY_PROVIDER = "*"


@dataclass(frozen=True, slots=True)
class ThrashUntil:
    """What a shard would have shown in a cycle."""

    epoch: int
    cycle: int
    at: Instant
    findings: tuple[ThrashFinding, ...]

    @property
    def name(self) -> str:
        return f"{self.epoch}:{self.cycle}"


class RecordedThrash:
    """Reads the cycles of one epoch, oldest first: a shard that starts anew remembers nothing."""

    def __init__(self, limits: ThrashLimits = DEFAULTS) -> None:
        self._detector = Detector(limits)
        self._findings = Findings(limits.window_seconds)
        #: States of machines that are leaving, as the cycle before saw them.
        self._states: dict[str, MachineState] = {}
        self._ids: Sequence[str] = []

    def read(self, cycle: RecordedCycle) -> None:
        if cycle.output is None:
            # Nothing changed and nothing was decided.
            return
        given = cycle.given
        self._tell_changes(given)
        begun = [a for a in cycle.output.actions if a.disposition is Disposition.ENQUEUED]
        victims = {action.machine for action in begun if action.kind is ActionKind.PREEMPT}
        decision = given.decide(workers=1) if victims or self._detector.waiting() else None
        preempts = _preempts(decision, victims) if decision is not None else {}
        for action in begun:
            self._begin(action, given, *preempts.get(action.machine, (Resources(), "")))
        if decision is not None and (waiting := self._detector.waiting()):
            for need in set(waiting) - short_among(decision.outcome, waiting):
                self._detector.settle(need)
        self._states = {
            machine: MachineState(int(given.snapshot.columns.state[row]))
            for machine in self._detector.leaving()
            if (row := given.snapshot.row_of(machine)) >= 0
        }

    def findings(self, at: Instant) -> tuple[ThrashFinding, ...]:
        self._findings.expire(at)
        return self._findings.all()

    def _tell_changes(self, given: EngineInput) -> None:
        snapshot, before = given.snapshot, self._ids
        self._ids = snapshot.ids
        for place in rows_before(before, snapshot.ids)[1]:
            self._detector.forget(before[place])
        for machine, was in self._states.items():
            row = snapshot.row_of(machine)
            if row >= 0:
                now = MachineState(int(snapshot.columns.state[row]))
                tell_change(self._detector, machine, was, now, given.at)

    def _begin(self, view: ActionView, given: EngineInput, deficit: Resources, domain: str) -> None:
        row = given.snapshot.row_of(view.machine)
        if row < 0:
            return
        told = traced(
            view,
            machine_at(given.snapshot, row).machine,
            ANY_PROVIDER,
            given.options,
            self._detector.served_last(view.machine),
            deficit,
            domain,
        )
        for seen in self._detector.begin(told):
            self._findings.add(seen)


def thrash_until(
    cycles: Iterable[RecordedCycle],
    at: tuple[int, int] = LATEST,
    limits: ThrashLimits = DEFAULTS,
) -> ThrashUntil | None:
    """Of a cycle (epoch and number), or the latest one; None: it is not recorded."""
    read, last = RecordedThrash(limits), None
    for cycle in cycles:
        name = cycle.epoch, cycle.given.cycle
        if name > at:
            break
        if last is not None and cycle.epoch != last.epoch:
            read = RecordedThrash(limits)
        read.read(cycle)
        last = cycle
    if last is None or (at != LATEST and (last.epoch, last.given.cycle) != at):
        return None
    given = last.given
    return ThrashUntil(last.epoch, given.cycle, given.at, read.findings(given.at))


def first_needed(
    segments: Sequence[Segment], at: tuple[int, int], limits: ThrashLimits = DEFAULTS
) -> tuple[int, int]:
    """The cycle to read from: early enough for all that a cycle's findings can depend on.

    Raises UnreadableJournal.
    """
    until = [each for each in segments if (each.epoch, each.first_cycle) <= at]
    own = [each for each in until if each.epoch == until[-1].epoch]
    begins: Instant | None = None
    for segment in reversed(own):
        began = _began(segment)
        # A finding may have been seen a window ago, of what was done a window before.
        begins = began - round(2 * limits.window_seconds * SECOND) if begins is None else begins
        if began <= begins:
            return segment.epoch, segment.first_cycle
    return (own[0].epoch, own[0].first_cycle) if own else (0, 0)


def _began(segment: Segment) -> Instant:
    header = next(iter(records_of(segment.path, last=True)), None)
    known = header is not None and isinstance(header.body, JournalHeader)
    return header.at if header is not None and known else 0


def _preempts(decision: Decision, victims: Collection[str]) -> dict[str, tuple[Resources, str]]:
    """By victim, what the Need lacks that preempts it, and the domain it has chosen. An engine that
    decides otherwise than the one that recorded the cycle does not know all of them."""
    if not victims:
        return {}
    return {
        action.machine: (
            deficit_of(decision.outcome, action.need),
            decision.domain(action.need) or "",
        )
        for action in decision.actions
        if action.kind is ActionKind.PREEMPT
        and action.need is not None
        and action.machine in victims
    }
