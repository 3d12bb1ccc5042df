"""A shard that takes cluster reports, and answers each as a test says."""

from collections.abc import Callable
from dataclasses import dataclass, field

import grpc

from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply
from bigfleet.wire.handler_runner import HandlerRunner
from bigfleet.wire.shard_admin import REPORT_CLUSTER, SHARD_ADMIN, answering_reports


@dataclass
class ReportDesk:
    """Goes beside a session on the same port."""

    answer: Callable[[ClusterReport], ClusterReportReply] = lambda _report: ClusterReportReply()
    taken: list[ClusterReport] = field(default_factory=list)
    name: str = SHARD_ADMIN.name

    @property
    def last(self) -> ClusterReport:
        return self.taken[-1]

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        method = REPORT_CLUSTER.method
        handler = serving.reads(method, answering_reports(self))
        return grpc.method_handlers_generic_handler(self.name, {method: handler})

    async def report_cluster(self, report: ClusterReport) -> ClusterReportReply:
        self.taken.append(report)
        return self.answer(report)
