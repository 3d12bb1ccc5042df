"""What the reconciler keeps of one provider between two Lists."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bigfleet.model.machines import Instant, Machine
from bigfleet.shard.reconciling.absences import Absences
from bigfleet.shard.reconciling.breaker import ProviderBreaker
from bigfleet.shard.reconciling.list_guard import ListGuard
from bigfleet.shard.reconciling.list_reading import LastList
from bigfleet.shard.reconciling.list_schedule import Schedule
from bigfleet.shard.reconciling.rebind_guard import RebindGuard
from bigfleet.wire.machine_batches import KnownMachines


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
