"""Collects instructions, metrics and story events of all parts.

One collector is shared by all parts, so that instructions keep the order in which they were asked
for; `taken` hands them to the driver.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from bigfleet.edge.counts import Counts
from bigfleet.model.journal import JournalNote
from bigfleet.model.shard_views import StoryEvent
from bigfleet.shard.instructions import Instruction, Log, Persist, WakeCycle, WriteNote
from bigfleet.shard.journal_notes import SUBJECT_OF_EVENT, event_of

PER_MACHINE = 64
#: Machines with a story; the ones longest untouched are forgotten first.
MACHINES = 50_000


class Stories:
    """What happened to each machine, in order, bounded twice: per machine and in all."""

    def __init__(self, per_machine: int = PER_MACHINE, machines: int = MACHINES) -> None:
        self._per_machine = per_machine
        self._machines = machines
        #: Least recently touched first.
        self._events: OrderedDict[str, deque[StoryEvent]] = OrderedDict()
        #: Machines whose first events were forgotten.
        self._cut: set[str] = set()

    def tell(self, machine: str, event: StoryEvent) -> None:
        events = self._events.get(machine)
        if events is None:
            events = self._events[machine] = deque(maxlen=self._per_machine)
        else:
            self._events.move_to_end(machine)
        if len(events) == self._per_machine:
            self._cut.add(machine)
        events.append(event)
        while len(self._events) > self._machines:
            forgotten, _ = self._events.popitem(last=False)
            self._cut.discard(forgotten)

    def of(self, machine: str) -> Iterable[StoryEvent]:
        return tuple(self._events.get(machine, ()))

    def is_cut(self, machine: str) -> bool:
        return machine in self._cut


class Effects:
    def __init__(self) -> None:
        self.counts = Counts()
        self.stories = Stories()
        #: Of the last cycle that began.
        self.cycle = 0
        self._asked: list[Instruction] = []
        self._awake = False

    def ask(self, instruction: Instruction) -> None:
        """`driving/outlet.py` `Outlet.obey` carries it out, when the event at hand is handled."""
        self._asked.append(instruction)

    def wake(self) -> None:
        """Once is enough, however often it is asked."""
        if not self._awake:
            self._awake = True
            self._asked.append(WakeCycle())

    def log(self, level: str, event: str, text: str, **facts: Any) -> None:
        """The journal keeps those that `journal_notes` names."""
        self._asked.append(Log(level, event, text, facts))
        if event in SUBJECT_OF_EVENT:
            self.note(event_of(event, text, facts))

    def note(self, body: JournalNote) -> None:
        """For the journal; nothing waits for it, and no decision depends on it."""
        self._asked.append(WriteNote(self.cycle, body))

    def tell(self, event: StoryEvent) -> None:
        """A line of a machine's story."""
        self.stories.tell(event.machine, event)
        self.note(event)

    def persist(self, table: str, key: str, value: bytes | None) -> None:
        self._asked.append(Persist(table, key, value))

    def taken(self) -> list[Instruction]:
        asked, self._asked, self._awake = self._asked, [], False
        return asked


#: The rows of `state.db`, by table and key.
Stored = Mapping[str, Mapping[str, bytes]]


class KeptState(Protocol):
    """`state.db`, as the parts see it; `Effects.persist` writes it."""

    @property
    def rows(self) -> Stored:
        """What was kept of an earlier life."""
        ...

    @property
    def trouble(self) -> str:
        """Why it cannot be written; empty: it can."""
        ...


@dataclass(slots=True)
class KeptRows:
    """A KeptState without a file."""

    rows: Stored = field(default_factory=dict)
    trouble: str = ""


#: The tables of `state.db`.
DRAINS, RESERVATIONS, PAUSES, FAILURES, LOST, MARKS, COORDINATION, ADMIN, VERIFIER = (
    "drains",
    "reservations",
    "pauses",
    "failures",
    "lost",
    "marks",
    "coordination",
    "admin",
    "verifier",
)
