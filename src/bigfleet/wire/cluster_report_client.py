"""An operator's end of a cluster's reports: ReportCluster of `ShardAdmin`."""

from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.cluster_report_records import REPLY, REPORT
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.rpcs import RpcClient
from bigfleet.wire.shard_admin import REPORT_CLUSTER

if TYPE_CHECKING:
    from bigfleet.wire.real_times import WireTimes

#: Seconds: an operator has something newer to tell by then.
REPORT_DEADLINE = 10.0


class ClusterReportClient(RpcClient):
    """Every failure is a Rejected, and nothing is told twice."""

    def __init__(
        self,
        address: str,
        tls: TlsFiles | None = None,
        *,
        deadline: float = REPORT_DEADLINE,
        times: "WireTimes | None" = None,
    ) -> None:
        super().__init__(address, tls, deadline=deadline)
        self._times = times

    async def report(self, report: ClusterReport) -> ClusterReportReply:
        """UNIMPLEMENTED: the shard is older than reports."""
        request = pb.ReportClusterRequest(report=REPORT.message(report)).SerializeToString()
        path = REPORT_CLUSTER.path
        if self._times is not None:
            request = self._times.request_sent(path, request)
        content = await self.line.call(path, request, self.deadline)
        try:
            if self._times is not None:
                content = self._times.answer_received(path, content)
            return REPLY.record(pb.ReportClusterResponse.FromString(content))
        except DecodeError as problem:
            text = f"the answer to {REPORT_CLUSTER.method} cannot be read: {problem}"
            raise Rejected(Code.INTERNAL, text) from None
