"""Shapes of the further answers, and of the bodies that are sent.

Documents of the admin services have the schemas of their messages: they are what `bigfleet ... -o
json` prints, and grow with them.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, field

from bigfleet.web.schemas import Absent, Count, Counts, Listed, PauseDocument, Shape, Time, of_wire

StatusDocument = Annotated[dict[str, Any], of_wire("ShardStatus")]
MachineDocument = Annotated[dict[str, Any], of_wire("MachineView")]
EventDocument = Annotated[dict[str, Any], of_wire("StoryEvent")]
OfferingDocument = Annotated[dict[str, Any], of_wire("OfferingView")]
QuarantineDocument = Annotated[dict[str, Any], of_wire("Quarantine")]
RegretDocument = Annotated[dict[str, Any], of_wire("Regret")]
StatementDocument = Annotated[dict[str, Any], of_wire("Statement")]
StatementGapDocument = Annotated[dict[str, Any], of_wire("StatementGap")]
ThrashDocument = Annotated[dict[str, Any], of_wire("ThrashFinding")]
IsolatedDocument = Annotated[dict[str, Any], of_wire("GetIsolatedResponse")]
ForecastDocument = Annotated[dict[str, Any], of_wire("Forecast")]
ReliabilityDocument = Annotated[dict[str, Any], of_wire("Reliability")]
VerifierDocument = Annotated[dict[str, Any], of_wire("GetVerifierResponse")]
QuotaDocument = Annotated[dict[str, Any], of_wire("QuotaAllocation")]
TransferDocument = Annotated[dict[str, Any], of_wire("Transfer")]
ShortfallDocument = Annotated[dict[str, Any], of_wire("ShortfallView")]
#: One answer or the other, by what is asked about.
WhyDocument = dict[str, Any]
Name = Annotated[str, Meta(min_length=1, max_length=1024)]
Text = Annotated[str, Meta(max_length=1024)]


class Rails(Shape, kw_only=True):
    pauses: list[PauseDocument]
    dry_run: bool


class JournalShape(Shape, kw_only=True):
    """Which cycles of an epoch a shard's journal has; None: none, or it is not told."""

    epoch: Count
    first_cycle: Count | None
    last_cycle: Count | None
    degraded: bool
    error: str


class Status(Shape, kw_only=True):
    version: str
    server_time_unix_nanos: int
    face: Literal["up", "shard", "coordinator"]
    simulated: bool
    writes: bool
    shards: list[dict[str, Any]]
    rails: Rails
    journal: dict[str, JournalShape]
    real: list[str]
    simulated_parts: list[str]
    coordinator: Absent[dict[str, Any]] = UNSET
    warnings: Absent[list[str]] = UNSET


class ReservedFor(Shape, kw_only=True):
    need: str
    kind: str
    expires_unix_nanos: int | None


class HeldShape(Shape, kw_only=True):
    by: str


class MachineRow(Shape, kw_only=True):
    """A MachineView, and beside it what a page shows."""

    id: str
    machine: dict[str, Any]
    provider_name: str
    shard_id: str
    hourly_cost: float
    since_unix_nanos: int
    need_id: Absent[str] = UNSET
    reserved_for: Absent[ReservedFor] = UNSET
    held: Absent[HeldShape] = UNSET


class MachineDetail(MachineRow, kw_only=True):
    cycle: Count
    queried_at: Time
    warnings: Absent[list[str]] = UNSET


class ShardCycle(Shape, kw_only=True):
    cycle: Count
    computed_at_unix_nanos: int


class Machines(Listed, kw_only=True):
    total: Count
    machines: list[MachineRow]
    shards: dict[str, ShardCycle]
    queried_at: Time
    next: Absent[str] = UNSET


class MachineStoryShape(Listed, kw_only=True):
    events: list[EventDocument]
    truncated: bool
    shards: list[str]
    queried_at: Time
    machine: Absent[MachineDocument] = UNSET


class DecisionReason(Shape, kw_only=True):
    code: str
    #: None: a code that this version does not know.
    tier: Count | None
    #: One sentence, made from the facts.
    text: str
    facts: dict[str, str]
    #: Names of objects, such as machine/od-0117.
    refs: list[str]
    cycle: Count


