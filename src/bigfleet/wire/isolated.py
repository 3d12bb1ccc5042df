"""One pool compared with isolated ones, as messages and back."""

from collections.abc import Mapping
from typing import Any, Protocol

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.errors import BadInput
from bigfleet.model.isolated import (
    IsolatedCall,
    IsolatedCluster,
    IsolatedReport,
    IsolatedSlice,
    Measures,
    Split,
    call_of,
)
from bigfleet.model.latencies import Latencies, latencies_of
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.record_codecs import ByHand, Conversion, RecordCodec


def _latencies_written(report: IsolatedReport) -> Mapping[str, Any]:
    known = report.latencies
    return {"latencies": known.texts, "latency_samples": dict(known.samples)}


def _latencies_read(message: pb.GetIsolatedResponse) -> Mapping[str, Any]:
    given = latencies_of(message.latencies).given
    return {"latencies": Latencies(given, dict(message.latency_samples))}


_MEASURES = RecordCodec(Measures, pb.IsolatedMeasures)
_SLICE = RecordCodec(IsolatedSlice, pb.IsolatedSlice, pooled=_MEASURES, isolated=_MEASURES)
_CLUSTER = RecordCodec(IsolatedCluster, pb.IsolatedCluster, measures=_MEASURES)
ISOLATED_REPORT = RecordCodec(
    IsolatedReport,
    pb.GetIsolatedResponse,
    ByHand(("latencies",), ("latencies", "latency_samples"), _latencies_written, _latencies_read),
    began="began_unix_nanos",
    ended="ended_unix_nanos",
    split=Conversion(str, Split),
    slices=_SLICE,
    clusters=_CLUSTER,
)


class IsolatedHandler(Protocol):
    async def isolated(self, call: IsolatedCall) -> IsolatedReport:
        """Raises Rejected: RESOURCE_EXHAUSTED, one is running already; UNAVAILABLE, the shard keeps
        no journal."""


def call_message(call: IsolatedCall) -> pb.GetIsolatedRequest:
    return pb.GetIsolatedRequest(
        split=call.split,
        headroom=call.headroom,
        since_unix_nanos=call.since,
        until_unix_nanos=call.until,
    )


def read_call(request: pb.GetIsolatedRequest) -> IsolatedCall:
    """Raises Rejected(INVALID_ARGUMENT)."""
    try:
        return call_of(
            request.split,
            request.headroom,
            request.since_unix_nanos,
            request.until_unix_nanos,
        )
    except BadInput as problem:
        text = "; ".join(str(each) for each in problem.problems)
        raise Rejected(Code.INVALID_ARGUMENT, text) from None


def arguments(request: pb.GetIsolatedRequest) -> tuple[IsolatedCall]:
    """Raises Rejected(INVALID_ARGUMENT)."""
    return (read_call(request),)


def call_bytes(call: IsolatedCall) -> bytes:
    return call_message(call).SerializeToString()


def read_call_bytes(content: bytes) -> IsolatedCall:
    return read_call(pb.GetIsolatedRequest.FromString(content))


def report_bytes(report: IsolatedReport) -> bytes:
    return ISOLATED_REPORT.message(report).SerializeToString(deterministic=True)


def read_report(content: bytes) -> IsolatedReport:
    return ISOLATED_REPORT.record(pb.GetIsolatedResponse.FromString(content))
