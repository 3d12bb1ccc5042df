"""Back from records to the inputs of cycles: a key frame, then change after change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.digests import input_digest
from bigfleet.journal.inputs import ages_after
from bigfleet.journal.segments import Segment, records_in_order
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.journal import (
    CycleOutput,
    InputChange,
    JournalEvent,
    JournalHeader,
    JournalRecord,
    Keyframe,
    TickRun,
)
from bigfleet.model.machine_answers import CycleInputs
from bigfleet.model.machines import Instant
from bigfleet.model.memory import EngineMemory, Shortfall
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import EngineOptions
from bigfleet.model.pauses import Pause
from bigfleet.model.resources import Resources

#: What becomes of an amount the engine computes anew anyway.
_NO_AMOUNT = Resources()


class BrokenJournal(Exception):
    """A sentence that names the cycle."""


@dataclass(frozen=True, slots=True)
class RecordedCycle:
    given: EngineInput
    #: None: a quiet cycle, which decided nothing.
    output: CycleOutput | None
    #: Whether the claims of this cycle are told whole.
    keyframe: bool
    epoch: int
    #: In force when its actions were looked at.
    pauses: tuple[Pause, ...] = ()
    #: Why it decided nothing: the engine raised, or took too long; empty: it decided.
    failure: str = ""
    inputs: CycleInputs | None = None


class _State:
    """The engine's input, brought from cycle to cycle."""

    def __init__(self) -> None:
        self._inventory = Inventory()
        self._needs = NeedsTable()
        self._memory = EngineMemory()
        self._reported: frozenset[str] = frozenset()
        self.options = EngineOptions()
        self.pauses: tuple[Pause, ...] = ()
        self.digest = b""
        self.inputs = CycleInputs(b"")
        self.cycle = 0
        self.now: Instant = 0

    def replace_by(self, frame: Keyframe, cycle: int) -> None:
        self._inventory, self._needs = Inventory.of_table(frame.machines), NeedsTable()
        self._memory, self._reported = EngineMemory(), frozenset()
        self.pauses = ()
        self._take(frame.state, cycle, 0)
        self.inputs = replace(self.inputs, keyframe=True, machines=len(frame.machines.ids))

    def apply(self, change: InputChange, cycle: int) -> None:
        """Raises ValueError where the change does not fit what was recorded before it."""
        digest = input_digest(self.digest, replace(change, digest=b""))
        if digest != change.digest:
            raise ValueError("its digest differs from that of what it says")
        self._take(change, cycle, cycle - self.cycle)

    def tick(self, cycle: int, now: Instant) -> None:
        self._age({}, {}, 1)
        self.digest = input_digest(self.digest, InputChange(now))
        self.inputs = CycleInputs(self.digest)
        self.cycle, self.now = cycle, now

    def input(self) -> EngineInput:
        options = self.options
        if options.clusters_ready is not None:
            options = replace(options, clusters_ready=self._reported)
        snapshot, needs = self._inventory.snapshot(), self._needs.freeze()
        return EngineInput(self.cycle, self.now, snapshot, needs, self._memory, options)

    def _take(self, change: InputChange, cycle: int, cycles: int) -> None:
        if change.removed:
            self._inventory.remove_all(change.removed)
        for entry in change.machines:
            self._put(entry)
        if change.needs is not None:
            self._needs.replace_all(change.needs)
        held = {
            machine: each
            for machine, each in self._memory.reservations.items()
            if machine not in change.unreserved
        }
        held.update({each.machine: each for each in change.reservations})
        self._memory = replace(self._memory, reservations=held)
        self._age(change.parking, change.shortfall_ages, cycles)
        if change.reported is not None:
            self._reported = change.reported
        if change.pauses is not None:
            self.pauses = change.pauses
        self.digest, self.cycle, self.now = change.digest, cycle, change.now
        self.inputs = CycleInputs(
            change.digest,
            machines=len(change.machines),
            removed_machines=len(change.removed),
            clusters=0 if change.needs is None else len(change.needs.clusters),
            reservations=len(change.reservations) + len(change.unreserved),
        )

    def _put(self, entry: FleetMachine) -> None:
        machine = entry.machine
        if machine.id in self._inventory:
            self._inventory.apply(machine, adopted=True)
            self._inventory.mark(machine.id, entry.marks)
        else:
            self._inventory.insert(machine, entry.marks)

    def _age(
        self, parking: Mapping[NeedKey, int], shortfalls: Mapping[NeedKey, int], cycles: int
    ) -> None:
        memory = self._memory
        short = {key: each.age for key, each in memory.shortfalls.items()}
        short = ages_after(short, shortfalls, cycles)
        self._memory = replace(
            memory,
            parking=ages_after(memory.parking, parking, cycles),
            shortfalls={key: Shortfall(_NO_AMOUNT, age) for key, age in short.items()},
        )


