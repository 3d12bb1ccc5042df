"""Shapes of the 14 answers that the older dashboard asks for, and of errors.

Fields may be added, never changed. A field of the type `Absent` may be left out.
"""

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

T = TypeVar("T")
Absent: TypeAlias = T | UnsetType
#: RFC 3339, UTC.
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$")]
Count = Annotated[int, Meta(ge=0)]
Quantities = dict[str, str]
Counts = dict[str, Count]


class Shape(Struct, rename="camel"):
    """Keys are lowerCamelCase."""


def of_wire(message: str) -> Meta:
    return Meta(extra_json_schema={"$ref": f"#/components/schemas/{message}"})


#: Messages of the admin services as JSON; their schemas are made from their fields.
PauseDocument = Annotated[dict[str, Any], of_wire("Pause")]
ReasonDocument = Annotated[dict[str, Any], of_wire("Reason")]
#: A SessionView of the admin service, without the lists of machines in its report.
SessionDocument = dict[str, Any]


class ErrorShape(Shape, kw_only=True):
    error: str
    field: Absent[str] = UNSET
    remedy: Absent[str] = UNSET


class Listed(Shape, kw_only=True):
    """What every list may say of itself."""

    #: The limit that was asked for was cut to `limit`.
    clamped: Absent[bool] = UNSET
    limit: Absent[Count] = UNSET
    #: Shards whose part is missing.
    warnings: Absent[list[str]] = UNSET


class Health(Shape, kw_only=True):
    status: Literal["ok"]


class Config(Shape, kw_only=True):
    grafana_url: str
    prometheus_wired: bool
    coordinator_wired: bool
    kubeconfig_wired: bool


class NeedStateCounts(Shape, kw_only=True):
    met: Count
    arriving: Count
    blocked: Count
    short: Count


class NeedClassCounts(NeedStateCounts, kw_only=True):
    priority_class: str


class FindingShape(Shape, kw_only=True):
    code: str
    text: str
    command: str
    facts: dict[str, Any]
    refs: list[str]
    advice: str
    shard_ids: list[str]


class PodNumbers(Shape, kw_only=True):
    running: Count
    waiting: Count
    #: Of those that wait: the machines of their Needs are there.
    stuck: Count


class FleetPods(Shape, kw_only=True):
    """Of clusters whose operators count them; None: none does."""

    running: Count | None
    waiting: Count | None
    stuck: Count | None
    #: Clusters that are not in these sums.
    unreported_clusters: Count
    #: A hundred at most, those with pods that wait first.
    by_cluster: dict[str, PodNumbers]


class FleetRegret(Shape, kw_only=True):
    status: str
    reason: str
    greedy_per_hour: float | None
    bound_per_hour: float | None
    gap_per_hour: float | None
    ratio: float | None


class Overview(Shape, kw_only=True):
    shards: Count
    clusters: Count
    machines: Count
    machines_by_state: Counts
    shortfalls: Count
    cycle_p99_seconds: float
    queried_at: Time
    cycle: Count
    epoch: Count
    sentence: str
    needs: NeedStateCounts
    needs_by_class: list[NeedClassCounts]
    demand_met_fraction: float | None
    dollars_per_hour: float | None
    idle_dollars_per_hour: float | None
    cycle_p50_seconds: float | None
    actions_per_minute: dict[str, float]
    pods: FleetPods
    stuck_pods: Count
    calm_since_unix_nanos: int | None
    findings: list[FindingShape]
    thrash: Count
    pauses: list[PauseDocument]
    regret: FleetRegret | None
    #: The share of forecasts that was met by their p80; None: fewer than 50 have ended.
    calibration: float | None
    shards_down: list[str]
    rebuilding: bool
    warnings: Absent[list[str]] = UNSET


class Actions(Shape, kw_only=True):
    timestamps: list[int]
    kinds: list[str]
    values: list[list[float | None]]


class ShardLine(Shape, kw_only=True):
    pod: str
    cycle_p99_seconds: float
    machines: Count
    shortfalls: Count
    active_sessions: Count


class Shards(Listed, kw_only=True):
    shards: list[ShardLine]
    queried_at: Time


