"""What the verifier is given about a batch of actions, and what it answers.

Columns: one value per action, in the order of the actions. What many actions share (shapes, Needs,
clusters) is a table that the columns point into, so that a batch of 100,000 actions has a few
hundred records beside it, and nothing at all is made for the machines it does not touch.

| column | meaning |
|---|---|
| shape | -> shapes: what the machine offers, as the engine saw it; -1: the engine saw none |
| need | -> needs: the Need that acquires or preempts; -1: none |
| claimant | -> needs: the Need that claims the machine in this cycle; -1: none |
| stamped_priority | priority the machine was bound with |
| bound_to | its cluster now; empty: none |
| state | its MachineState now, as a number; 0: there is no such machine |
| owned | whether it is this shard's now |
| seen, now | hash of its state as the engine saw it, and as it is now; 0 where nothing differs |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from bigfleet.model.actions import Action
from bigfleet.model.machines import CapacityType, Instant
from bigfleet.model.memory import Reservation
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.reasons import Reason
from bigfleet.model.resources import Resources

#: Where a column points at nothing.
NONE = -1


@dataclass(frozen=True, slots=True)
class MachineShape:
    """What many machines share."""

    capacity_type: CapacityType
    instance_type: str = ""
    zone: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Real capacity where it is known, else the base shape.
    capacity: Resources = Resources()
    price_per_hour: float = 0.0


@dataclass(frozen=True, slots=True)
class AskingNeed:
    """A Need that acquires, preempts or claims."""

    #: Under which it acquires; of a folded gang without its Same and its group.
    key: NeedKey
    #: A row of the accepted demand: the Need itself, or one gang of a folded group.
    row: Need
    #: What all rows it stands for ask for together.
    wanted: Resources
    #: What it has already, as (shape, machines).
    credited: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterStanding:
    """Of a cluster that loses machines."""

    #: A roll-up of it was read since the shard started.
    reported: bool = True
    #: Its latest roll-up is held in quarantine.
    held: bool = False
    #: Configured machines, as the engine saw them.
    configured: int = 0
    configured_of_zone: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReservedMachine:
    reservation: Reservation
    #: Its Need still asks; always so where the reservation is not for a Need of this shard.
    stands: bool = True


@dataclass(frozen=True, slots=True)
class Fence:
    """Under which life of the shard, and which coordinator, something is done."""

    epoch: int = 0
    term: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """The actions about to be enqueued, with the columns described above."""

    actions: Sequence[Action]
    shape: Sequence[int]
    need: Sequence[int]
    claimant: Sequence[int]
    stamped_priority: Sequence[int]
    bound_to: Sequence[str]
    state: Sequence[int]
    owned: Sequence[bool]
    seen: Sequence[int]
    now: Sequence[int]
    shapes: Sequence[MachineShape] = ()
    needs: Sequence[AskingNeed] = ()
    #: Of the clusters that machines are reclaimed from.
    clusters: Mapping[str, ClusterStanding] = field(default_factory=dict)
    #: Those of the machines that are reserved.
    reserved: Mapping[str, ReservedMachine] = field(default_factory=dict)
    #: When it is verified; None: there is no clock, and nothing that needs one is checked.
    at: Instant | None = None
    decided_under: Fence = Fence()
    current: Fence = Fence()
    #: Dollars of the machines that are there or ordered; only looked at where there is a ceiling.
    spend_per_hour: float = 0.0

    def __len__(self) -> int:
        return len(self.actions)


class Invariant(Enum):
    """Name, what it says, and what lifts a veto."""

    V1 = "one action a machine, which exists, is owned and in the right state"
    V2 = "bare metal, reserved and unspecified capacity is never deleted"
    V3 = "no Reclaim before a cluster's first roll-up, nor while its latest is held"
    V4 = "a victim's priority is strictly below its preemptor's"
    V5 = "a machine matches a Need of its destination's accepted demand"
    V6 = "Reclaims of a cluster and of its zones stay within their caps"
    V7 = "no Reclaim and no Delete in a freeze window"
    V8 = "Provisions stay below the spend ceiling"
    V9 = "epoch and term are current"
    V10 = "machines are as the engine saw them"
    V11 = "no Need acquires a machine beyond the one that covers it"
    V12 = "a reserved machine goes to its holder or to a strictly higher Need"


#: What the engine must never produce.
INCIDENTS = frozenset({Invariant.V1, Invariant.V2, Invariant.V4, Invariant.V9, Invariant.V12})
#: What people set: the engine may well ask for more than they allow.
POLICIES = frozenset({Invariant.V6, Invariant.V7, Invariant.V8})
_NEXT_CYCLE = "the next cycle decides afresh"
_REPORT = "report it with the fleet file of this cycle: bigfleet snapshot fleet FILE"
_REMEDY = {
    Invariant.V3: "bigfleet quarantines",
    Invariant.V5: _REPORT,
    Invariant.V6: "wait: more machines may be reclaimed within a minute",
    Invariant.V7: "wait until the freeze window ends, or change shard.verifier.freeze_windows",
    Invariant.V8: "raise shard.verifier.spend_ceiling, or give machines back",
    Invariant.V10: _NEXT_CYCLE,
    Invariant.V11: _REPORT,
}


@dataclass(frozen=True, slots=True)
class Veto:
    invariant: Invariant
    #: What was found, as words.
    what: str
    #: The engine must never produce it.
    incident: bool = False

    @property
    def remedy(self) -> str:
        """What a person does about it."""
        if self.invariant is Invariant.V9 and not self.incident:
            return _NEXT_CYCLE
        return _REMEDY.get(self.invariant, _REPORT)

    @property
    def reason(self) -> Reason:
        facts = {"invariant": self.invariant.name, "what": self.what, "remedy": self.remedy}
        return Reason("rail.verifier", facts)


def state_hash(*parts: object) -> int:
    """Of what a machine is: state, cluster, stamp and shape. Only compared within a process."""
    return hash(parts)