class DecisionShape(Shape, kw_only=True):
    id: str
    cycle: Count
    index: Count
    at_unix_nanos: int
    kind: str
    machine: str
    cluster: str
    need: str
    #: The deciding one first, which may be the rail that holds it back; empty: not told.
    reasons: list[DecisionReason]
    disposition: str
    outcome: str | None
    sentence: str
    #: Dollars by which the bill changes when it is done; None: not told.
    delta_hourly_cost: float | None
    shard_id: str
    grace_seconds: Absent[Count] = UNSET
    preemptor_priority: Absent[int] = UNSET


class Decisions(Listed, kw_only=True):
    decisions: list[DecisionShape]
    queried_at: Time
    next: Absent[str] = UNSET


class CycleInputsShape(Shape, kw_only=True):
    #: SHA-256 of these changes and of the hash before them.
    hash: str
    #: The journal has all of it here: the numbers count everything there was.
    keyframe: bool
    machines: Count
    removed_machines: Count
    #: Whose demand was replaced.
    clusters: Count
    #: Made or given up.
    reservations: Count


class CycleShape(Listed, kw_only=True):
    shard_id: str
    epoch: Count
    cycle: Count
    at_unix_nanos: int
    machines: Count
    needs: Count
    unsatisfied_needs: Count
    total_actions: Count
    #: Seconds that each part of it took; empty: they are not told.
    phase_seconds: dict[str, float]
    #: SHA-256 over the actions in the order of the engine, as the journal has it.
    output_hash: str
    #: What the cycle before was not given; absent: the cycle was not read from the journal.
    inputs: Absent[CycleInputsShape] = UNSET
    decisions: list[DecisionShape]
    queried_at: Time


class Why(Shape, kw_only=True):
    """NeedExplanation, ExplainMachineResponse, WhyNotResponse, CounterfactualResponse, or the last
    decisions about a cluster."""

    shard_id: str
    queried_at: Time
    cycle: Absent[str | int] = UNSET
    sentence: Absent[str] = UNSET
    cycle_name: Absent[str] = UNSET
    decisions: Absent[list[DecisionShape]] = UNSET
    warnings: Absent[list[str]] = UNSET


class CostTotals(Shape, kw_only=True):
    machines: Count
    #: With the price 0.
    committed_machines: Count
    machines_by_state: Counts
    #: Billed.
    dollars_per_hour: float
    idle_dollars_per_hour: float
    #: Declared; never part of a bill.
    expected_interruption_dollars_per_hour: float
    pinned_machines_at_risk: Count
    #: Committed machines, by costs.imputed; in no other number.
    imputed_dollars_per_hour: float
    #: Committed machines without an imputed price.
    unvalued_machines: Count
    #: Of the bill, what claimed machines leave unused.
    waste_dollars_per_hour: float
    #: Of the bill, machines that are Failed, held or claimed by no Need.
    stranded_dollars_per_hour: float


class CostRow(CostTotals, kw_only=True):
    #: Empty: no cluster has the machines, or they have no type or zone.
    name: str
    #: Of the bill of machines that no cluster has, what idleShare=use adds here.
    shared_idle_dollars_per_hour: float


class CostFlag(Shape, kw_only=True):
    severity: str
    code: str
    subject: str
    count: Count
    text: str


class CostHours(Shape, kw_only=True):
    """Of hours of the ledger."""

    machine_hours: float
    committed_machine_hours: float
    unvalued_machine_hours: float
    billed_dollars: float
    imputed_dollars: float
    expected_interruption_dollars: float
    pinned_machine_hours: float
    waste_dollars: float
    idle_dollars: float
    stranded_dollars: float


class CostHoursRow(CostHours, kw_only=True):
    name: str
    shared_idle_dollars: float


class ObservedHours(Shape, kw_only=True):
    from_: Time = field(name="from")
    to: Time
    observed_seconds: float
    unobserved_hours: Count
    #: The first ones.
    unobserved: list[Time]
    partial_hours: Count
    kept_since: Time | None


class CostPeriodShape(Shape, kw_only=True):
    rows: list[CostHoursRow]
    total: CostHours
    shards: dict[str, ObservedHours]


