"""A shard that takes cluster reports, and answers each as a test says."""

from collections.abc import Callable
from dataclasses import dataclass, field

import grpc

from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply
from bigfleet.wire.cluster_reports import METHOD, answering_reports
from bigfleet.wire.handler_runner import HandlerRunner

SERVICE = "bigfleet.admin.v1alpha1.ShardAdmin"


@dataclass
class ReportDesk:
    """Goes beside a session on the same port."""

    answer: Callable[[ClusterReport], ClusterReportReply] = lambda _report: ClusterReportReply()
    taken: list[ClusterReport] = field(default_factory=list)
    name: str = SERVICE

    @property
    def last(self) -> ClusterReport:
        return self.taken[-1]

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        handler = serving.reads(METHOD, answering_reports(self._take))
        return grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler})

    async def _take(self, report: ClusterReport) -> ClusterReportReply:
        self.taken.append(report)
        return self.answer(report)
