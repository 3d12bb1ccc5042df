"""From cycles to records: a key frame, then what changed, then a key frame again.

Pure: cycles and events go in, bytes of records come out; another writes them. What is lost between
two cycles it is given costs those cycles and nothing else, because a change is told relative to the
last cycle that was recorded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.encoding import machine_at, table_of
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.needs_table import table_of as need_table_of
from bigfleet.journal.digests import (
    UNCLAIMED,
    claimed_digest,
    claims_of,
    input_digest,
    output_digest,
)
from bigfleet.journal.inputs import (
    changed_clusters,
    changed_machines,
    rows_before,
    same_tables,
    unexpected_ages,
)
from bigfleet.model.journal import (
    FAILED,
    GAP,
    CycleOutput,
    InputChange,
    JournalBody,
    JournalEvent,
    JournalHeader,
    JournalNote,
    JournalRecord,
    Keyframe,
    NeedTable,
    TickRun,
)
from bigfleet.model.machines import Instant
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import EngineOptions
from bigfleet.model.pauses import Pause
from bigfleet.model.shard_views import ActionView
from bigfleet.wire.journal_records import notes_bytes, record_bytes

#: From one key frame to the next at the latest.
KEYFRAME_CYCLES = 600


@dataclass(frozen=True, slots=True)
class FinishedCycle:
    given: EngineInput
    decision: Decision
    #: With what became of them; those that were not looked at one by one are left out.
    actions: Iterable[ActionView] = ()
    nanos_of_phase: Mapping[str, int] = field(default_factory=dict)
    #: In force when its actions were looked at.
    pauses: tuple[Pause, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedCycle:
    """One that decided nothing: the engine raised, or took too long."""

    given: EngineInput
    why: str


@dataclass(frozen=True, slots=True)
class Note:
    #: The last that had begun.
    cycle: int
    at: Instant
    body: JournalNote


class Recorder:
    def __init__(self, shard_id: str, epoch: int, version: str) -> None:
        self._shard_id = shard_id
        self._epoch = epoch
        self._version = version
        self._seq = 0
        #: What was recorded last: its input, the digest of it, its claims.
        self._last: EngineInput | None = None
        self._digest = b""
        self._claims: Int64s = np.zeros(0, np.int64)
        self._pauses: tuple[Pause, ...] = ()
        self._keyframe_cycle = 0
        self._keyframe_bytes = 0
        #: Of changes since the key frame.
        self._change_bytes = 0
        #: Cycles that are not recorded yet, and the time of the one before them.
        self._quiet: list[tuple[int, Instant]] = []
        self._before_quiet: Instant = 0

    @property
    def quiet_cycles(self) -> list[int]:
        """Those that are told with the next record."""
        return [cycle for cycle, _ in self._quiet]

    def record(self, cycle: FinishedCycle, *, new_segment: bool = False) -> list[bytes]:
        """The records of one cycle; quiet ones are told together with those after them."""
        given, last = cycle.given, self._last
        if last is not None and not same_tables(last, given):
            last = None
        change = _change(last, given)
        digest = input_digest(b"" if last is None else self._digest, change)
        paused = cycle.pauses if cycle.pauses != self._pauses else None
        change = replace(change, digest=digest, pauses=paused)
        claims = claims_of(cycle.decision)
        keyframe = last is None or new_segment or self._keyframe_due(given.cycle)
        records: list[bytes] = []
        if keyframe or cycle.decision.action_count or not self._is_quiet(change, claims, given):
            records = [*self.flush(), *self._records(cycle, change, claims, keyframe=keyframe)]
        else:
            self._quiet.append((given.cycle, given.at))
        self._last, self._digest, self._claims = given, digest, claims
        self._pauses = cycle.pauses
        return records

    def flush(self) -> list[bytes]:
        """The record of the quiet cycles so far, if there are any."""
        if not self._quiet:
            return []
        quiet, self._quiet = self._quiet, []
        times = [self._before_quiet, *(now for _, now in quiet)]
        steps = tuple(after - before for before, after in pairwise(times))
        self._before_quiet = times[-1]
        run = TickRun(quiet[0][0], quiet[-1][0], times[-1], steps)
        return [self.event(run, quiet[-1][0], times[-1])]

    def event(self, body: JournalBody, cycle: int, at: Instant) -> bytes:
        self._seq += 1
        return record_bytes(JournalRecord(self._seq, cycle, at, body))

    def gap(self, first_cycle: int, cycles: int, at: Instant, why: str) -> bytes:
        """Cycles that happened and are not in the journal."""
        text = f"{cycles} cycles from {first_cycle} on are not recorded: {why}"
        facts = {"cycles": str(cycles), "firstCycle": str(first_cycle)}
        return self.event(JournalEvent(GAP, self._shard_id, text, facts), first_cycle, at)

    def notes(self, notes: Sequence[Note]) -> bytes:
        """Of at least one. Raises ValueError where one of them cannot be written."""
        first, self._seq = self._seq + 1, self._seq + len(notes)
        return notes_bytes(
            [
                JournalRecord(seq, each.cycle, each.at, each.body)
                for seq, each in enumerate(notes, first)
            ]
        )

    def failure(self, failed: FailedCycle) -> list[bytes]:
        """The whole input of a cycle that decided nothing, as a file of its own begins and ends."""
        given, alone = failed.given, Recorder(self._shard_id, self._epoch, self._version)
        event = JournalEvent(FAILED, self._shard_id, failed.why)
        return [*alone._whole_input(given), alone.event(event, given.cycle, given.at)]

    def input_alone(self, given: EngineInput) -> list[bytes]:
        """What a cycle was decided on, without what was decided: that costs a fifth of a key frame
        more, and a process that decides it again does not read it."""
        alone = Recorder(self._shard_id, self._epoch, self._version)
        nothing_told = CycleOutput((), b"", b"")
        return [*alone._whole_input(given), alone.event(nothing_told, given.cycle, given.at)]

    def lost_notes(self, count: int, cycle: int, at: Instant, why: str) -> bytes:
        """Notes that were made and are not in the journal; every decision is."""
        text = f"{count} notes of what happened beside the cycles are not recorded: {why}"
        lost = JournalEvent(GAP, self._shard_id, text, {"notes": str(count)})
        return self.event(lost, cycle, at)

    # -- within ------------------------------------------------------------------------------------

    def _whole_input(self, given: EngineInput) -> list[bytes]:
        whole = _whole(given, input_digest(b"", InputChange(given.at)))
        frame = Keyframe(whole, table_of(given.snapshot))
        return [self._header(given), self.event(frame, given.cycle, given.at)]

    def _keyframe_due(self, cycle: int) -> bool:
        if cycle - self._keyframe_cycle >= KEYFRAME_CYCLES:
            return True
        return self._change_bytes > self._keyframe_bytes // 2

    def _is_quiet(self, change: InputChange, claims: Int64s, given: EngineInput) -> bool:
        last = self._last
        assert last is not None
        nothing = replace(change, now=0, digest=b"") == InputChange(0)
        following = given.cycle == last.cycle + 1
        return (
            following
            and nothing
            and _settings(last.options) == _settings(given.options)
            and (np.array_equal(claims, self._claims))
        )

    def _records(
        self, cycle: FinishedCycle, change: InputChange, claims: Int64s, *, keyframe: bool
    ) -> list[bytes]:
        given, last, records = cycle.given, self._last, []
        if keyframe or last is None or _settings(last.options) != _settings(given.options):
            records.append(self._header(given))
        if keyframe:
            state = replace(_whole(given, change.digest), pauses=cycle.pauses)
            whole = Keyframe(state, table_of(given.snapshot))
            records.append(self.event(whole, given.cycle, given.at))
            self._keyframe_cycle, self._keyframe_bytes = given.cycle, len(records[-1])
            self._change_bytes = 0
        else:
            records.append(self.event(change, given.cycle, given.at))
            self._change_bytes += len(records[-1])
        changed = claimed_rows(claims) if keyframe else self._changed_claims(given, claims)
        output = CycleOutput(
            tuple(cycle.actions),
            output_digest(cycle.decision),
            claimed_digest(cycle.decision, changed),
            cycle.nanos_of_phase,
        )
        records.append(self.event(output, given.cycle, given.at))
        self._before_quiet = given.at
        return records

    def _changed_claims(self, given: EngineInput, claims: Int64s) -> Int64s:
        assert self._last is not None
        return changed_claims(self._last.snapshot.ids, self._claims, given.snapshot.ids, claims)

    def _header(self, given: EngineInput) -> bytes:
        header = JournalHeader(
            self._shard_id, self._epoch, self._version, given.options, given.at, given.cycle
        )
        return self.event(header, given.cycle, given.at)


def claimed_rows(claims: Int64s) -> Int64s:
    return np.flatnonzero(claims != UNCLAIMED)


def changed_claims(ids_before: list[str], before: Int64s, ids: list[str], claims: Int64s) -> Int64s:
    """Rows of machines that another Need claims than before, or one where none did."""
    place, _ = rows_before(ids_before, ids)
    known = place >= 0
    changed = ~known
    changed[known] = before[place[known]] != claims[known]
    return np.flatnonzero(changed)


def _settings(options: EngineOptions) -> EngineOptions:
    """Without what is part of every input, and without what decides nothing."""
    reported = None if options.clusters_ready is None else frozenset[str]()
    default = EngineOptions()
    return replace(
        options,
        clusters_ready=reported,
        workers=default.workers,
        smallest_share=default.smallest_share,
        most_conflicts=default.most_conflicts,
    )


def _change(last: EngineInput | None, given: EngineInput) -> InputChange:
    """With the machines as records: only few have changed. Nothing is told of a first input."""
    if last is None:
        return InputChange(given.at)
    machines = changed_machines(last.snapshot, given.snapshot)
    held, held_before = given.memory.reservations, last.memory.reservations
    cycles = given.cycle - last.cycle
    reported = given.options.clusters_ready
    return InputChange(
        now=given.at,
        machines=tuple(machine_at(given.snapshot, row) for row in machines.rows.tolist()),
        removed=machines.removed,
        needs=_needs_of(given, changed_clusters(last.needs, given.needs)),
        reservations=tuple(
            each for machine, each in sorted(held.items()) if held_before.get(machine) != each
        ),
        unreserved=tuple(sorted(held_before.keys() - held.keys())),
        parking=unexpected_ages(last.memory.parking, given.memory.parking, cycles),
        shortfall_ages=unexpected_ages(_ages(last.memory), _ages(given.memory), cycles),
        reported=None if reported == last.options.clusters_ready else reported,
    )


def _whole(given: EngineInput, digest: bytes) -> InputChange:
    """The whole input but for its machines, which are written from their columns."""
    memory = given.memory
    return InputChange(
        now=given.at,
        needs=_needs_of(given, sorted(given.needs.blocks)),
        reservations=tuple(each for _, each in sorted(memory.reservations.items())),
        parking=memory.parking,
        shortfall_ages=_ages(memory),
        reported=given.options.clusters_ready,
        digest=digest,
    )


def _needs_of(given: EngineInput, clusters: list[str]) -> NeedTable | None:
    return need_table_of(given.needs, clusters) if clusters else None


def _ages(memory: EngineMemory) -> dict[NeedKey, int]:
    return {key: shortfall.age for key, shortfall in memory.shortfalls.items()}
