"""What the journal keeps of a shard's life, as records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from bigfleet.model.batches import Offering
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import Assigned, Instant
from bigfleet.model.memory import Reservation
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import EngineOptions
from bigfleet.model.pauses import Pause
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView, StoryEvent

#: Of files this version writes; a reader refuses a later one.
FORMAT_VERSION = 1
#: The age of a Need that has none any more.
ENDED = -1


@dataclass(frozen=True, slots=True)
class JournalHeader:
    """Opens a segment, and comes again where an option has changed."""

    shard_id: str
    epoch: int
    engine_version: str
    #: Without the clusters that have reported: these are part of every input.
    options: EngineOptions
    created_at: Instant
    #: Which the segment begins with.
    first_cycle: int
    format_version: int = FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class NeedTable:
    """Needs of whole clusters as columns over tables of what they share."""

    #: One without rows has withdrawn everything.
    clusters: Sequence[str]
    profiles: Sequence[Profile]
    vectors: Sequence[Resources]
    groups: Sequence[str]
    #: By the names of the engine's columns; rows of one cluster follow each other in its order.
    columns: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class InputChange:
    """What is new in the engine's input since the cycle recorded before."""

    now: Instant
    machines: tuple[FleetMachine, ...] = ()
    removed: tuple[str, ...] = ()
    #: Of clusters whose demand was replaced; None: of none.
    needs: NeedTable | None = None
    reservations: tuple[Reservation, ...] = ()
    #: Machines that are not reserved any more.
    unreserved: tuple[str, ...] = ()
    #: Ages that are not those of the cycle before plus the cycles since; ENDED: none any more.
    parking: Mapping[NeedKey, int] = field(default_factory=dict)
    shortfall_ages: Mapping[NeedKey, int] = field(default_factory=dict)
    #: All clusters that have reported; None: the same as before.
    reported: frozenset[str] | None = None
    #: All pauses in force; None: the same as before. The engine does not look at them.
    pauses: tuple[Pause, ...] | None = None
    digest: bytes = b""


@dataclass(frozen=True, slots=True)
class MachineTable:
    """All machines as columns over tables of what they share; numbers are rows, -1 none."""

    #: Ascending.
    ids: list[str]
    offerings: Sequence[Offering]
    stamps: Sequence[Assigned]
    clusters: Sequence[str]
    providers: Sequence[str]
    node_names: Sequence[str]
    #: By the names of the engine's columns; one number for each id.
    columns: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A whole input: nothing recorded before is needed to read on from here."""

    #: Without machines.
    state: InputChange
    machines: MachineTable


@dataclass(frozen=True, slots=True)
class CycleOutput:
    #: In the order of the engine.
    actions: tuple[ActionView, ...]
    #: Of the actions, without what became of them.
    digest: bytes
    #: Of the claims that differ from those of the cycle before; in a key frame's cycle of all.
    claimed_digest: bytes
    nanos_of_phase: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TickRun:
    """Cycles in a row that were given nothing new and decided nothing."""

    first_cycle: int
    last_cycle: int
    last_now: Instant
    #: From each cycle's time to the next one's, the first from that of the cycle before the run.
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """Something beside the cycles: a roll-up, a session, a pause, an instruction, a gap."""

    #: As in the log, such as `pause_set`.
    kind: str
    subject: str
    text: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    peer: str = ""
    #: That was set, lifted or has expired.
    pause: Pause | None = None


#: What happened beside the cycles: how an action ended (an ActionView with its outcome), a line of
#: a machine's story, an event. No decision depends on it.
JournalNote = ActionView | StoryEvent | JournalEvent
JournalBody = JournalHeader | Keyframe | InputChange | CycleOutput | TickRun | JournalNote
#: Of a record that tells how many are missing.
GAP = "gap"
#: Of a cycle that decided nothing: the engine raised, or took too long.
FAILED = "cycle_failed"
#: Attributes of events that hold a number, a time or a word of ours, and name nothing.
PLAIN_FACTS = frozenset(
    (
        *("accepted", "baseline", "consecutive", "created", "cycle", "cycles", "expires"),
        *("firstCycle", "invariant", "kind", "machines", "notes", "outcome", "rows"),
        *("session", "source", "term"),
    )
)


@dataclass(frozen=True, slots=True)
class JournalRecord:
    seq: int
    cycle: int
    at: Instant
    body: JournalBody