class Costs(Shape, kw_only=True):
    by: str
    cycle: dict[str, Count]
    rows: list[CostRow]
    #: Absent with from: period has the answer then, and rows is empty.
    totals: Absent[CostTotals] = UNSET
    imputed_dollars_per_hour: Absent[float] = UNSET
    waste_dollars_per_hour: Absent[float] = UNSET
    red_flags: Absent[list[CostFlag]] = UNSET
    #: Why a number or a flag cannot be told.
    unknown: Absent[list[str]] = UNSET
    period: Absent[CostPeriodShape] = UNSET
    queried_at: Time
    warnings: Absent[list[str]] = UNSET


class NamedSeries(Shape, kw_only=True):
    name: str
    dollars_per_hour: list[float | None]


class CostSeriesShape(Listed, kw_only=True):
    by: str
    timestamps: list[int]
    step_seconds: Count
    #: Of the whole fleet; null where not every shard was heard.
    dollars_per_hour: list[float | None]
    idle_dollars_per_hour: list[float | None]
    #: What costs most now first; the bill of those without a series of their own is `other`.
    series: list[NamedSeries]
    #: How far back samples are kept.
    kept_seconds: Count
    queried_at: Time


class Pauses(Shape, kw_only=True):
    pauses: list[PauseDocument]
    dry_run: bool
    dry_run_shard_ids: list[str]
    queried_at: Time
    warnings: Absent[list[str]] = UNSET


class Quarantines(Listed, kw_only=True):
    quarantines: list[QuarantineDocument]
    queried_at: Time


class Offerings(Listed, kw_only=True):
    offerings: list[OfferingDocument]
    queried_at: Time


class Thrash(Listed, kw_only=True):
    findings: list[ThrashDocument]
    queried_at: Time


class Regrets(Listed, kw_only=True):
    regrets: list[RegretDocument]
    queried_at: Time


class IsolatedRow(Shape, kw_only=True):
    """A measure of both sides; `interval`: of the difference, null with fewer than 24 hours."""

    measure: str
    unit: str
    pooled: float
    isolated: float
    difference: float
    interval: list[float] | None


class IsolatedOfShard(Shape, kw_only=True):
    shard_id: str
    report: IsolatedDocument
    hours: float
    blocks: Count
    headline: str
    rows: list[IsolatedRow]
    why_no_interval: str
    assumptions: list[str]


class Isolated(Listed, kw_only=True):
    reports: list[IsolatedOfShard]
    queried_at: Time


class InvoiceMonth(Shape, kw_only=True):
    """Declared dollars, never billed."""

    month: str
    cluster: Absent[str] = UNSET
    team: Absent[str] = UNSET
    caused_dollars: float
    borne_dollars: float
    net_dollars: float
    #: Of caused and of borne: what it took from itself.
    own_dollars: float
    count: Count
    pinned: Count
    unknown: Count


class InvoicesShape(Shape, kw_only=True):
    by: Literal["cluster", "team"]
    #: No amount here is billed.
    declared: bool
    months: list[InvoiceMonth]
    #: The newest first; of a shard each.
    statements: list[StatementDocument]
    #: Before the limit.
    total: Count
    #: Times of which statements may be missing.
    gaps: list[StatementGapDocument]
    #: Why a shard keeps none, by shard.
    trouble: dict[str, str]
    queried_at: Time
    warnings: Absent[list[str]] = UNSET
    clamped: Absent[bool] = UNSET
    limit: Absent[Count] = UNSET


class ForecastsOfShard(Shape, kw_only=True):
    shard_id: str
    cycle: Count
    at_unix_nanos: int
    #: Before the limit.
    total: Count
    #: Of all, then of each path that has any.
    reliability: list[ReliabilityDocument]
    #: First forecasts of Needs that are neither met nor gone yet, and those whose p95 has passed.
    open: Count
    overdue: Count
    #: Durations the forecasts are drawn from.
    samples: Count


class Etas(Listed, kw_only=True):
    forecasts: list[ForecastDocument]
    shards: list[ForecastsOfShard]
    queried_at: Time


class Verifiers(Listed, kw_only=True):
    verifiers: list[VerifierDocument]
    queried_at: Time


class Quotas(Listed, kw_only=True):
    quotas: list[QuotaDocument]
    queried_at: Time


