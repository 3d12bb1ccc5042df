"""What a shard shows of itself: the records behind its read and admin services.

They carry facts, not texts for people, except where a field says sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from bigfleet.model.actions import ActionKind, UnmetReason
from bigfleet.model.cluster_reports import ClusterPods, ReceivedReport
from bigfleet.model.forecasts import Forecast
from bigfleet.model.machines import CapacityType, Instant, Machine, MachineState
from bigfleet.model.memory import Reservation
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.pauses import Pause
from bigfleet.model.reasons import Reason, ToldReason
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import RollupRefusal


class Disposition(IntEnum):
    """What became of an action between decision and execution."""

    ENQUEUED = 1
    CAPPED = 2
    DEFERRED = 3
    SUPPRESSED = 4
    DRY_RUN = 5
    DEDUPED = 6
    DROPPED = 7
    INAPPLICABLE = 8
    VETOED = 9
    HELD = 10


class DrainStage(IntEnum):
    NOTIFY = 1
    EVICTING = 2
    PROVIDER = 3


class OwnerSource(IntEnum):
    ALL = 1
    DOMAIN = 2
    OVERRIDE = 3
    DEFAULT = 4


class StorySource(IntEnum):
    ENGINE = 1
    RAIL = 2
    EXECUTOR = 3
    PROVIDER = 4
    OPERATOR = 5
    COORDINATOR = 6
    ADMIN = 7


class ClearMode(IntEnum):
    RECHECK = 1
    RETRY = 2
    FORGET = 3


class QuarantineKind(IntEnum):
    ROLLUP = 1
    PROVIDER_LIST = 2


class OfferingState(IntEnum):
    #: Rests until its time.
    OPEN = 1
    #: One Create is tried.
    HALF_OPEN = 2


@dataclass(frozen=True, slots=True)
class ActionView:
    cycle: int
    #: Position in the order of emission.
    index: int
    kind: ActionKind
    machine: str
    cluster: str = ""
    need: NeedKey | None = None
    #: A sentence.
    reason: str = ""
    grace_seconds: int = 0
    preemptor_priority: int = 0
    disposition: Disposition | None = None
    #: Empty until it is known; of what a rail holds back, the sentence of the rail.
    outcome: str = ""
    at: Instant = 0
    #: Code of the rail that holds it back; empty: none does.
    rail: str = ""
    #: The deciding one first; empty: they are not told.
    reasons: tuple[Reason | ToldReason, ...] = ()
    #: Dollars per hour by which the bill changes when it is done; None: not told.
    bill_change: float | None = None


@dataclass(frozen=True, slots=True)
class StoryEvent:
    at: Instant
    source: StorySource
    #: A sentence.
    text: str
    cycle: int = 0
    from_state: MachineState = MachineState.UNSPECIFIED
    to_state: MachineState = MachineState.UNSPECIFIED
    cluster: str = ""
    operation_id: str = ""
    instruction_id: str = ""
    shard_epoch: int = 0
    sequence: int = 0
    machine: str = ""


@dataclass(frozen=True, slots=True)
class DrainView:
    instruction_id: str
    kind: ActionKind
    stage: DrainStage
    acked: bool
    evicted: bool
    deadline: Instant


@dataclass(frozen=True, slots=True)
class FailedView:
    cause: str
    since: Instant
    attempts: int
    next_attempt_at: Instant | None
    automatic: bool


@dataclass(frozen=True, slots=True)
class MachineView:
    machine: Machine
    provider: str
    node_name: str = ""
    owner_source: OwnerSource = OwnerSource.ALL
    claimed_by: NeedKey | None = None
    state_since: Instant = 0
    state_deadline: Instant | None = None
    idle_since: Instant | None = None
    pending: ActionView | None = None
    drain: DrainView | None = None
    reservation: Reservation | None = None
    failed: FailedView | None = None
    #: Full Lists in a row that did not name it.
    unseen_lists: int = 0
    withheld_by_quota: bool = False
    #: Its cluster says that nothing runs on it.
    empty: bool = False
    #: Why its cluster gave it up, such as never_joined; empty: it did not.
    lost: str = ""


@dataclass(frozen=True, slots=True)
class MachineSelector:
    """AND between fields, OR inside one; empty fields match everything."""

    ids: frozenset[str] = frozenset()
    states: frozenset[MachineState] = frozenset()
    zones: frozenset[str] = frozenset()
    instance_types: frozenset[str] = frozenset()
    capacity_types: frozenset[int] = frozenset()
    labels: tuple[tuple[str, str], ...] = ()
    cluster: str = ""
    provider: str = ""
    id_prefix: str = ""


class SortBy(StrEnum):
    """What machines are listed by; machines of the same value by name."""

    NAME = "name"
    STATE = "state"
    CLUSTER = "cluster"
    TYPE = "type"
    ZONE = "zone"
    PRICE = "price"
    SINCE = "since"


@dataclass(frozen=True, slots=True)
class MachineQuery:
    selector: MachineSelector = MachineSelector()
    failed_cause: str = ""
    only_pending: bool = False
    only_unseen: bool = False
    #: 0: no cap.
    limit: int = 0
    #: Only machines after this one; in another order than by name, after this value and this one.
    after_id: str = ""
    sort: SortBy = SortBy.NAME
    descending: bool = False
    #: What `after_id` was listed by: a number of a state, dollars, nanoseconds, or the text itself.
    after_value: str = ""
    only_reserved: bool = False


@dataclass(frozen=True, slots=True)
class MachinePage:
    cycle: int
    computed_at: Instant
    #: Matching machines, before limit and after_id.
    total: int
    machines: tuple[MachineView, ...]


@dataclass(frozen=True, slots=True)
class SessionView:
    cluster: str
    peer: str
    protocol_version: str
    connected_at: Instant
    last_rollup_at: Instant | None
    needs: int
    outbox_frames: int
    outbox_bytes: int
    oldest_frame_at: Instant | None
    open_bootstraps: int
    open_reclaims: int
    connected: bool
    #: The newest one that its operator sent, None where it sends none.
    report: ReceivedReport | None = None
    #: Of its Needs; None: the shard does not tell.
    need_states: "NeedCounts | None" = None
    #: Pods that wait although the machines of their Needs are there.
    stuck_pods: int = 0
    #: None: its last roll-up was taken.
    refused_rollup: RollupRefusal | None = None

    @property
    def pods(self) -> ClusterPods | None:
        """None: no operator counts them now."""
        told = self.report
        if not self.connected or told is None or told.stale or told.report.pods is None:
            return None
        counts = told.report.pods
        # Stuck pods are those of the last cycle, and the report may be newer.
        stuck = min(self.stuck_pods, counts.waiting)
        return ClusterPods(self.cluster, counts.running, counts.waiting, stuck)


@dataclass(frozen=True, slots=True)
class Quarantine:
    kind: QuarantineKind
    #: A cluster id or a provider's name.
    subject: str
    #: Rows or machines of the last accepted one.
    baseline: int
    observed: int
    consecutive: int
    required: int
    since: Instant
    accepts_after: Instant
    #: What was seen, as a sentence.
    what: str = ""


@dataclass(frozen=True, slots=True)
class OfferingView:
    """Only of offerings that rest."""

    #: `provider/type/zone/capacityType`.
    name: str
    state: OfferingState
    #: Why: stockout, failures, join or row.
    kind: str
    #: Openings in a row.
    attempts: int
    opened_at: Instant
    next_probe_at: Instant
    #: What the provider said.
    text: str = ""
    #: Orders since it opened that were decided on and not placed.
    creates_saved: int = 0


@dataclass(frozen=True, slots=True)
class MatchingSupply:
    """Counts stop at 10,000."""

    idle: int = 0
    configured: int = 0
    speculative: int = 0
    capped: bool = False


@dataclass(frozen=True, slots=True)
class DomainCoverage:
    domain: str
    per_mille: int
    satisfiable: bool


@dataclass(frozen=True, slots=True)
class NeedView:
    need: Need
    satisfied: bool
    deficit: Resources = Resources()
    claimed: int = 0
    bootstraps: int = 0
    provisions: int = 0
    same_domain: str = ""
    same_satisfiable: bool = False
    parked: bool = False
    parked_age: int = 0
    unmet_age: int = 0
    unmet_reason: UnmetReason | None = None
    #: Of unsatisfied Needs only.
    supply: MatchingSupply | None = None
    victims: int = 0
    freed: Resources = Resources()
    same_candidates: tuple[DomainCoverage, ...] = ()


@dataclass(frozen=True, slots=True)
class NeedPage:
    #: 0: nothing was computed yet.
    cycle: int
    computed_at: Instant
    #: Before the limit.
    total: int
    needs: tuple[NeedView, ...]


@dataclass(frozen=True, slots=True)
class NeedRow:
    """A Need with its state: what people are told of it."""

    view: NeedView
    #: None: of a past cycle, whose record does not tell whether pods ran.
    state: NeedState | None
    #: Why it is in that state.
    reason: ToldReason
    #: 0: not known.
    since: Instant
    #: A command to copy, or what a person has to do; empty: nothing.
    remedy: str = ""
    #: Machines on their way, those whose Node is not usable yet included.
    arriving: int = 0
    #: Pods that wait although the machines are there.
    stuck_pods: int = 0
    #: Of a Need that is short: what else stands in its way.
    further: tuple[ToldReason, ...] = ()
    #: What it is asked for by (`DemandSource`); empty: its cluster does not tell.
    sources: tuple[str, ...] = ()
    #: Without its steps; None: the Need is met, or not forecast yet.
    forecast: Forecast | None = None

    @property
    def state_label(self) -> str:
        if self.state is not None:
            return self.state.label
        return "covered" if self.view.satisfied else "uncovered"


@dataclass(frozen=True, slots=True)
class NeedCounts:
    """How many Needs are in which state."""

    met: int = 0
    arriving: int = 0
    blocked: int = 0
    short: int = 0

    @classmethod
    def of(cls, count_of: Mapping[NeedState, int]) -> "NeedCounts":
        return cls(*(count_of.get(state, 0) for state in NeedState))

    @property
    def total(self) -> int:
        return self.met + self.arriving + self.blocked + self.short

    def count(self, state: NeedState) -> int:
        return int(getattr(self, state.label))


@dataclass(frozen=True, slots=True)
class NeedQuery:
    #: Empty: of all clusters.
    cluster: str = ""
    #: 0: no limit.
    limit: int = 0
    #: Empty: of every state.
    states: tuple[NeedState, ...] = ()
    #: Only Needs whose id begins so; empty: all.
    id_prefix: str = ""
    #: Only what one of these asks for (`DemandSource`); empty: all.
    sources: tuple[str, ...] = ()
    #: 0: the last finished one; else one of the journal.
    cycle: int = 0
    #: Only Needs whose first reason has this code; empty: all.
    reason: str = ""
    count_reasons: bool = False


@dataclass(frozen=True, slots=True)
class ReasonCount:
    code: str
    needs: int


@dataclass(frozen=True, slots=True)
class NeedListing:
    #: 0: nothing was computed yet.
    cycle: int
    computed_at: Instant
    #: Of the cluster, or of all; before filter and limit.
    counts: NeedCounts
    #: Rows the filter leaves, before the limit.
    matching: int
    rows: tuple[NeedRow, ...]
    #: Of the cluster, or of all: in none of the four states, as far as is recorded.
    unjudged: int = 0
    #: First reasons of the rows that all filters but that of the reason leave; the most frequent
    #: first. Empty: they were not asked for.
    reasons: tuple[ReasonCount, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderCalls:
    """Calls to a provider that have ended lately, Lists not among them."""

    #: How far back they go.
    window_seconds: int
    ended: int
    #: Those of them that failed.
    failed: int
    #: From the call to its answer, of those that did not fail; 0 where all failed.
    p50_seconds: float
    p95_seconds: float


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    name: str
    address: str
    region: str = ""
    breaker_open: bool = False
    last_list_at: Instant | None = None
    last_error: str = ""
    machines: int = 0
    incremental: bool = False
    #: None: none has ended within the window.
    calls: ProviderCalls | None = None


@dataclass(frozen=True, slots=True)
class CoordinatorLink:
    address: str
    connected: bool
    last_report_at: Instant | None = None
    term: int = 0
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class MachineLoss:
    """Machines that served a cluster and are gone, or lost their Node, within the last minutes."""

    #: By their provider: failed, taken_back, vanished; by the cluster: never_joined, node_gone,
    #: unhealthy.
    cause: str
    cluster: str
    provider: str
    capacity_type: CapacityType
    machines: int
    first_at: Instant
    last_at: Instant = 0
    #: The newest of them, and what its provider said of it.
    example: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class ShardStatus:
    shard_id: str
    epoch: int
    version: str
    cycle: int
    last_cycle_at: Instant | None
    last_cycle_seconds: float
    #: Empty: ready.
    not_ready_reason: str
    sessions: int
    machines: int
    needs: int
    shortfalls: int
    pauses: tuple[Pause, ...]
    dry_run: bool
    queue_depth: int
    in_flight: int
    providers: tuple[ProviderStatus, ...]
    coordinator: CoordinatorLink | None = None
    ownership_revision: int = 0
    journal_degraded: bool = False
    #: None: the shard does not tell.
    need_states: NeedCounts | None = None
    #: Pods that wait although the machines of their Needs are there.
    stuck_pods: int = 0
    #: Why state.db or the audit file cannot be written; empty: they can.
    store_error: str = ""
    failed_machines: int = 0
    #: Whose last roll-up was refused; their SessionViews say why.
    clusters_refused: int = 0
    #: Of its process, over the last minute.
    cpu_cores: float = 0.0
    #: 0: the shard does not tell.
    resident_bytes: int = 0
    #: Vetoes of what the engine must never ask for, since the shard started.
    verifier_incidents: int = 0
    #: The newest of them, as a sentence.
    verifier_incident: str = ""
    #: Why the verifier itself fails; empty: it works.
    verifier_error: str = ""
    #: The newest first.
    losses: tuple[MachineLoss, ...] = ()
    #: Machines their clusters report as lost and the shard does not give up yet.
    lost_waiting: int = 0
    #: Why cycles are not recorded now; empty: they are.
    journal_error: str = ""
    #: Of this epoch, the first cycle that its journal still has; 0: it has none.
    journal_first_cycle: int = 0
    data_dir: str = ""

    @property
    def ready(self) -> bool:
        return not self.not_ready_reason


@dataclass(frozen=True, slots=True)
class ShortfallRow:
    """What the coordinator is told: one fingerprint over all clusters."""

    need: Need
    deficit: Resources
    age: int


@dataclass(frozen=True, slots=True)
class ShardSummary:
    total_machines: int
    #: Idle and Speculative.
    free_machines: int
    count_of_instance_type: Mapping[str, int]
    count_of_zone: Mapping[str, int]
    provider_address: str = ""


def with_forecasts(listing: NeedListing, told: Mapping[NeedKey, Forecast]) -> NeedListing:
    """Its rows with these, without their steps."""
    rows = []
    for row in listing.rows:
        forecast = told.get(row.view.need.key)
        rows.append(row if forecast is None else replace(row, forecast=forecast.brief))
    return replace(listing, rows=tuple(rows))