class ShardDetail(ShardLine, kw_only=True):
    cycle_p99_by_phase_seconds: dict[str, float]
    machines_by_state: Counts
    machines_by_capacity_type: Counts
    actions_by_kind_rate_per_sec: dict[str, float]
    occ_committed_per_sec: float
    occ_conflict_per_sec: float
    queried_at: Time
    cycle: Count
    epoch: Count
    #: False: rates need a second look at the shard, and stand at 0.
    rates_known: Absent[bool] = UNSET


class Trends(Shape, kw_only=True):
    pod: str
    timestamps: list[int]
    cycle_p99_seconds: list[float | None]
    action_rates: dict[str, list[float | None]]
    queried_at: Time


class ClusterLine(Shape, kw_only=True):
    id: str
    capacity_requests: Count
    capacity_requests_pending: Count
    upcoming_nodes: Count
    error: Absent[str] = UNSET
    shard_id: Absent[str] = UNSET
    connected: Absent[bool] = UNSET
    machines: Absent[Count] = UNSET
    needs: Absent[NeedStateCounts] = UNSET
    stuck_pods: Absent[Count] = UNSET
    #: Absent: its operator does not count them now.
    pods: Absent[PodNumbers] = UNSET
    dollars_per_hour: Absent[float] = UNSET
    session: Absent[SessionDocument] = UNSET
    pauses: Absent[list[PauseDocument]] = UNSET
    bound_unix_nanos: Absent[int] = UNSET


class Clusters(Listed, kw_only=True):
    clusters: list[ClusterLine]
    queried_at: Time


class ClusterDetail(Shape, kw_only=True):
    id: str
    capacity_requests_total: Count
    capacity_requests_by_phase: Counts
    upcoming_nodes_total: Count
    upcoming_nodes_by_phase: Counts
    queried_at: Time
    error: Absent[str] = UNSET
    cluster: Absent[ClusterLine] = UNSET


class AvailableItem(Shape, kw_only=True):
    name: str
    available_count: Count
    availability: Literal["High", "Medium", "Low", "None"]
    cost: str
    resources: Absent[Quantities] = UNSET
    requirements: Absent[list[str]] = UNSET


class AvailableCluster(Shape, kw_only=True):
    id: str
    items: list[AvailableItem]
    error: Absent[str] = UNSET


class AvailableCapacity(Listed, kw_only=True):
    clusters: list[AvailableCluster]
    queried_at: Time


class CoordinatorShape(Shape, kw_only=True):
    raft_term: Count
    apply_rate_per_sec: float
    apply_error_rate_per_sec: float
    pending_instructions_total: Count
    replica_id: Absent[str] = UNSET
    is_leader: Absent[bool] = UNSET
    leader_address: Absent[str] = UNSET
    store_revision: Absent[Count] = UNSET
    open_transfers: Absent[Count] = UNSET


class TopologyShard(Shape, kw_only=True):
    shard_id: str
    address: str
    registered_at_unix_sec: int
    last_heartbeat_unix_sec: int
    pending_instructions: Count


class DomainShape(Shape, kw_only=True):
    topology_key: str
    topology_value: str
    shard_id: str


class Topology(Shape, kw_only=True):
    coordinator: CoordinatorShape
    shards: list[TopologyShard]
    domain_assignments: list[DomainShape]
    queried_at: Time
    warnings: Absent[list[str]] = UNSET


class ReportSummary(Shape, kw_only=True):
    total_machines: Count
    free_machines: Count
    instance_type_counts: Counts
    zone_counts: Counts
    provider_address: str


class ReportShortfall(Shape, kw_only=True):
    priority: int
    deficit: Quantities
    age_cycles: Count
    penalty_bucket: str


class ShardReport(Shape, kw_only=True):
    shard_id: str
    cycle: Count
    received_at_unix_ns: int
    summary: Absent[ReportSummary] = UNSET
    shortfalls: Absent[list[ReportShortfall]] = UNSET


class ShardReports(Listed, kw_only=True):
    reports: list[ShardReport]
    queried_at: Time


class RequirementShape(Shape, kw_only=True):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Same", "Unspecified"]
    values: Absent[list[str]] = UNSET


class SpreadShape(Shape, kw_only=True):
    topology_key: str
    max_skew: int
    when_unsatisfiable: Absent[str] = UNSET


class SupplyShape(Shape, kw_only=True):
    idle: Count
    configured: Count
    speculative: Count
    capped: bool