class Transfers(Listed, kw_only=True):
    transfers: list[TransferDocument]
    queried_at: Time


class Shortfalls(Listed, kw_only=True):
    #: The most urgent first.
    shortfalls: list[ShortfallDocument]
    #: Without the limit.
    total: Count
    #: They have not synced since the coordinator leads: what they are short of is unknown.
    unknown_shard_ids: list[str]
    queried_at: Time


class SearchResult(Shape, kw_only=True):
    kind: Literal["machine", "need", "cluster", "shard", "offering", "decision", "page"]
    name: str
    title: str
    detail: str


class SearchShape(Shape, kw_only=True):
    results: list[SearchResult]
    queried_at: Time
    warnings: Absent[list[str]] = UNSET


class WhatIfRequest(Shape, kw_only=True):
    """Edits as in a file for `bigfleet whatif --overlay`."""

    edits: Annotated[list[str | dict[str, Any]], Meta(max_length=1000)]
    #: The cycle both sides start from: 18231, 3:18231, or that of each shard,
    #: shard-0@3:18231,shard-1@2:977; the last one unless said.
    at: Annotated[str, Meta(max_length=20_000)] | int = ""
    settle: bool = False
    latencies: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    shard: Text = ""
    #: Axes as `bigfleet whatif --sweep` reads them; more than 400 points get larger steps.
    sweep: Annotated[list[Text], Meta(max_length=2)] = []  # noqa: RUF012
    #: Whether machines are named that the edits take away, or that both sides treat differently.
    machines: bool = False


class WhatIfShape(Shape, kw_only=True):
    cycle: str
    overlay: list[str]
    warnings: list[str]
    removed_machines: Count
    base: dict[str, Any]
    changed: dict[str, Any]
    clusters: list[dict[str, Any]]
    newly_unmet: list[dict[str, Any]]
    newly_met: list[dict[str, Any]]
    moved: list[dict[str, Any]]
    queried_at: Time
    settling: Absent[dict[str, Any]] = UNSET
    sweep: Absent[dict[str, Any]] = UNSET
    fates: Absent[list[dict[str, Any]]] = UNSET
    clamped: Absent[bool] = UNSET
    limit: Absent[Count] = UNSET


class AuditShape(Shape, kw_only=True):
    #: Who asks for it, and why; both are recorded and shown.
    owner: Name
    reason: Name


class PauseRequest(AuditShape, kw_only=True):
    """An empty scope is everything."""

    #: How long it lasts; or `noExpiry`.
    ttl_seconds: Count = 0
    no_expiry: bool = False
    shard_ids: Annotated[list[Name], Meta(max_length=1000)] = []  # noqa: RUF012
    cluster_ids: Annotated[list[Name], Meta(max_length=1000)] = []  # noqa: RUF012
    kinds: Annotated[list[Name], Meta(max_length=16)] = []  # noqa: RUF012


class ResumeRequest(AuditShape, kw_only=True):
    pause_id: Text = ""
    everything: bool = False


class ClearRequest(AuditShape, kw_only=True):
    mode: Literal["recheck", "retry", "forget"]


class ResetRequest(AuditShape, kw_only=True):
    offering: Name


Samples = list[float | None]


class HistoryShape(Shape, kw_only=True):
    """None: nothing was measured then."""

    timestamps: list[int]
    machines_by_state: dict[str, Samples]
    needs_by_state: dict[str, Samples]
    dollars_per_hour: Samples
    idle_dollars_per_hour: Samples
    #: What it costs effectively, and the lower bound of it: of the regret meter.
    effective_dollars_per_hour: Samples
    bound_dollars_per_hour: Samples
    cycle_p99_seconds: Samples


class PausedShape(Shape, kw_only=True):
    pause: PauseDocument
    shard_ids: list[str]
    queried_at: Time
    warnings: Absent[list[str]] = UNSET


class ResumedShape(Shape, kw_only=True):
    removed: list[PauseDocument]
    queried_at: Time
    warnings: Absent[list[str]] = UNSET


class Cleared(Shape, kw_only=True):
    text: str
    shard_id: str
    queried_at: Time
    machine: Absent[MachineRow] = UNSET


class TextShape(Shape, kw_only=True):
    text: str
    shard_ids: list[str]
    queried_at: Time
