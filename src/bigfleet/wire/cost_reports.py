"""What machines cost, as messages and back."""

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.costs import (
    Amounts,
    Charge,
    CostCall,
    CostPeriod,
    CostReport,
    CostRow,
    RedFlag,
)
from bigfleet.model.figures import CostAxis
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.record_codecs import RecordCodec

AMOUNTS = RecordCodec(Amounts, pb.CostAmounts)
COSTS = RecordCodec(
    CostReport,
    pb.GetCostsResponse,
    computed_at="computed_at_unix_nanos",
    rows=RecordCodec(CostRow, pb.CostRow, amounts=AMOUNTS),
    total=AMOUNTS,
    flags=RecordCodec(RedFlag, pb.RedFlag),
    period=RecordCodec(CostPeriod, pb.CostPeriod),
    charges=RecordCodec(Charge, pb.Charge, amounts=AMOUNTS),
)


def cost_request(call: CostCall) -> pb.GetCostsRequest:
    return pb.GetCostsRequest(
        by=call.by.value,
        begins_unix_nanos=call.begins,
        ends_unix_nanos=call.ends,
        charges=call.charges,
        cycle=call.cycle,
    )


def cost_call(request: pb.GetCostsRequest) -> tuple[CostCall]:
    """Raises Rejected with the field that is wrong."""
    known = {str(axis): axis for axis in CostAxis}
    by = known.get(request.by or CostAxis.CLUSTER.value)
    if by is None:
        text = f"by: {request.by[:100]!r} is not an axis; there are {', '.join(known)}"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    begins, ends = request.begins_unix_nanos, request.ends_unix_nanos
    if begins < 0 or ends < 0 or ((begins or ends) and not begins < ends):
        text = "begins_unix_nanos: is not before ends_unix_nanos; name both, or none for rates"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    if request.cycle < 0:
        text = f"cycle: {request.cycle} is negative; 0 is the last cycle"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    if request.cycle and ends:
        raise Rejected(Code.INVALID_ARGUMENT, "cycle: a cycle has no hours; leave one of them out")
    return (CostCall(by, begins, ends, request.charges, request.cycle),)
