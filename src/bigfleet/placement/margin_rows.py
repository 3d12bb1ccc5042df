"""The margin of a Need: a row of its own, how it follows demand, and under which key it is sent.

A margin is one amount in one dimension. It was right for the demand at the time it was set; with
less demand it is sent smaller in proportion, so pods that leave take their part of it with them.

Keys. A plain Need's margin has its profile and the group `margin` (`margin:` and its group where it
has one). Gangs that fit one machine share a margin with their equals, without Same. A strict Spread
Need carries the margin in its own row: two rows of one spread would each be spread on its own.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

from bigfleet.model.machines import Instant
from bigfleet.model.needs import MARGIN_GROUP, Need, NeedKey
from bigfleet.model.resources import Resources
from bigfleet.placement.records import OwnerShape


class Form(Enum):
    """How the margin of a Need is asked for."""

    ROW = auto()
    IN_OWN_ROW = auto()
    GANG_ROW = auto()
    #: A gang that spans machines has none.
    NONE = auto()


def margin_key_of(need: Need, form: Form) -> NeedKey:
    """The key of its margin; the Need's own where the margin is in its own row."""
    match form:
        case Form.ROW:
            group = f"{MARGIN_GROUP}:{need.group}" if need.group else MARGIN_GROUP
            return NeedKey(need.cluster, need.profile.fingerprint, group)
        case Form.GANG_ROW:
            size = ",".join(f"{n}={t}" for n, t in need.aggregate.positive().texts().items())
            fingerprint = need.profile.without_same().fingerprint
            return NeedKey(need.cluster, fingerprint, f"{MARGIN_GROUP}:gang:{size}")
        case Form.IN_OWN_ROW | Form.NONE:
            return need.key


@dataclass(slots=True)
class StuckRound:
    """Machines asked for stuck pods; open until it is known whether they helped."""

    pods: dict[str, OwnerShape]
    #: The margin before it.
    before: int
    began: Instant
    #: Machines the Need had with its margin.
    machines: int
    #: Ids of the machines that had Nodes when it began: one that turns usable again is not new.
    known: frozenset[str] = frozenset()


@dataclass(slots=True)
class Probe:
    """A margin lowered to see whether the pods fit without one machine."""

    before: int
    asked_before: int
    began: Instant


@dataclass(slots=True)
class Margin:
    key: NeedKey
    dimension: str = ""
    amount: int = 0
    #: What was asked of the dimension when the amount was set.
    asked_when_set: int = 0
    #: Changed since the last reply that was about it as it is.
    unconfirmed: bool = False
    #: Set by a round or a refusal: not capped until a reply has confirmed it.
    may_buy: bool = False
    #: Machines refused for a drain since the last reply: each is to be kept.
    refused: dict[str, int] = field(default_factory=dict)
    round: StuckRound | None = None
    probe: Probe | None = None
    probe_interval: Instant = 0
    probe_at: Instant = 0

    def set(self, dimension: str, amount: int, asked: int, *, may_buy: bool = False) -> None:
        self.dimension, self.amount, self.asked_when_set = dimension, max(0, amount), asked
        self.unconfirmed, self.may_buy = True, may_buy

    def confirm(self) -> None:
        self.unconfirmed = self.may_buy = False
        self.refused.clear()

    def scaled(self, asked: int) -> int:
        """For this much asked of its dimension."""
        if asked <= 0 or self.amount <= 0:
            return 0
        if asked >= self.asked_when_set:
            return self.amount
        return self.amount * asked // self.asked_when_set

    def wanted(self, asked: int) -> Resources:
        amount = self.scaled(asked)
        return Resources(((self.dimension, amount),)) if amount else Resources()

    @property
    def is_idle(self) -> bool:
        """Nothing would be lost with it."""
        return not self.amount and self.round is None and self.probe is None and not self.refused
