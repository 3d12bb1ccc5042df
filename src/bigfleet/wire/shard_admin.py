"""`bigfleet.admin.v1alpha1.ShardAdmin`: the people's side of a shard, both ends.

Calls that change something say who and why. Who may call what is checked before a handler is
asked (`authorisation`); what a call means is its handler's business.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply
from bigfleet.model.costs import CostCall, CostReport
from bigfleet.model.counterfactuals import CounterfactualAnswer, CounterfactualCall
from bigfleet.model.counterfactuals import part_of_cluster as own_part
from bigfleet.model.explanations import ExplainNeedCall, NeedExplanation
from bigfleet.model.figures import AvailableCall, AvailableList, CostAxis, ShardFigures
from bigfleet.model.forecasts import ForecastCall, ForecastReport
from bigfleet.model.machine_answers import (
    CycleCall,
    CycleView,
    DecisionList,
    DecisionQuery,
    MachineAnswer,
    MachineCall,
    WhyNot,
    WhyNotCall,
)
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.regret import Regret
from bigfleet.model.shard_admin import (
    Audit,
    ClearedMachine,
    MachineStory,
    PauseCall,
    Paused,
    PauseList,
    ReleasedQuarantine,
    ResumeCall,
    Resumed,
    StoryCall,
)
from bigfleet.model.shard_views import (
    ClearMode,
    MachineQuery,
    NeedQuery,
    OfferingView,
    Quarantine,
    QuarantineKind,
    SessionView,
    ShardStatus,
)
from bigfleet.model.statements import InvoiceCall, Invoices
from bigfleet.model.thrash import ThrashFinding
from bigfleet.model.verifier_views import PolicySet, VerifierPolicy, VerifierView
from bigfleet.model.what_if import WhatIfAnswer, WhatIfCall, is_about, part_of_cluster
from bigfleet.wire import counterfactuals, isolated
from bigfleet.wire import shard_views as views
from bigfleet.wire.cluster_report_records import MOST_BYTES, REPLY, REPORT, why_out_of_bounds
from bigfleet.wire.cost_reports import COSTS, cost_call, cost_request
from bigfleet.wire.explanations import EXPLAIN_NEED_CALL, NEED_EXPLANATION
from bigfleet.wire.figures import AVAILABLE, AVAILABLE_CALL, FIGURES, figures_asked
from bigfleet.wire.fleet_frames import dump_request, fleet_frames
from bigfleet.wire.forecasts import FORECAST_CALL, FORECASTS
from bigfleet.wire.journal_rpcs import (
    FETCH_CALL,
    TAIL_CALL,
    JournalHandler,
    fetch_frames,
    piece_in,
    record_in,
    tail_frames,
)
from bigfleet.wire.machine_answers import (
    CYCLE_CALL,
    CYCLE_VIEW,
    DECISION_LIST,
    DECISION_QUERY,
    MACHINE_ANSWER,
    MACHINE_CALL,
    WHY_NOT,
    WHY_NOT_CALL,
)
from bigfleet.wire.machine_listings import (
    MachineListing,
    machine_frames,
    machine_page,
    machines_request,
)
from bigfleet.wire.machine_views import MACHINE_VIEW
from bigfleet.wire.need_listings import (
    NEED_ROW,
    OWN_NEEDS,
    EncodedNeeds,
    need_frames,
    need_listing,
    need_query_message,
)
from bigfleet.wire.pause_rpcs import PAUSE_CALL, PAUSE_LIST, PAUSED, RESUME_CALL, RESUMED
from bigfleet.wire.record_codecs import NOT_NEGATIVE, RecordCodec
from bigfleet.wire.regrets import REGRET
from bigfleet.wire.rpcs import (
    Answer,
    Answering,
    Gate,
    Kind,
    Page,
    RpcClient,
    Service,
    cluster_of,
    no_arguments,
    read_as,
    refused,
    require_cluster,
    rows,
)
from bigfleet.wire.statements import INVOICE_CALL, INVOICES
from bigfleet.wire.thrash_findings import THRASH_FINDING
from bigfleet.wire.verifier_views import POLICY_SET, VERIFIER, policy_arguments, policy_request
from bigfleet.wire.watch_rpcs import (
    EVENT,
    MAP_CALL,
    WATCH_CALL,
    WatchHandler,
    event_frames,
    map_frames,
    map_piece,
)
from bigfleet.wire.what_ifs import MOST_BYTES as MOST_WHAT_IF_BYTES
from bigfleet.wire.what_ifs import answer_message, answer_of, call_message, call_of

#: Seconds: a minute of engine time, and the way there and back.
WHAT_IF_DEADLINE = 90.0


class ReportHandler(Protocol):
    async def report_cluster(self, report: ClusterReport) -> ClusterReportReply: ...


class ShardAdminHandler(
    isolated.IsolatedHandler, ReportHandler, JournalHandler, WatchHandler, Protocol
):
    """What answers; each raises Rejected where the contract says so."""

    async def status(self) -> ShardStatus: ...
    async def pause(self, call: PauseCall, peer: Peer) -> Paused: ...
    async def resume(self, call: ResumeCall, peer: Peer) -> Resumed: ...
    async def pauses(self, include_expired: bool) -> PauseList: ...
    async def sessions(self, cluster: str) -> Sequence[SessionView]: ...
    async def machines(self, query: MachineQuery) -> MachineListing: ...
    async def story(self, call: StoryCall) -> MachineStory: ...
    async def clear(
        self, machine_id: str, mode: ClearMode, audit: Audit, peer: Peer
    ) -> ClearedMachine: ...
    async def quarantines(self) -> Sequence[Quarantine]: ...
    async def release(
        self, kind: QuarantineKind, subject: str, accept: bool, audit: Audit, peer: Peer
    ) -> ReleasedQuarantine: ...
    async def offerings(self) -> Sequence[OfferingView]: ...
    async def reset_offering(self, name: str, audit: Audit, peer: Peer) -> str:
        """A sentence."""

    async def thrash(self) -> Sequence[ThrashFinding]: ...
    async def regret(self) -> Regret: ...
    async def invoices(self, call: InvoiceCall) -> Invoices: ...
    async def verifier(self) -> VerifierView: ...
    async def set_verifier_policy(
        self, policy: VerifierPolicy, from_settings: bool, audit: Audit, peer: Peer
    ) -> PolicySet: ...
    async def explain_machine(self, call: MachineCall) -> MachineAnswer: ...
    async def why_not(self, call: WhyNotCall) -> WhyNot: ...
    async def decisions(self, query: DecisionQuery) -> DecisionList: ...
    async def cycle(self, call: CycleCall) -> CycleView: ...
    async def list_needs(self, query: NeedQuery) -> EncodedNeeds: ...
    async def explain_need(self, call: ExplainNeedCall) -> NeedExplanation: ...
    def dump_fleet(self, cycle: int) -> AsyncGenerator[bytes, None]:
        """Whole lines of a fleet file; 0: of the last finished cycle."""

    async def what_if(self, call: WhatIfCall) -> WhatIfAnswer: ...
    async def counterfactual(self, call: CounterfactualCall) -> CounterfactualAnswer: ...
    async def figures(self, axes: Sequence[CostAxis], cycle: int) -> ShardFigures: ...
    async def available(self, call: AvailableCall) -> AvailableList: ...
    async def costs(self, call: CostCall) -> CostReport: ...
    async def forecasts(self, call: ForecastCall) -> ForecastReport: ...


SHARD_ADMIN: Service[ShardAdminHandler] = Service("bigfleet.admin.v1alpha1.ShardAdmin", "shard")
_STORY_CALL = RecordCodec(StoryCall, pb.GetMachineStoryRequest, limit=NOT_NEGATIVE)


def _clear_request(machine_id: str, mode: ClearMode) -> pb.ClearFailedMachineRequest:
    return pb.ClearFailedMachineRequest(machine_id=machine_id, mode=views.number(mode))


def _clear_arguments(request: pb.ClearFailedMachineRequest) -> tuple[str, ClearMode]:
    mode = views.known(ClearMode, request.mode)
    if mode is None:
        raise Rejected(Code.INVALID_ARGUMENT, "clear it how? RECHECK, RETRY or FORGET")
    return request.machine_id, mode


def _release_request(
    kind: QuarantineKind, subject: str, accept: bool
) -> pb.ReleaseQuarantineRequest:
    return pb.ReleaseQuarantineRequest(kind=views.number(kind), subject=subject, accept=accept)


def _release_arguments(
    request: pb.ReleaseQuarantineRequest,
) -> tuple[QuarantineKind, str, bool]:
    kind = views.known(QuarantineKind, request.kind)
    if kind is None:
        raise Rejected(Code.INVALID_ARGUMENT, "release what? ROLLUP or PROVIDER_LIST")
    return kind, request.subject, request.accept


def _text_in(answer: pb.ResetOfferingResponse) -> str:
    return answer.text


def answering_reports(handler: ReportHandler) -> Answering:
    """The handler gets only reports that are within bounds and of their senders' own cluster."""

    async def answer(content: bytes, peer: Peer) -> bytes:
        request = read_as(pb.ReportClusterRequest, content, MOST_BYTES)
        require_cluster(peer, request.report.cluster_id)
        if problem := why_out_of_bounds(request.report):
            raise Rejected(Code.INVALID_ARGUMENT, problem)
        reply = await handler.report_cluster(REPORT.record(request.report))
        return REPLY.message(reply).SerializeToString(deterministic=True)

    return answer


