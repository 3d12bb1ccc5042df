"""A shard's admin and read side that answers from a script, and remembers who asked what."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

from bigfleet.model.actions import ActionKind, UnmetReason
from bigfleet.model.cluster_reports import (
    ClusterReport,
    ClusterReportReply,
    ReceivedReport,
)
from bigfleet.model.counterfactuals import CounterfactualAnswer, CounterfactualCall
from bigfleet.model.explanations import (
    CandidateOutcome,
    CandidateVerdict,
    Competitor,
    CostView,
    DomainRule,
    DomainVerdict,
    ExplainNeedCall,
    NeedExplanation,
    RejectCount,
    VictimVerdict,
)
from bigfleet.model.figures import AvailableCall, AvailableList, CostAxis, ShardFigures
from bigfleet.model.forecasts import ForecastCall, ForecastReport
from bigfleet.model.journal import JournalEvent, JournalHeader, JournalRecord
from bigfleet.model.machine_answers import (
    Check,
    CycleCall,
    CycleInputs,
    CycleView,
    DecisionList,
    DecisionQuery,
    MachineAnswer,
    MachineCall,
    MachineStep,
    WhyNot,
    WhyNotCall,
)
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import Reservation, ReservationKind
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import EngineOptions
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.provider_calls import Peer
from bigfleet.model.reasons import ToldReason
from bigfleet.model.regret import Regret
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import RollupRefusal
from bigfleet.model.shard_admin import (
    Audit,
    ClearedMachine,
    FetchCall,
    MachineStory,
    PauseCall,
    Paused,
    PauseList,
    ReleasedQuarantine,
    ResumeCall,
    Resumed,
    StoryCall,
    TailCall,
)
from bigfleet.model.shard_views import (
    ActionView,
    ClearMode,
    CoordinatorLink,
    Disposition,
    DomainCoverage,
    DrainStage,
    DrainView,
    FailedView,
    MachineLoss,
    MachineQuery,
    MachineView,
    MatchingSupply,
    NeedCounts,
    NeedListing,
    NeedPage,
    NeedQuery,
    NeedRow,
    NeedView,
    OfferingState,
    OfferingView,
    OwnerSource,
    ProviderCalls,
    ProviderStatus,
    Quarantine,
    QuarantineKind,
    ReasonCount,
    SessionView,
    ShardStatus,
    StoryEvent,
    StorySource,
)
from bigfleet.model.statements import InvoiceCall, Invoices
from bigfleet.model.thrash import ThrashFinding
from bigfleet.model.verifier_views import (
    PolicySet,
    VerifierIncident,
    VerifierPolicy,
    VerifierView,
)
from bigfleet.model.what_if import (
    WhatIfAnswer,
    WhatIfCall,
)
from bigfleet.wire.machine_listings import MachineListing
from bigfleet.wire.need_listings import EncodedNeeds
from tests.wire import (
    cost_answers,
    counterfactual_answer,
    figures_answer,
    forecast_answer,
    isolated_answer,
    regret_answer,
    statement_answers,
    thrash_answers,
    what_if_answer,
)
from tests.wire.report_answers import REPLY, REPORT
from tests.wire.watch_answers import ScriptedWatch

FINGERPRINT = "p=1|ipb=0|rpb=0|reqs=|spr="
PAUSE = Pause(
    "p-1",
    PauseSource.RPC,
    PauseScope(("shard-0",), ("shop",), (ActionKind.RECLAIM, ActionKind.DELETE), True),
    "ada",
    "drill",
    7,
    8,
    "bigfleet://admin",
    9,
    "lifted by ada: it is over",
)
FLAG = Pause("flag", PauseSource.FLAG)
CALLS = ProviderCalls(300, 9, 2, 0.5, 1.5)
STATUS = ShardStatus(
    shard_id="shard-0",
    epoch=3,
    version="1.2",
    cycle=9,
    last_cycle_at=10,
    last_cycle_seconds=0.25,
    not_ready_reason="not listed yet",
    sessions=1,
    machines=2,
    needs=3,
    shortfalls=4,
    pauses=(PAUSE, FLAG),
    dry_run=True,
    queue_depth=5,
    in_flight=6,
    providers=(ProviderStatus("sim", "h:9000", "r", True, 11, "down", 12, True, CALLS),),
    coordinator=CoordinatorLink("c:7790", True, 13, 14, "late"),
    ownership_revision=15,
    journal_degraded=True,
    need_states=NeedCounts(1, 2, 3, 4),
    stuck_pods=5,
    cpu_cores=0.75,
    resident_bytes=5 * 2**30,
    verifier_incidents=1,
    verifier_incident="Delete of bm-1 vetoed (V2)",
    verifier_error="broken",
    losses=(
        MachineLoss("failed", "shop", "sim", CapacityType.SPOT, 3, 20, 21, "sp-1", "taken back"),
    ),
    lost_waiting=2,
    journal_error="the journal cannot be written: No space left on device",
    data_dir="/var/lib/bigfleet",
)
POLICY = VerifierPolicy(("0 22 * * fri for 60h cluster=shop",), 120.5, 0.25)
VERIFIER = VerifierView(
    enabled=True,
    policy=POLICY,
    set_by=Audit("ada", "sale"),
    set_at=16,
    open_freezes=POLICY.freeze_windows,
    spend_per_hour=99.5,
    vetoes={"V2": 1, "V6": 12},
    incidents=1,
    last_incidents=(
        VerifierIncident(17, 9, "V2", ActionKind.DELETE, "bm-1", "", "bare metal is never deleted"),
    ),
    error="broken",
)
SESSION = SessionView(
    *("shop", "bigfleet://cluster/shop", "v1alpha1"),
    *(1, 2, 3, 4, 5, 6, 7, 8),
    connected=True,
    report=ReceivedReport(REPORT, 22, stale=True),
    need_states=NeedCounts(1, 0, 2, 0),
    stuck_pods=3,
    refused_rollup=RollupRefusal("too_heavy", "64 allowed", 30, 2),
)
SILENT = SessionView("bank", "", "", 1, None, 0, 0, 0, None, 0, 0, False)
BARE = MachineView(Machine("m-0", MachineState.SPECULATIVE, CapacityType.SPOT), "sim")
FULL = MachineView(
    machine=Machine(
        "m-1",
        MachineState.DRAINING,
        CapacityType.ON_DEMAND,
        Host("sim", "h-1"),
        "shop",
        "a3",
        "z-a",
        {"rack": "r\x00"},
        Resources.parse({"cpu": "8"}),
        Resources.parse({"cpu": "7500m"}),
        0.5,
        0.25,
        "odd",
        Assigned(5, 0.5, float("inf"), "shop", FINGERPRINT, "g\x00"),
    ),
    provider="sim",
    node_name="n-1",
    owner_source=OwnerSource.OVERRIDE,
    state_since=1,
    state_deadline=2,
    idle_since=3,
    pending=ActionView(
        9,
        4,
        ActionKind.PREEMPT,
        "m-1",
        "shop",
        NeedKey("ml", FINGERPRINT, ""),
        "because",
        30,
        100,
        Disposition.ENQUEUED,
        "draining",
        5,
    ),
    drain=DrainView("bf1-7", ActionKind.PREEMPT, DrainStage.EVICTING, True, False, 6),
    reservation=Reservation(
        "m-1", ReservationKind.PREEMPTION, NeedKey("ml", FINGERPRINT, "g"), 600
    ),
    failed=FailedView("timeout", 1, 2, 3, True),
    unseen_lists=1,
    withheld_by_quota=True,
    empty=True,
    lost="never_joined",
)
EVENT = StoryEvent(
    1,
    StorySource.EXECUTOR,
    "it was configured",
    9,
    MachineState.IDLE,
    MachineState.CONFIGURING,
    "shop",
    "op-7",
    "bf1-7",
    3,
    11,
    "m-1",
)
RECORDS = (
    JournalRecord(1, 9, 10, EVENT),
    JournalRecord(2, 9, 11, JournalEvent("pause_set", "p-1", "paused", {"rows": "1"}, "x", PAUSE)),
)
PIECES = (JournalHeader("shard-0", 3, "1.2.3", EngineOptions(), 10, 1), b"one", b"two")
assert FULL.pending is not None
EXPLAINED = MachineAnswer(
    9,
    FULL,
    "it is Configured",
    (MachineStep("next best", "m-2", Resources.of({"cpu": 1000}), Resources(), ("m-2",)),),
    (FULL.pending,),
    3,
    7,
)
assert FULL.pending is not None
#: The same action as a decision, with why and what it costs; and one of which neither is told.
DECIDED = (
    replace(
        FULL.pending,
        reasons=(ToldReason("cost.rank", "cheapest", {"rank": "1"}, ("machine/m-1",)),),
        bill_change=0.0,
    ),
    FULL.pending,
)
_CHECK = Check("min-unit cpu", False, "8", "7500m")
REFUSED = WhyNot(9, "too small", _CHECK, (Check("held", True, "not held", ""), _CHECK), ("more",))
HELD = Quarantine(QuarantineKind.ROLLUP, "shop", 100, 0, 1, 3, 4, 5)
RESTING = OfferingView(
    "sim/a3/z-a/Spot", OfferingState.HALF_OPEN, "stockout", 2, 3, 4, "none left", 5
)
UNMET = NeedView(
    need=Need(
        "ml",
        Profile.of(
            [Requirement.of("rack", Operator.SAME)],
            [Spread("zone", 1, WhenUnsatisfiable.DO_NOT_SCHEDULE)],
            5,
            16,
            27,
        ),
        Resources.parse({"cpu": "8"}),
        Resources.parse({"cpu": "2"}),
        7,
        "rack\x00a=b,;",
    ),
    satisfied=False,
    deficit=Resources.parse({"cpu": "4"}),
    claimed=1,
    bootstraps=2,
    provisions=3,
    same_domain="r-1",
    same_satisfiable=True,
    parked=True,
    parked_age=4,
    unmet_age=5,
    unmet_reason=UnmetReason.TOPOLOGY_UNSATISFIABLE,
    supply=MatchingSupply(1, 2, 10_000, True),
    victims=1,
    freed=Resources.parse({"cpu": "1"}),
    same_candidates=(DomainCoverage("r-1", 500, False), DomainCoverage("r-2", 1, False)),
)
MET = NeedView(Need("shop", Profile.of(priority=1), Resources.parse({"cpu": "1"})), True, claimed=1)


BLOCKED = NeedRow(
    UNMET,
    NeedState.BLOCKED,
    ToldReason("rail.paused", "paused by ada: drill", {"owner": "ada"}, ("machine/m-1",)),
    12,
    "bigfleet resume p-1 --reason WHY",
    3,
    4,
    sources=("pod", "buffer"),
    forecast=forecast_answer.TIMED.brief,
)
assert FULL.reservation is not None
EXPLAINED_NEED = NeedExplanation(
    cycle=9,
    view=UNMET,
    sentence="paused by ada: drill",
    steps=(MachineStep("credit", "1 machine", Resources.of({"cpu": 1000}), Resources(), ("m-1",)),),
    candidates=(
        CandidateVerdict(
            "m-2",
            MachineState.IDLE,
            CandidateOutcome.HELD,
            0,
            CostView(1.0, 0.5, 4.0, 2.0, 3.0),
            "claimed",
            (_CHECK,),
            UNMET.need.key,
            7,
        ),
    ),
    total_candidates=3,
    competitors=(Competitor(UNMET.need.key, 5, 2, True),),
    victims=(VictimVerdict("m-3", "ml", 1, 4.0, 1.0, 1.0, 1.0, 1.0, True, 30, "spared"),),
    reservations=(FULL.reservation,),
    reasons=(ToldReason("rail.paused", "paused by ada: drill", {"owner": "ada"}, ("x",)),),
    rejects=(RejectCount(CandidateOutcome.BACKOFF, "supply.backoff", 4),),
    machines=4,
    need_id="n123",
    state=NeedState.BLOCKED,
    decided_at=8,
    notes=("cut",),
    domains=(
        DomainVerdict(
            "r-1",
            1,
            3,
            Resources.of({"cpu": 3000}),
            0.5,
            0.25,
            1.0,
            1.5,
            DomainRule.TIGHTER,
            "r-2 fits more tightly",
        ),
    ),
    forecast=forecast_answer.TIMED,
)
SERVED = NeedRow(MET, NeedState.MET, ToldReason("keep.order", "served by 1 machines"), 13)
REASONS = (ReasonCount("keep.order", 90), ReasonCount("rail.paused", 5))
INPUTS = CycleInputs(b"in", True, 7, 8, 9, 10)
LISTING = NeedListing(9, 10, NeedCounts(90, 5, 4, 1), 95, (BLOCKED, SERVED), 0, REASONS)
#: A fleet file in lines: longer than one frame.
FLEET_LINES = (
    b'{"version":1,"kind":"Fleet"}\n',
    *(b'{"need":{"cluster":"%s"}}\n' % (b"x" * 90_000) for _ in range(4)),
)


@dataclass
class ScriptedAdmin(cost_answers.ScriptedCosts, isolated_answer.ScriptedIsolated, ScriptedWatch):
    rows: Sequence[MachineView] = (BARE, FULL)
    needs_rows: Sequence[NeedView] = (UNMET, MET)
    listing: NeedListing = LISTING
    closed: bool = False

    async def needs(self, cluster: str, limit: int) -> NeedPage:
        self.asked.append(("needs", cluster, limit))
        return NeedPage(9, 10, 100, tuple(self.needs_rows))

    async def status(self) -> ShardStatus:
        self.asked.append(("status",))
        return STATUS

    async def pause(self, call: PauseCall, peer: Peer) -> Paused:
        self.asked.append(("pause", call, peer))
        return Paused(PAUSE, (PAUSE, FLAG))

    async def resume(self, call: ResumeCall, peer: Peer) -> Resumed:
        self.asked.append(("resume", call, peer))
        return Resumed((PAUSE,), (FLAG,))

    async def pauses(self, include_expired: bool) -> PauseList:
        self.asked.append(("pauses", include_expired))
        return PauseList((PAUSE, FLAG), True)

    async def sessions(self, cluster: str) -> Sequence[SessionView]:
        self.asked.append(("sessions", cluster))
        return (SESSION, SILENT)

    async def machines(self, query: MachineQuery) -> MachineListing:
        self.asked.append(("machines", query))
        return MachineListing(9, 10, 100, self._rows())

    async def _rows(self) -> AsyncGenerator[MachineView, None]:
        try:
            for row in self.rows:
                yield row
        finally:
            self.closed = True

    async def story(self, call: StoryCall) -> MachineStory:
        self.asked.append(("story", call))
        return MachineStory(FULL, (EVENT,), True)

    async def explain_need(self, call: ExplainNeedCall) -> NeedExplanation:
        self.asked.append(("explain_need", call))
        return EXPLAINED_NEED

    async def explain_machine(self, call: MachineCall) -> MachineAnswer:
        self.asked.append(("explain_machine", call))
        return EXPLAINED

    async def what_if(self, call: WhatIfCall) -> WhatIfAnswer:
        self.asked.append(("what_if", call))
        return what_if_answer.COMPARED

    async def counterfactual(self, call: CounterfactualCall) -> CounterfactualAnswer:
        self.asked.append(("counterfactual", call))
        return counterfactual_answer.ANSWER

    async def figures(self, axes: Sequence[CostAxis], cycle: int) -> ShardFigures:
        self.asked.append(("figures", axes, cycle))
        return figures_answer.FIGURES

    async def available(self, call: AvailableCall) -> AvailableList:
        self.asked.append(("available", call))
        return figures_answer.AVAILABLE

    async def why_not(self, call: WhyNotCall) -> WhyNot:
        self.asked.append(("why_not", call))
        return REFUSED

    async def decisions(self, query: DecisionQuery) -> DecisionList:
        self.asked.append(("decisions", query))
        return DecisionList(DECIDED, True)

    async def cycle(self, call: CycleCall) -> CycleView:
        self.asked.append(("cycle", call))
        return CycleView(9, 10, DECIDED, 3, 4, 5, 6, {"phase1": 7, "emit": 8}, b"out", INPUTS)

    async def clear(
        self, machine_id: str, mode: ClearMode, audit: Audit, peer: Peer
    ) -> ClearedMachine:
        self.asked.append(("clear", machine_id, mode, audit, peer))
        return ClearedMachine(None, "forgotten")

    async def quarantines(self) -> Sequence[Quarantine]:
        self.asked.append(("quarantines",))
        return (HELD,)

    async def release(
        self, kind: QuarantineKind, subject: str, accept: bool, audit: Audit, peer: Peer
    ) -> ReleasedQuarantine:
        self.asked.append(("release", kind, subject, accept, audit, peer))
        return ReleasedQuarantine(HELD, "accepted")

    async def offerings(self) -> Sequence[OfferingView]:
        self.asked.append(("offerings",))
        return (RESTING,)

    async def reset_offering(self, name: str, audit: Audit, peer: Peer) -> str:
        self.asked.append(("reset_offering", name, audit, peer))
        return "buying again"

    async def invoices(self, call: InvoiceCall) -> Invoices:
        self.asked.append(("invoices", call))
        return statement_answers.INVOICES

    async def thrash(self) -> Sequence[ThrashFinding]:
        self.asked.append(("thrash",))
        return (thrash_answers.THRASHING,)

    async def forecasts(self, call: ForecastCall) -> ForecastReport:
        self.asked.append(("forecasts", call))
        return forecast_answer.REPORT

    async def regret(self) -> Regret:
        self.asked.append(("regret",))
        return regret_answer.MEASURED

    async def verifier(self) -> VerifierView:
        self.asked.append(("verifier",))
        return VERIFIER

    async def set_verifier_policy(
        self, policy: VerifierPolicy, from_settings: bool, audit: Audit, peer: Peer
    ) -> PolicySet:
        self.asked.append(("set_verifier_policy", policy, from_settings, audit, peer))
        return PolicySet(policy, "set")

    async def report_cluster(self, report: ClusterReport) -> ClusterReportReply:
        self.asked.append(("report_cluster", report))
        return REPLY

    async def list_needs(self, query: NeedQuery) -> EncodedNeeds:
        self.asked.append(("list_needs", query))
        return EncodedNeeds.of(self.listing)

    async def dump_fleet(self, cycle: int) -> AsyncGenerator[bytes, None]:
        self.asked.append(("dump_fleet", cycle))
        for line in FLEET_LINES:
            yield line

    async def tail_journal(self, call: TailCall) -> AsyncGenerator[JournalRecord, None]:
        self.asked.append(("tail_journal", call))
        for record in RECORDS:
            yield record

    async def fetch_journal(self, call: FetchCall) -> AsyncGenerator[JournalHeader | bytes, None]:
        self.asked.append(("fetch_journal", call))
        for piece in PIECES:
            yield piece
