"""ShardAdmin.ExplainNeed on the wire: one answer, one table of fields per record."""

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.explanations import (
    CandidateVerdict,
    Competitor,
    CostView,
    DomainVerdict,
    ExplainNeedCall,
    NeedExplanation,
    RejectCount,
    VictimVerdict,
)
from bigfleet.model.need_states import NeedState
from bigfleet.wire.forecasts import FORECAST
from bigfleet.wire.machine_answers import CHECK, STEP
from bigfleet.wire.machine_views import NEED_KEY, RESERVATION
from bigfleet.wire.needs import RESOURCES
from bigfleet.wire.reasons import REASON
from bigfleet.wire.record_codecs import NOT_NEGATIVE, RecordCodec, by_number
from bigfleet.wire.shard_read import NEED_VIEW

COST = RecordCodec(CostView, shared.CostView)
CANDIDATE = RecordCodec(
    CandidateVerdict, pb.CandidateVerdict, cost=COST, checks=CHECK, holder=NEED_KEY
)
COMPETITOR = RecordCodec(Competitor, pb.Competitor, need=NEED_KEY)
VICTIM = RecordCodec(VictimVerdict, pb.VictimVerdict, grace_seconds="grace_period_seconds")
EXPLAIN_NEED_CALL = RecordCodec(
    ExplainNeedCall,
    pb.ExplainNeedRequest,
    need=NEED_KEY,
    cycle=NOT_NEGATIVE,
    max_candidates=NOT_NEGATIVE,
    id_prefix="need_id_prefix",
)
NEED_EXPLANATION = RecordCodec(
    NeedExplanation,
    pb.ExplainNeedResponse,
    view=NEED_VIEW,
    steps=STEP,
    candidates=CANDIDATE,
    competitors=COMPETITOR,
    victims=VICTIM,
    reservations=RESERVATION,
    reasons=REASON,
    rejects=RecordCodec(RejectCount, pb.RejectCount),
    state=by_number(NeedState, None),
    domains=RecordCodec(DomainVerdict, pb.DomainVerdict, offers=RESOURCES),
    forecast=FORECAST,
)
