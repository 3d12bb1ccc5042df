"""What a reason about a Need asks of a cycle: how many machines, how much, and a few names.

`reasons_of_need` is written once, over these questions. Two sources answer them: `Situation` from
the records of a fleet file, `ColumnFacts` from the columns of a live decision. The same cycle gives
the same facts from both, so that a person reads the same sentence wherever it is asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bigfleet.engine.decision import Verdict
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources

#: States a Need may take a machine from, or see it taken in.
SUPPLY_STATES = (MachineState.IDLE, MachineState.SPECULATIVE, MachineState.CONFIGURED)
ACQUIRABLE = (MachineState.IDLE, MachineState.SPECULATIVE)
#: Machine ids a group names.
MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class Group:
    """Machines counted together."""

    count: int = 0
    #: Of all of them, without zero dimensions.
    capacity: Resources = Resources()
    #: The first ids in order, MOST_NAMES at most.
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejection:
    """Machines whose first failed requirement is this one."""

    requirement: Requirement
    count: int
    #: The lowest id among them, and its value for the requirement's key.
    example: str
    value: str | None


@dataclass(frozen=True, slots=True)
class TooSmall:
    """Machines that meet every requirement and do not hold one unit."""

    count: int
    #: The one that lacks the fewest dimensions, the lowest id among equals.
    nearest: str
    capacity: Resources


@dataclass(frozen=True, slots=True)
class Rejections:
    #: Idle, Speculative and Configured machines in all.
    machines: int
    failed: tuple[Rejection, ...] = ()
    small: TooSmall | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """What one domain has for a Need."""

    own: Group = field(default_factory=Group)
    free: Group = field(default_factory=Group)


@dataclass(frozen=True, slots=True)
class Holder:
    """Another Need, and how many machines it claims that would fit."""

    need: Need
    machines: int


@dataclass(frozen=True, slots=True)
class NewVictims:
    """Machines preempted for a Need in this very cycle."""

    count: int
    grace_seconds: int
    names: tuple[str, ...]


class NeedFacts(Protocol):
    @property
    def cycle(self) -> str:
        """The cycle all reasons speak about."""

    @property
    def machine_count(self) -> int: ...
    @property
    def has_supply(self) -> bool:
        """Whether a machine of any kind is Idle, Speculative or Configured and not held."""

    @property
    def parking_probe(self) -> int:
        """A parked gang tries again at every multiple of this age."""

    def parking_age(self, need: Need) -> int | None: ...
    def held_supply(self, verdict: Verdict) -> Mapping[HeldBy, tuple[Group, Instant | None]]:
        """Machines that fit and are held, and when the first hold ends."""

    def rejections(self, verdict: Verdict) -> Rejections: ...
    def coming(self, verdict: Verdict, state: MachineState) -> Group:
        """Machines the Need claims that are in this state."""

    def reserved(self, verdict: Verdict, state: MachineState) -> Group:
        """Machines reserved for the Need that are in this state."""

    def reserved_for_others(self, verdict: Verdict) -> Group:
        """Idle machines that fit and wait for other Needs."""

    def new_victims(self, verdict: Verdict) -> NewVictims: ...
    def holders(self, verdict: Verdict) -> Iterable[Holder]:
        """Other Needs that claim machines that fit."""

    def configured(self, verdict: Verdict) -> tuple[int, int]:
        """Configured machines that fit, and the lowest priority a victim among them has."""

    def offers(self, verdict: Verdict, key: str) -> Mapping[str, Offer]:
        """By value of a topology key: what fits and is the Need's own, or free to take."""


def demanded(amounts: Resources, need: Need) -> dict[str, str]:
    """Amounts as texts, only in the dimensions the Need asks for."""
    asked = {name for name, amount in need.aggregate.amounts if amount > 0}
    return {name: text for name, text in amounts.texts().items() if name in asked}


def need_name(key: NeedKey) -> str:
    return f"need/{key.cluster}/{key.need_id}"


def machine_name(machine_id: str) -> str:
    return f"machine/{machine_id}"
