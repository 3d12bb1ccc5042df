"""What the reconciler keeps of one provider between two Lists: breaker, absences and the rest."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bigfleet.model.machines import Instant, Machine
from bigfleet.model.options import SECOND
from bigfleet.shard.reconciling.list_guard import ListGuard
from bigfleet.shard.reconciling.list_reading import LastList
from bigfleet.shard.reconciling.list_schedule import Schedule
from bigfleet.shard.reconciling.rebind_guard import RebindGuard
from bigfleet.shard.settings import ReconcileSettings
from bigfleet.wire.machine_batches import KnownMachines

SUCCESSES_TO_CLOSE = 2


class ProviderBreaker:
    """Calls are spared a line that is down.

    It opens after some failures in a row within some time, and closes on two successes in a row.
    Lists go on while it is open, at a slower pace, since they are how it closes.
    """

    def __init__(self) -> None:
        self._open = False
        #: When it opened; None while it is closed.
        self.opened_at: Instant | None = None
        #: Of the failures in a row, the latest ones.
        self._failures: deque[Instant] = deque()
        self._successes = 0

    @property
    def open(self) -> bool:
        return self._open

    def failed(self, at: Instant, settings: ReconcileSettings) -> bool:
        """Whether this one opened it."""
        self._successes = 0
        self._failures.append(at)
        while len(self._failures) > settings.breaker_failures:
            self._failures.popleft()
        if self._open or len(self._failures) < settings.breaker_failures:
            return False
        self._open = at - self._failures[0] <= settings.breaker_window * SECOND
        self.opened_at = at if self._open else None
        return self._open

    def succeeded(self) -> bool:
        """Whether this one closed it."""
        self._failures.clear()
        if not self._open:
            return False
        self._successes += 1
        self._open = self._successes < SUCCESSES_TO_CLOSE
        if not self._open:
            self._successes, self.opened_at = 0, None
        return not self._open


class Absences:
    """Machines a provider's whole Lists do not name, and for how many Lists in a row.

    One List without a machine makes it unseen: no part may take it, drain it or delete it. Only
    `absent_lists` of them in a row, each of them believed, make it gone.
    """

    def __init__(self) -> None:
        #: Believed whole Lists in a row without the machine; 0: missing, but no List was believed.
        self._lists: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._lists)

    def __contains__(self, machine_id: object) -> bool:
        return machine_id in self._lists

    def ids(self) -> Collection[str]:
        return self._lists.keys()

    def lists(self, machine_id: str) -> int:
        """At least 1 for an unseen machine."""
        missed = self._lists.get(machine_id)
        return 0 if missed is None else max(1, missed)

    def missed(self, machine_ids: Iterable[str]) -> None:
        for machine_id in machine_ids:
            self._lists.setdefault(machine_id, 0)

    def seen(self, machine_ids: Iterable[str]) -> list[str]:
        """Which of them were absent."""
        return [name for name in machine_ids if self._lists.pop(name, None) is not None]

    def believe(self) -> None:
        """The last whole List counts."""
        for machine_id in self._lists:
            self._lists[machine_id] += 1

    def doubt(self) -> None:
        """It does not, and breaks the row."""
        for machine_id in self._lists:
            self._lists[machine_id] = 0

    def gone(self, absent_lists: int) -> list[str]:
        return [name for name, missed in self._lists.items() if missed >= absent_lists]


@dataclass(slots=True)
class ProviderSide:
    name: str
    guard: ListGuard
    rebinds: RebindGuard
    #: Of its machines that are listed without these labels.
    label_defaults: Mapping[str, str] = field(default_factory=dict)
    schedule: Schedule = field(default_factory=Schedule)
    breaker: ProviderBreaker = field(default_factory=ProviderBreaker)
    absences: Absences = field(default_factory=Absences)
    #: Every id the last Lists named, owned or not; with the absent ones, all machines we have.
    known: KnownMachines = field(default_factory=KnownMachines.none)
    #: Changed by the shard since the last List: the next one is looked at even if it says the same.
    touched: set[str] = field(default_factory=set)
    #: Machines as listed that could not be taken over yet.
    postponed: dict[str, Machine] = field(default_factory=dict)
    #: Failed machines as they were last listed; their keeper is told of them with every whole List.
    failed: dict[str, Machine] = field(default_factory=dict)
    #: Those of them the List that is being taken over names.
    failed_now: set[str] = field(default_factory=set)
    unowned: set[str] = field(default_factory=set)
    #: Ids another provider brought first.
    foreign: set[str] = field(default_factory=set)
    #: Grows when machines may have become ours: Lists that were asked for before do not count.
    generation: int = 0
    #: That of the last whole List that was taken over to its end; -1: none was.
    listed_generation: int = -1
    #: What is left of a look at who owns what; it goes before the rest of a List.
    sweep: Iterator[None] | None = None
    #: What is left of the last List.
    rest: Iterator[None] | None = None
    #: A List was taken over to its end; later ones may be half-way at any time.
    was_taken_over: bool = False
    last_list_at: Instant | None = None
    last_error: str = ""
    #: Why it refused the last change: it cannot write its state. Its Lists may be sound meanwhile.
    unwritable: str = ""

    def remembered(self) -> LastList:
        touched = frozenset(self.touched)
        return LastList(self.known, touched, self.generation, self.label_defaults)

    @property
    def holds(self) -> int:
        """Lists in a row that are held, for any reason."""
        return max(self.guard.consecutive, self.rebinds.consecutive)

    def forget(self, machine_id: str) -> None:
        """The machine is gone, or another shard's."""
        self.postponed.pop(machine_id, None)
        self.failed.pop(machine_id, None)
        self.absences.seen((machine_id,))

    def may_gain(self, generation: int, machines: frozenset[str] | None) -> None:
        """What was another shard's is looked at again, in a whole List: others need not name it.

        `machines`: these alone; None: all of it.
        """
        self.touched |= self.unowned if machines is None else machines
        self.generation = generation
        self.schedule.start_over()
