"""Why a Need got what it got: the records behind ShardAdmin.ExplainNeed.

Made from one finished decision; every number is of the cycle they name.
"""

from dataclasses import dataclass
from enum import IntEnum

from bigfleet.model.forecasts import Forecast
from bigfleet.model.machine_answers import Check, MachineStep
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import Reservation
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.reasons import ToldReason
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import NeedView

#: Candidates where a question names no number, and the most it may name.
CANDIDATES = 8
MOST_CANDIDATES = 1000


class CandidateOutcome(IntEnum):
    """What became of a machine when a Need was served."""

    UNSPECIFIED = 0
    CREDITED = 1
    CHOSEN = 2
    NOT_NEEDED = 3
    REQUIREMENT = 4
    MIN_UNIT = 5
    DOMAIN = 6
    HELD = 7
    STATE = 8
    RESERVED = 9
    QUOTA = 10
    UNSEEN = 11
    SPREAD = 12
    BACKOFF = 13

    @property
    def taken(self) -> bool:
        return self in (CandidateOutcome.CREDITED, CandidateOutcome.CHOSEN)


@dataclass(frozen=True, slots=True)
class CostView:
    """What a machine costs a Need: billed price and declared interruption, never without both."""

    price_per_hour: float
    interruption_probability: float
    #: Upper bound of what the Need declares; may be infinite.
    interruption_penalty_dollars: float
    expected_interruption_per_hour: float
    effective_cost_per_hour: float


@dataclass(frozen=True, slots=True)
class CandidateVerdict:
    machine: str
    state: MachineState
    outcome: CandidateOutcome
    #: Place among those the Need was free to take, from 1; 0: it was not free to take it.
    rank: int
    cost: CostView
    text: str
    checks: tuple[Check, ...] = ()
    holder: NeedKey | None = None
    holder_priority: int = 0


@dataclass(frozen=True, slots=True)
class RejectCount:
    """Machines of one outcome and reason code; over all of them each machine counts once."""

    outcome: CandidateOutcome
    code: str
    machines: int


@dataclass(frozen=True, slots=True)
class Competitor:
    """Another Need that claims machines that fit."""

    need: NeedKey
    priority: int
    machines: int
    #: False: of the same precedence, and only earlier.
    strictly_higher: bool


class DomainRule(IntEnum):
    """How two domains of a gang are compared: the first rule that tells them apart decides."""

    #: It is the chosen domain.
    CHOSEN = 0
    #: One holds the whole gang, the other does not.
    WHOLE = 1
    #: Both do, and more of the gang is in one of them already.
    CREDITED = 2
    #: As much is, and more of it is the gang's own.
    OWN = 3
    #: All equal, and one fits more tightly.
    TIGHTER = 4
    #: Neither holds the whole gang, and one holds more of it.
    COVERED = 5
    #: As much, and more of the gang is in one of them already.
    CREDITED_OF_PART = 6
    MORE_MACHINES = 7
    #: Equal in everything: by name.
    NAME = 8


@dataclass(frozen=True, slots=True)
class DomainVerdict:
    """A domain that a gang weighed. Shares are of the gang, averaged over its dimensions."""

    domain: str
    #: From 1; the chosen one is the first.
    rank: int
    machines: int
    offers: Resources
    #: By machines the gang may be credited; by those of them that are its own.
    credited: float
    own: float
    #: By all machines of the domain, no dimension more than once; and without that limit.
    covered: float
    offered: float
    #: By which the chosen domain beat it.
    rule: DomainRule
    text: str


@dataclass(frozen=True, slots=True)
class VictimVerdict:
    machine: str
    cluster: str
    #: Of the Need that claims it this cycle, else the stamped one.
    assigned_priority: int
    score: float
    gap_term: float
    drain_term: float
    interruption_term: float
    reclamation_term: float
    chosen: bool
    grace_seconds: int = 0
    excluded_reason: str = ""


@dataclass(frozen=True, slots=True)
class NeedExplanation:
    cycle: int
    view: NeedView
    #: The deciding reason.
    sentence: str
    #: What each phase added, and what was still wanted after it.
    steps: tuple[MachineStep, ...]
    candidates: tuple[CandidateVerdict, ...]
    #: Machines the Need was free to take, those it took included.
    total_candidates: int
    competitors: tuple[Competitor, ...]
    victims: tuple[VictimVerdict, ...]
    reservations: tuple[Reservation, ...]
    #: All of them, the deciding one first.
    reasons: tuple[ToldReason, ...]
    #: By outcome; the counts add up to the machines of the shard.
    rejects: tuple[RejectCount, ...]
    machines: int
    need_id: str
    #: None: what was recorded does not tell it; a note says what is missing.
    state: NeedState | None = None
    #: When the cycle was decided; None: not known.
    decided_at: Instant | None = None
    #: What the answer leaves out, such as candidates beyond the most.
    notes: tuple[str, ...] = ()
    #: Of a gang: the best domains it weighed, the chosen one first.
    domains: tuple[DomainVerdict, ...] = ()
    #: None: the Need is met, or not forecast yet.
    forecast: Forecast | None = None


@dataclass(frozen=True, slots=True)
class ExplainNeedCall:
    #: Where only an id is known, the cluster with `id_prefix`.
    need: NeedKey
    #: 0: the last finished one.
    cycle: int = 0
    #: 0: CANDIDATES.
    max_candidates: int = 0
    #: The first characters of a need id, instead of fingerprint and group.
    id_prefix: str = ""
