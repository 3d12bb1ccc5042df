"""ReportCluster on the wire, both ends: a cluster speaks for itself only, and within bounds."""

from collections.abc import Awaitable, Callable
from typing import Self

from google.protobuf.message import DecodeError

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.wire.authorisation import require_cluster
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.cluster_report_records import MOST_BYTES, REPLY, REPORT, why_out_of_bounds
from bigfleet.wire.handler_runner import Answering, answering
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.real_times import WireTimes

METHOD = "ReportCluster"
_PATH = f"/bigfleet.admin.v1alpha1.ShardAdmin/{METHOD}"
#: An operator has something newer to tell by then.
DEADLINE = 10.0


def answering_reports(
    take: Callable[[ClusterReport], Awaitable[ClusterReportReply]],
) -> Answering:
    """`take` hears only of reports that are within bounds and their senders' own."""

    async def answer(request: pb.ReportClusterRequest, peer: Peer) -> pb.ReportClusterResponse:
        require_cluster(peer, request.report.cluster_id)
        if problem := why_out_of_bounds(request.report):
            raise Rejected(Code.INVALID_ARGUMENT, problem)
        return REPLY.message(await take(REPORT.record(request.report)))

    return answering(pb.ReportClusterRequest, answer, MOST_BYTES)


class ClusterReportClient:
    """An operator's end; every failure is a Rejected, and nothing is told twice."""

    def __init__(
        self,
        address: str,
        tls: TlsFiles | None = None,
        *,
        deadline: float = DEADLINE,
        times: WireTimes | None = None,
    ) -> None:
        self._times = times
        self._line = ClientLine(address, tls)
        self._deadline = deadline

    async def report(self, report: ClusterReport) -> ClusterReportReply:
        """UNIMPLEMENTED: the shard is older than reports."""
        request = pb.ReportClusterRequest(report=REPORT.message(report)).SerializeToString()
        if self._times is not None:
            request = self._times.request_sent(_PATH, request)
        content = await self._line.call(_PATH, request, self._deadline)
        try:
            if self._times is not None:
                content = self._times.answer_received(_PATH, content)
            return REPLY.record(pb.ReportClusterResponse.FromString(content))
        except DecodeError as problem:
            text = f"the answer to {METHOD} cannot be read: {problem}"
            raise Rejected(Code.INTERNAL, text) from None

    async def close(self) -> None:
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()