REPORT_CLUSTER = SHARD_ADMIN.by_hand("ReportCluster", Kind.READ, Gate.CLUSTER, answering_reports)


def answering_what_ifs(handler: ShardAdminHandler) -> Answering:
    """A cluster may ask about its own demand, and is told of itself only."""

    async def answer(content: bytes, peer: Peer) -> bytes:
        call = call_of(read_as(pb.WhatIfRequest, content, MOST_WHAT_IF_BYTES))
        cluster = cluster_of(peer)
        if cluster and not is_about(call, cluster):
            raise refused(peer, f"an edit of the demand of {cluster}, in the latest cycle")
        told = await handler.what_if(call)
        if cluster:
            told = part_of_cluster(told, cluster)
        return answer_message(told).SerializeToString(deterministic=True)

    return answer


WHAT_IF = SHARD_ADMIN.by_hand(
    "WhatIf", Kind.READ, Gate.READERS_AND_CLUSTER, answering_what_ifs, "whatif"
)


def answering_counterfactuals(handler: ShardAdminHandler) -> Answering:
    """A cluster may ask about its own Needs, and is told of changes of them only."""

    async def answer(content: bytes, peer: Peer) -> bytes:
        request = read_as(pb.CounterfactualRequest, content, MOST_WHAT_IF_BYTES)
        call = counterfactuals.CALL.record(request)
        cluster = cluster_of(peer)
        if cluster and (call.need.cluster != cluster or call.cycle):
            raise refused(peer, f"a Need of {cluster}, in the latest cycle")
        told = await handler.counterfactual(call)
        return counterfactuals.answer_bytes(own_part(told, cluster) if cluster else told)

    return answer