class History:
    """Reads records in their order; what lies before the first key frame is passed over.

    Cycles before `first` (epoch and number) are read and not yielded: making an input of each would
    cost more than reading them.
    """

    def __init__(self, first: tuple[int, int] = (0, 0)) -> None:
        self._first = first
        self._state: _State | None = None
        self._header: JournalHeader | None = None
        self._pending: tuple[EngineInput | None, bool] | None = None
        self.gaps: list[JournalEvent] = []

    @property
    def header(self) -> JournalHeader:
        """Of the cycle read last."""
        if self._header is None:
            raise BrokenJournal("no header was read yet")
        return self._header

    def cycles(self, records: Iterable[JournalRecord]) -> Iterator[RecordedCycle]:
        """Raises BrokenJournal where a record does not fit those before it."""
        for record in records:
            try:
                yield from self._read(record)
            except ValueError as problem:
                where = f"cycle {record.cycle}, record {record.seq}"
                raise BrokenJournal(f"{where}: {problem}") from problem

    def _read(self, record: JournalRecord) -> Iterator[RecordedCycle]:
        match record.body:
            case JournalHeader() as header:
                if self._header is not None and self._header.shard_id != header.shard_id:
                    two = f"{self._header.shard_id} before it and {header.shard_id} from here on"
                    text = f"it is of two shards, {two}: keep each in a directory of its own"
                    raise ValueError(text)
                self._header = header
                if self._state is not None:
                    self._state.options = header.options
            case Keyframe() as frame:
                if self._header is None:
                    raise ValueError("a key frame without a header before it")
                self._state = self._state or _State()
                self._state.options = self._header.options
                self._state.replace_by(frame, record.cycle)
                self._pending = self._input(self._state), True
            case InputChange() as change:
                if self._state is not None:
                    self._state.apply(change, record.cycle)
                    self._pending = self._input(self._state), False
            case CycleOutput() as output:
                if self._pending is not None and self._header and self._state:
                    given, keyframe = self._pending
                    self._pending = None
                    if given is not None:
                        state = self._state
                        epoch, pauses, inputs = self._header.epoch, state.pauses, state.inputs
                        yield RecordedCycle(given, output, keyframe, epoch, pauses, inputs=inputs)
            case TickRun() as run:
                yield from self._run(run)
            case JournalEvent(kind="gap") as gap:
                if "cycles" in gap.attributes:
                    self.gaps.append(gap)
            case JournalEvent(kind="cycle_failed", text=why):
                yield from self._failed(why, record.cycle)
            case _:
                # Notes: no decision depends on them.
                pass

    def _failed(self, why: str, cycle: int) -> Iterator[RecordedCycle]:
        """Its input stands alone before it; the event of a journal has none."""
        if self._pending is None or self._header is None or self._state is None:
            return
        (given, _), self._pending = self._pending, None
        if given is not None and given.cycle == cycle:
            epoch, pauses = self._header.epoch, self._state.pauses
            yield RecordedCycle(given, None, True, epoch, pauses, why, self._state.inputs)

    def _run(self, run: TickRun) -> Iterator[RecordedCycle]:
        state, header = self._state, self._header
        if state is None or header is None:
            return
        if run.last_cycle - run.first_cycle + 1 != len(run.steps):
            raise ValueError("a run of quiet cycles has as many steps as cycles")
        now = state.now
        for cycle, step in enumerate(run.steps, run.first_cycle):
            now += step
            state.tick(cycle, now)
            if (given := self._input(state)) is not None:
                yield RecordedCycle(
                    given, None, False, header.epoch, state.pauses, inputs=state.inputs
                )

    def _input(self, state: _State) -> EngineInput | None:
        is_wanted = (self.header.epoch, state.cycle) >= self._first
        return state.input() if is_wanted else None


#: Later than every cycle of its epoch.
_NEWEST = 2**63
#: Later than every cycle.
LATEST = (_NEWEST, _NEWEST)


@dataclass(frozen=True, slots=True)
class FoundCycle:
    recorded: RecordedCycle
    #: In force at that cycle.
    header: JournalHeader

    @property
    def name(self) -> str:
        return f"{self.recorded.epoch}:{self.recorded.given.cycle}"


def cycle_at(segments: Sequence[Segment], at: tuple[int, int] = LATEST) -> FoundCycle | None:
    """One cycle (epoch and number), or the latest one; None: it is not recorded.

    Raises UnreadableJournal and BrokenJournal.
    """
    wanted = at if at != LATEST else (segments[-1].epoch, _NEWEST)
    history, found = History(at if at != LATEST else (0, 0)), None
    for cycle in history.cycles(records_in_order(segments, wanted)):
        name = cycle.epoch, cycle.given.cycle
        if at == LATEST:
            found = FoundCycle(cycle, history.header)
        elif name >= at:
            return FoundCycle(cycle, history.header) if name == at else None
    return found
