"""The substrate as one record: supply, work under way, faults, the agenda and the event log.

Only `step` changes it, and only in answer to an event that carries its time.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from types import MappingProxyType

from bigfleet.model.machines import CapacityType, Instant
from bigfleet.provider.sim.world.answers import AnswerFaults
from bigfleet.provider.sim.world.distributions import SECOND, Distribution, Draws, distribution_of
from bigfleet.provider.sim.world.events import Command, Failure, LoggedEvent, Step
from bigfleet.provider.sim.world.faults import Faults
from bigfleet.provider.sim.world.supply import SimPool, Slot, Supply

Key = tuple[str, ...]
_SLACK = 64


class Agenda:
    """What the substrate has still to do, in the order of time and then of name.

    A thing to do has a key, and one time: putting it again moves it. Ties are broken by key, never
    by the order of arrival, so two runs do the same things in the same order.
    """

    def __init__(self) -> None:
        #: All and only what is still to be done.
        self._at_of: dict[Key, Instant] = {}
        #: May hold outdated times of moved and dropped keys; they are skipped when they surface.
        self._heap: list[tuple[Instant, Key]] = []

    def __len__(self) -> int:
        return len(self._at_of)

    def put(self, at: Instant, *key: str) -> None:
        if self._at_of.get(key) == at:
            return
        self._at_of[key] = at
        heappush(self._heap, (at, key))
        if len(self._heap) > 2 * len(self._at_of) + _SLACK:
            self._heap = [(at, key) for key, at in self._at_of.items()]
            heapify(self._heap)

    def drop(self, *key: str) -> None:
        self._at_of.pop(key, None)

    def at(self, *key: str) -> Instant | None:
        return self._at_of.get(key)

    def next_at(self) -> Instant | None:
        while self._heap:
            at, key = self._heap[0]
            if self._at_of.get(key) == at:
                return at
            heappop(self._heap)
        return None

    def pop(self) -> Key:
        """The first key; the caller has seen that there is one by `next_at`."""
        _, key = heappop(self._heap)
        del self._at_of[key]
        return key


KEPT = 10_000
Sink = Callable[[str], None]


class EventLog:
    """Sealed instant by instant, ordered by subject within one, bounded in memory.

    A line is final once time has moved past it. Readers get final lines only, so a reader that
    comes back later never finds a new line before one it has seen.
    """

    def __init__(self, kept: int = KEPT, sink: Sink | None = None) -> None:
        self._sealed: deque[tuple[int, LoggedEvent]] = deque(maxlen=kept)
        self._open: list[LoggedEvent] = []
        self._sink = sink
        #: How many lines were ever sealed: the number of the last one.
        self.count = 0

    def add(self, notes: Iterable[LoggedEvent]) -> None:
        for note in notes:
            self.seal(note.at)
            self._open.append(note)

    def seal(self, now: Instant) -> None:
        """Closes the instants before `now`."""
        if not self._open or self._open[0].at >= now:
            return
        for note in sorted(self._open, key=lambda noted: noted.subject):
            self.count += 1
            self._sealed.append((self.count, note))
            if self._sink is not None:
                self._sink(note.line())
        self._open.clear()

    def after(self, number: int, limit: int) -> list[tuple[int, LoggedEvent]]:
        """The first `limit` lines after `number` that are still kept."""
        found = [entry for entry in self._sealed if entry[0] > number]
        return found[:limit]


DEFAULT_LATENCY: Mapping[str, Distribution] = MappingProxyType(
    {
        step: distribution_of(text)
        for step, text in {
            "create": "lognormal:30s,90s",
            "configure": "lognormal:5s,20s",
            "ready": "uniform:15s,40s",
            "drain": "uniform:1s,20s",
            "delete": "lognormal:5s,20s",
            "describe": "fixed:50ms",
        }.items()
    }
)
#: Metal is imaged, not launched.
BARE_METAL_CONFIGURE = distribution_of("lognormal:120s,300s")

_STATE_WHILE = {
    Step.CREATE: "creating",
    Step.CONFIGURE: "configuring",
    Step.READY: "configuring",
    Step.DRAIN: "draining",
    Step.DELETE: "deleting",
}


@dataclass(frozen=True, slots=True)
class Rules:
    """How this substrate behaves; the parts a verb can change are copied into the substrate."""

    seed: int = 1
    provider: str = "sim"
    start: Instant = 0
    latency: Mapping[str, Distribution] = field(default_factory=dict)
    #: Divides every latency.
    speed: float = 1.0
    #: The spot price drives the risk.
    couple: bool = False
    walk: bool = True
    interruptions: bool = True
    notice_nanos: int = 120 * SECOND
    stockout_rest_seconds: float = 60.0
    fault_selectors: bool = False


@dataclass(slots=True)
class RunningStep:
    """A step under way."""

    step: Step
    operation: str
    machine: str
    cluster: str = ""
    #: Decided when it began; None: it will succeed.
    failure: Failure | None = None
    text: str = ""
    after_seconds: float | None = None
    #: A create that counts against stock and quota before its host exists.
    reserves: bool = False
    #: Its time has come, but a hold keeps it.
    parked: bool = False


@dataclass(slots=True)
class Substrate:
    rules: Rules
    draws: Draws
    supply: Supply
    #: Never runs backwards.
    now: Instant
    agenda: Agenda = field(default_factory=Agenda)
    faults: Faults = field(default_factory=Faults)
    answers: AnswerFaults = field(default_factory=AnswerFaults)
    latency: dict[str, Distribution] = field(default_factory=dict)
    walking: bool = True
    #: (step, operation) -> what is under way; parked work too.
    work: dict[tuple[Step, str], RunningStep] = field(default_factory=dict)
    #: Machine -> its work, the same records as above.
    work_of: dict[str, RunningStep] = field(default_factory=dict)
    #: Admitted creates that have not begun, with the time of their admission.
    admitted: dict[str, Instant] = field(default_factory=dict)
    #: (purpose, subject) -> how often it was drawn.
    occurrences: dict[tuple[str, str], int] = field(default_factory=dict)
    #: Scripted verbs by their number on the agenda.
    script: dict[str, Command] = field(default_factory=dict)
    #: How the next describes are wrong: shares of the inventory they show.
    describe_shares: list[float] = field(default_factory=list)
    #: What happened since the driver last looked.
    notes: list[LoggedEvent] = field(default_factory=list)

    def count(self, pool: SimPool, change: int) -> None:
        """Hosts of a pool that exist or are being made."""
        self.supply.count(pool, change, self.now)

    def billed(self, pool: SimPool) -> float:
        """Dollars until now."""
        pool.bill.settle(self.now, pool.hosts, pool.price)
        return pool.bill.dollars

    def age(self) -> int:
        return self.now - self.rules.start

    def note(self, subject: str, event: str, **facts: object) -> None:
        self.notes.append(LoggedEvent(self.now, subject, event, facts))

    def take_notes(self) -> list[LoggedEvent]:
        taken, self.notes = self.notes, []
        return taken

    def occurrence(self, purpose: str, subject: str) -> int:
        """How many times this was drawn before; counts this one."""
        number = self.occurrences.get((purpose, subject), 0)
        self.occurrences[purpose, subject] = number + 1
        return number

    def state_of(self, slot: Slot) -> str:
        """The state a server would show, as far as the substrate can know."""
        work = self.work_of.get(slot.id)
        if work is not None:
            return _STATE_WHILE[work.step]
        if slot.host is None:
            return "speculative"
        if slot.host.broken:
            return "failed"
        return "configured" if slot.host.cluster else "idle"

    def latency_nanos(self, slot: Slot, step: str, occurrence: int) -> int:
        offering = slot.pool.offering
        distribution = offering.latency.get(step) or self.latency[step]
        default = distribution is DEFAULT_LATENCY.get(step)
        if default and step == "configure" and offering.capacity_type is CapacityType.BARE_METAL:
            distribution = BARE_METAL_CONFIGURE
        drawn = distribution.nanos(self.draws, f"latency/{step}", slot.id, occurrence)
        return round(drawn / self.rules.speed)