COUNTERFACTUAL = SHARD_ADMIN.by_hand(
    "Counterfactual", Kind.READ, Gate.READERS_AND_CLUSTER, answering_counterfactuals, "why"
)


class WhatIfClient(RpcClient):
    """A person's end, or a cluster's about its own demand."""

    async def what_if(self, call: WhatIfCall) -> WhatIfAnswer:
        """RESOURCE_EXHAUSTED: two are running already; UNIMPLEMENTED: the shard is older."""
        request = call_message(call).SerializeToString()
        content = await self.line.call(WHAT_IF.path, request, WHAT_IF_DEADLINE)
        return WHAT_IF.read(content, pb.WhatIfResponse, answer_of)

    async def counterfactual(self, call: CounterfactualCall) -> CounterfactualAnswer:
        """RESOURCE_EXHAUSTED and UNIMPLEMENTED as for a what-if."""
        request = counterfactuals.call_bytes(call)
        content = await self.line.call(COUNTERFACTUAL.path, request, WHAT_IF_DEADLINE)
        read = counterfactuals.ANSWER.record
        return COUNTERFACTUAL.read(content, pb.CounterfactualResponse, read)


class ShardAdminClient(WhatIfClient):
    """Records out, records back, every failure a Rejected: UNIMPLEMENTED of an older shard."""

    isolated = SHARD_ADMIN.read(
        "GetIsolated",
        isolated.call_message,
        isolated.arguments,
        isolated.IsolatedHandler.isolated,
        isolated.ISOLATED_REPORT,
        "reports isolated",
        deadline=WHAT_IF_DEADLINE,
    )
    status = SHARD_ADMIN.read(
        "GetStatus",
        pb.GetShardStatusRequest,
        no_arguments,
        ShardAdminHandler.status,
        views.STATUS,
        "status",
    )
    pause = SHARD_ADMIN.write_record(
        "Pause",
        PAUSE_CALL.message,
        PAUSE_CALL.record,
        ShardAdminHandler.pause,
        PAUSED,
        "pause set",
    )
    resume = SHARD_ADMIN.write_record(
        "Resume",
        RESUME_CALL.message,
        RESUME_CALL.record,
        ShardAdminHandler.resume,
        RESUMED,
        "resume",
    )
    pauses = SHARD_ADMIN.read(
        "ListPauses",
        shared.ListPausesRequest,
        lambda request: (request.include_expired,),
        ShardAdminHandler.pauses,
        PAUSE_LIST,
        "pause list",
    )
    sessions = SHARD_ADMIN.read(
        "ListSessions",
        pb.ListSessionsRequest,
        lambda request: (request.cluster_id,),
        ShardAdminHandler.sessions,
        rows(pb.ListSessionsResponse, "sessions", views.SESSION),
        "clusters list",
    )
    machines = SHARD_ADMIN.listing(
        "ListMachines",
        machines_request,
        machine_frames,
        Page(pb.ListMachinesResponse, "machine", MACHINE_VIEW.record, machine_page),
        "machines",
        "machines list",
    )
    story = SHARD_ADMIN.read(
        "GetMachineStory",
        _STORY_CALL.message,
        lambda request: (_STORY_CALL.record(request),),
        ShardAdminHandler.story,
        RecordCodec(
            MachineStory, pb.GetMachineStoryResponse, machine=MACHINE_VIEW, events=views.EVENT
        ),
        "machines story",
    )
    clear = SHARD_ADMIN.write(
        "ClearFailedMachine",
        _clear_request,
        _clear_arguments,
        ShardAdminHandler.clear,
        RecordCodec(ClearedMachine, pb.ClearFailedMachineResponse, machine=MACHINE_VIEW),
        "machines clear",
    )
    quarantines = SHARD_ADMIN.read(
        "ListQuarantines",
        pb.ListQuarantinesRequest,
        no_arguments,
        ShardAdminHandler.quarantines,
        rows(pb.ListQuarantinesResponse, "quarantines", views.QUARANTINE),
        "quarantines list",
    )
    release = SHARD_ADMIN.write(
        "ReleaseQuarantine",
        _release_request,
        _release_arguments,
        ShardAdminHandler.release,
        RecordCodec(ReleasedQuarantine, pb.ReleaseQuarantineResponse, quarantine=views.QUARANTINE),
        "quarantines release",
    )
    offerings = SHARD_ADMIN.read(
        "ListOfferings",
        pb.ListOfferingsRequest,
        no_arguments,
        ShardAdminHandler.offerings,
        rows(pb.ListOfferingsResponse, "offerings", views.OFFERING),
        "reports offerings",
    )
    reset_offering = SHARD_ADMIN.write(
        "ResetOffering",
        pb.ResetOfferingRequest,
        lambda request: (request.name,),
        ShardAdminHandler.reset_offering,
        Answer(
            pb.ResetOfferingResponse,
            lambda text: pb.ResetOfferingResponse(text=text),
            _text_in,
        ),
        "reports offerings",
    )
    thrash = SHARD_ADMIN.read(
        "ListThrash",
        pb.ListThrashRequest,
        no_arguments,
        ShardAdminHandler.thrash,
        rows(pb.ListThrashResponse, "findings", THRASH_FINDING),
        "reports thrash",
    )
    regret = SHARD_ADMIN.read(
        "GetRegret",
        pb.GetRegretRequest,
        no_arguments,
        ShardAdminHandler.regret,
        Answer(
            pb.GetRegretResponse,
            lambda regret: pb.GetRegretResponse(regret=REGRET.message(regret)),
            lambda answer: REGRET.record(answer.regret),
        ),
        "reports regret",
    )
    invoices = SHARD_ADMIN.read(
        "ListInvoices",
        INVOICE_CALL.message,
        lambda request: (INVOICE_CALL.record(request),),
        ShardAdminHandler.invoices,
        INVOICES,
        "reports invoices",
    )
    verifier = SHARD_ADMIN.read(
        "GetVerifier",
        pb.GetVerifierRequest,
        no_arguments,
        ShardAdminHandler.verifier,
        VERIFIER,
        "reports verifier",
    )
    set_verifier_policy = SHARD_ADMIN.write(
        "SetVerifierPolicy",
        policy_request,
        policy_arguments,
        ShardAdminHandler.set_verifier_policy,
        POLICY_SET,
        "reports verifier",
    )
    needs = SHARD_ADMIN.listing(
        "ListNeeds",
        need_query_message,
        need_frames,
        Page(pb.ListNeedsResponse, "need", NEED_ROW.record, need_listing),
        "needs",
        "needs",
        OWN_NEEDS,
    )
    explain_need = SHARD_ADMIN.read(
        "ExplainNeed",
        EXPLAIN_NEED_CALL.message,
        lambda request: (EXPLAIN_NEED_CALL.record(request),),
        ShardAdminHandler.explain_need,
        NEED_EXPLANATION,
        "why",
    )
    explain_machine = SHARD_ADMIN.read(
        "ExplainMachine",
        MACHINE_CALL.message,
        lambda request: (MACHINE_CALL.record(request),),
        ShardAdminHandler.explain_machine,
        MACHINE_ANSWER,
        "why",
    )
    why_not = SHARD_ADMIN.read(
        "WhyNot",
        WHY_NOT_CALL.message,
        lambda request: (WHY_NOT_CALL.record(request),),
        ShardAdminHandler.why_not,
        WHY_NOT,
        "why-not",
    )
    decisions = SHARD_ADMIN.read(
        "ListDecisions",
        DECISION_QUERY.message,
        lambda request: (DECISION_QUERY.record(request),),
        ShardAdminHandler.decisions,
        DECISION_LIST,
    )
    cycle = SHARD_ADMIN.read(
        "GetCycle",
        CYCLE_CALL.message,
        lambda request: (CYCLE_CALL.record(request),),
        ShardAdminHandler.cycle,
        CYCLE_VIEW,
        "why",
    )
    figures = SHARD_ADMIN.read(
        "GetFigures", pb.GetFiguresRequest, figures_asked, ShardAdminHandler.figures, FIGURES
    )
    available = SHARD_ADMIN.read(
        "ListAvailable",
        AVAILABLE_CALL.message,
        lambda request: (AVAILABLE_CALL.record(request),),
        ShardAdminHandler.available,
        AVAILABLE,
    )
    costs = SHARD_ADMIN.read(
        "GetCosts", cost_request, cost_call, ShardAdminHandler.costs, COSTS, "reports cost"
    )
    forecasts = SHARD_ADMIN.read(
        "GetForecasts",
        FORECAST_CALL.message,
        lambda request: (FORECAST_CALL.record(request),),
        ShardAdminHandler.forecasts,
        FORECASTS,
        "reports eta",
    )
    tail_journal = SHARD_ADMIN.stream(
        "TailJournal", TAIL_CALL.message, tail_frames, pb.JournalRecord, record_in
    )
    #: The header of the first segment, then the bytes of all of them, in pieces.
    fetch_journal = SHARD_ADMIN.stream(
        "FetchJournal", FETCH_CALL.message, fetch_frames, pb.JournalChunk, piece_in
    )
    #: Of a cycle, 0: the last finished one. Pieces of a .jsonl fleet file, whole lines each.
    fleet = SHARD_ADMIN.stream(
        "DumpFleet",
        dump_request,
        fleet_frames,
        pb.DumpFleetResponse,
        lambda m: m.lines,
        "snapshot fleet",
    )
    watch_events = SHARD_ADMIN.stream(
        "WatchEvents",
        WATCH_CALL.message,
        event_frames,
        pb.WatchEventsResponse,
        EVENT.record,
    )
    fleet_map = SHARD_ADMIN.stream(
        "FleetMap",
        MAP_CALL.message,
        map_frames,
        pb.FleetMapResponse,
        map_piece,
    )
