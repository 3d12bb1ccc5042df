"""Answers about one machine: why it is where it is, and why it is not where it was expected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView, MachineView


class WhyNotQuestion(IntEnum):
    #: Why does the Need not have the machine?
    ASSIGNED = 1
    #: Why is the machine still here: not reclaimed, not released?
    REMOVED = 2
    #: Why is the machine not taken from its holder for the Need?
    PREEMPTED = 3
    #: Why is the Need not satisfied?
    SATISFIED = 4


@dataclass(frozen=True, slots=True)
class WhyNotCall:
    #: None: not said, or a question of a later version.
    question: WhyNotQuestion | None
    machine: str = ""
    need: NeedKey | None = None
    #: 0: the last finished one.
    cycle: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """One predicate of the engine, with the two values it compares."""

    name: str
    passed: bool
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class WhyNot:
    cycle: int
    sentence: str
    #: The first one that failed; None: what was expected holds.
    blocking: Check | None
    #: In the order the engine evaluates them.
    checks: tuple[Check, ...]
    #: What would lift the blocking one, a sentence each.
    would_change: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MachineStep:
    #: What the sentence is about: state, claim, action, declared cost, next best, next.
    phase: str
    text: str
    covered: Resources = Resources()
    remaining: Resources = Resources()
    machine_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineCall:
    machine: str
    #: 0: the last finished one.
    cycle: int = 0


@dataclass(frozen=True, slots=True)
class MachineAnswer:
    cycle: int
    machine: MachineView | None
    sentence: str
    steps: tuple[MachineStep, ...] = ()
    #: Of this cycle, about this machine.
    actions: tuple[ActionView, ...] = ()
    #: Its place among the Configured machines of its cluster, the first kept first; 0: none.
    keep_rank: int = 0
    #: When it may be released as it stands; None: never, or not known.
    release_after: Instant | None = None


@dataclass(frozen=True, slots=True)
class DecisionQuery:
    """AND between fields, OR inside one; what is empty matches everything."""

    from_cycle: int = 0
    to_cycle: int = 0
    kinds: tuple[ActionKind, ...] = ()
    cluster: str = ""
    machine: str = ""
    need: NeedKey | None = None
    #: The newest so many; 0: as many as may be asked for.
    limit: int = 0

    def matches(self, view: ActionView) -> bool:
        return (
            view.cycle >= self.from_cycle
            and (not self.to_cycle or view.cycle <= self.to_cycle)
            and (not self.kinds or view.kind in self.kinds)
            and (not self.cluster or self.cluster == view.cluster)
            and (not self.machine or self.machine == view.machine)
            and (self.need is None or self.need == view.need)
        )


@dataclass(frozen=True, slots=True)
class DecisionList:
    #: Newest last.
    decisions: tuple[ActionView, ...]
    #: Older ones match, or are no longer remembered.
    truncated: bool


@dataclass(frozen=True, slots=True)
class CycleCall:
    #: 0: the last finished one.
    cycle: int = 0
    #: 0: as many as may be asked for.
    limit: int = 0
    first_index: int = 0


@dataclass(frozen=True, slots=True)
class CycleInputs:
    """What a recorded cycle was given that the one before it was not."""

    #: SHA-256 of these changes and of the digest before them.
    digest: bytes
    #: The journal has all of it here: the numbers count everything there was.
    keyframe: bool = False
    machines: int = 0
    removed_machines: int = 0
    #: Whose demand was replaced.
    clusters: int = 0
    #: Made or given up.
    reservations: int = 0


@dataclass(frozen=True, slots=True)
class CycleView:
    cycle: int
    at: Instant
    #: In order of emission.
    actions: tuple[ActionView, ...]
    total_actions: int
    machines: int
    needs: int
    unsatisfied_needs: int
    #: What each part of it took; empty: it is not told.
    nanos_of_phase: Mapping[str, int] = field(default_factory=dict)
    #: SHA-256 over the actions in the order of the engine, as the journal has it.
    output_digest: bytes = b""
    #: None: it was not read from a journal.
    inputs: CycleInputs | None = None