class PreemptionShape(Shape, kw_only=True):
    victims_found: Count
    capacity_freed: Absent[Quantities] = UNSET


class DomainCandidate(Shape, kw_only=True):
    domain: str
    coverage_per_mille: int
    satisfiable: bool


class EtaShape(Shape, kw_only=True):
    """When a Need is expected to be met; without a time: what it waits for."""

    path: str
    #: What it rests on, what it waits for, or what is missing.
    basis: str
    #: Both times, their basis, and how good such forecasts were.
    sentence: str
    #: Of which it was made.
    cycle: Count
    at_unix_nanos: int
    #: Seconds from then.
    p50: Absent[float] = UNSET
    p80: Absent[float] = UNSET
    p95: Absent[float] = UNSET


class NeedShape(Shape, kw_only=True):
    cluster_id: str
    priority: int
    aggregate_resources: Quantities
    interruption_penalty_bucket: str
    reclamation_penalty_bucket: str
    satisfied: bool
    claimed_machine_count: Count
    bootstrap_count: Count
    provision_count: Count
    same_satisfiable: bool
    acquisition_parked: bool
    age_cycles_unmet: Count
    unmet_reason: str
    need_id: str
    #: The deciding one first.
    reasons: list[ReasonDocument]
    source: list[str]
    min_unit: Absent[Quantities] = UNSET
    group: Absent[str] = UNSET
    requirements: Absent[list[RequirementShape]] = UNSET
    spread: Absent[list[SpreadShape]] = UNSET
    residual_deficit: Absent[Quantities] = UNSET
    same_domain: Absent[str] = UNSET
    parked_age_cycles: Absent[Count] = UNSET
    arrival_unix_nanos: Absent[int] = UNSET
    profile_fingerprint: Absent[str] = UNSET
    matching_supply: Absent[SupplyShape] = UNSET
    preemption: Absent[PreemptionShape] = UNSET
    same_candidates: Absent[list[DomainCandidate]] = UNSET
    #: None: the Need is met, or not forecast yet.
    eta: EtaShape | None
    hourly_cost: Absent[float] = UNSET
    state: Absent[Literal["met", "arriving", "blocked", "short"]] = UNSET
    since_unix_nanos: Absent[int] = UNSET
    remedy: Absent[str] = UNSET
    arriving_machines: Absent[Count] = UNSET
    stuck_pods: Absent[Count] = UNSET


class ListedNeedStates(Shape, kw_only=True):
    #: None: of a past cycle, whose record does not tell whether pods ran.
    met: Count | None
    arriving: Count
    blocked: Count
    short: Count
    #: Needs that may have been met.
    unjudged: Absent[Count] = UNSET


class ReasonCountShape(Shape):
    code: str
    needs: Count


class Needs(Listed, kw_only=True):
    shard_id: str
    cycle: Count
    computed_at_unix_nanos: int
    total_needs: Count
    needs: list[NeedShape]
    queried_at: Time
    #: Rows that the filters leave, before the limit.
    matching_needs: Count
    need_states: ListedNeedStates
    #: First reasons of all rows that the other filters leave; with `reasons`.
    need_reasons: Absent[list[ReasonCountShape]] = UNSET
    rebuilding: Absent[bool] = UNSET


class FinopsTotals(Shape, kw_only=True):
    configured_machines: Count
    idle_machines: Count
    demand_machines: Count
    spot_configured_fraction: float
    pinned_configured_fraction: float


class RedFlag(Shape, kw_only=True):
    severity: Literal["warn", "danger"]
    capacity_type: str
    bucket: str
    count: Count
    message: str


class Finops(Shape, kw_only=True):
    totals: FinopsTotals
    capacity_types: list[str]
    buckets: list[str]
    configured_by_capacity_type: Counts
    idle_by_capacity_type: Counts
    configured: dict[str, Counts]
    configured_by_bucket: Counts
    demand: Counts
    action_rates_per_sec: dict[str, float]
    red_flags: list[RedFlag]
    queried_at: Time
    warnings: Absent[list[str]] = UNSET


def problems_in(document: Any, shape: Any) -> str:
    """Why a document does not have the shape; empty: it does."""
    try:
        msgspec.convert(document, shape)
    except msgspec.ValidationError as problem:
        return str(problem)
    return ""
