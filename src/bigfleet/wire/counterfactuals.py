"""ShardAdmin.Counterfactual on the wire: one table of fields per record."""

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.counterfactuals import (
    CounterfactualAnswer,
    CounterfactualCall,
    ToldChange,
    ToldLoser,
)
from bigfleet.wire.machine_views import NEED_KEY
from bigfleet.wire.needs import RESOURCES
from bigfleet.wire.record_codecs import NOT_NEGATIVE, RecordCodec

CALL = RecordCodec(
    CounterfactualCall,
    pb.CounterfactualRequest,
    need=NEED_KEY,
    cycle=NOT_NEGATIVE,
    budget_ms=NOT_NEGATIVE,
    depth=NOT_NEGATIVE,
    id_prefix="need_id_prefix",
)
ANSWER = RecordCodec(
    CounterfactualAnswer,
    pb.CounterfactualResponse,
    need=NEED_KEY,
    deficit=RESOURCES,
    changes=RecordCodec(
        ToldChange,
        pb.CounterfactualChange,
        new_deficit=RESOURCES,
        losers=RecordCodec(ToldLoser, pb.CounterfactualLoser, need=NEED_KEY, lost=RESOURCES),
    ),
)


def call_bytes(call: CounterfactualCall) -> bytes:
    return CALL.message(call).SerializeToString()


def read_call(content: bytes) -> CounterfactualCall:
    return CALL.record(pb.CounterfactualRequest.FromString(content))


def answer_bytes(answer: CounterfactualAnswer) -> bytes:
    return ANSWER.message(answer).SerializeToString(deterministic=True)


def read_answer(content: bytes) -> CounterfactualAnswer:
    return ANSWER.record(pb.CounterfactualResponse.FromString(content))
