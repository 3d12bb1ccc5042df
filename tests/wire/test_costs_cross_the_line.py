"""What machines cost, as messages and back; and what of a question is refused at once."""

import pytest

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.costs import CostCall, CostReport
from bigfleet.model.figures import CostAxis
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.cost_reports import COSTS, cost_call, cost_request
from tests.wire.cost_answers import HOURS, RATES


@pytest.mark.parametrize("report", [RATES, HOURS], ids=["rates", "hours"])
def test_a_report_comes_back_as_it_was(report: CostReport) -> None:
    content = COSTS.message(report).SerializeToString()
    assert COSTS.record(pb.GetCostsResponse.FromString(content)) == report


@pytest.mark.parametrize(
    "call", [CostCall(), CostCall(CostAxis.TEAM, cycle=7), CostCall(CostAxis.NEED, 7, 8, True)]
)
def test_a_question_comes_back_as_it_was(call: CostCall) -> None:
    assert cost_call(cost_request(call)) == (call,)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (pb.GetCostsRequest(by="moon"), "by: 'moon' is not an axis"),
        (pb.GetCostsRequest(begins_unix_nanos=8, ends_unix_nanos=8), "begins_unix_nanos: "),
        (pb.GetCostsRequest(ends_unix_nanos=-8), "begins_unix_nanos: "),
        (pb.GetCostsRequest(cycle=-1), "cycle: -1 is negative"),
        (pb.GetCostsRequest(cycle=7, begins_unix_nanos=7, ends_unix_nanos=8), "cycle: "),
    ],
)
def test_a_question_that_means_nothing_is_refused_with_its_field(
    request_: pb.GetCostsRequest, field: str
) -> None:
    with pytest.raises(Rejected) as refused:
        cost_call(request_)
    assert refused.value.code is Code.INVALID_ARGUMENT
    assert str(refused.value).startswith(field) or field in str(refused.value)
