"""Reports of clusters and the standings they are answered with, as messages and back.

What is sent is within the bounds whatever it was made of: texts are cut, examples and phases
beyond the most are left out. What arrives is held to them: nothing that a cluster tells makes its
shard grow.
"""

from collections.abc import Iterator, Mapping

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.actions import UnmetReason
from bigfleet.model.cluster_reports import (
    LONGEST_TEXT,
    MOST_EXAMPLES,
    MOST_PHASES,
    ClusterReport,
    ClusterReportReply,
    NeedStanding,
    UnplacedPod,
    cut_text,
)
from bigfleet.v1alpha1 import shardread_pb2

_NUMBER_OF = {
    reason: shardread_pb2.UnmetReason.Value(f"UNMET_REASON_{reason.name}") for reason in UnmetReason
}
_REASON_OF = {number: reason for reason, number in _NUMBER_OF.items()}
_COUNTS = (
    "nodes_ready",
    "nodes_not_ready",
    "nodes_missing",
    "pods_covered_not_placed",
    "crs_skipped",
)
_PHASES = ("requests_by_phase", "upcoming_by_phase")


def report_message(report: ClusterReport) -> pb.ClusterReport:
    return pb.ClusterReport(
        cluster_id=report.cluster_id,
        at_unix_nanos=report.at,
        requests_by_phase=_told(report.requests_by_phase),
        upcoming_by_phase=_told(report.upcoming_by_phase),
        nodes_ready=report.nodes_ready,
        nodes_not_ready=report.nodes_not_ready,
        nodes_missing=report.nodes_missing,
        pods_covered_not_placed=report.pods_covered_not_placed,
        examples=[
            pb.UnplacedPod(
                pod=cut_text(each.pod), need_id=cut_text(each.need_id), text=cut_text(each.text)
            )
            for each in report.examples[:MOST_EXAMPLES]
        ],
        crs_skipped=report.crs_skipped,
    )


def report_of(message: pb.ClusterReport) -> ClusterReport:
    return ClusterReport(
        cluster_id=message.cluster_id,
        at=message.at_unix_nanos,
        requests_by_phase=dict(message.requests_by_phase),
        upcoming_by_phase=dict(message.upcoming_by_phase),
        nodes_ready=message.nodes_ready,
        nodes_not_ready=message.nodes_not_ready,
        nodes_missing=message.nodes_missing,
        pods_covered_not_placed=message.pods_covered_not_placed,
        examples=tuple(UnplacedPod(each.pod, each.need_id, each.text) for each in message.examples),
        crs_skipped=message.crs_skipped,
    )


def why_out_of_bounds(message: pb.ClusterReport) -> str:
    """The first field that says too much, and what is wrong with it; empty: none."""
    return next(_excesses(message), "")


def reply_message(reply: ClusterReportReply) -> pb.ReportClusterResponse:
    return pb.ReportClusterResponse(
        standings=[_standing_message(each) for each in reply.standings],
        cycle=reply.cycle,
        computed_at_unix_nanos=reply.computed_at,
        total_needs=reply.total,
    )


def reply_of(message: pb.ReportClusterResponse) -> ClusterReportReply:
    """A reason of a later version is none: its sentence is still there."""
    return ClusterReportReply(
        tuple(_standing_of(each) for each in message.standings),
        message.cycle,
        message.computed_at_unix_nanos,
        message.total_needs,
    )


def _standing_message(standing: NeedStanding) -> pb.NeedStanding:
    return pb.NeedStanding(
        profile_fingerprint=standing.fingerprint,
        group=standing.group,
        satisfied=standing.satisfied,
        unmet_reason=_NUMBER_OF[standing.reason]
        if standing.reason is not None
        else shardread_pb2.UNMET_REASON_UNSPECIFIED,
        sentence=standing.sentence,
        arriving=standing.arriving,
    )


def _standing_of(message: pb.NeedStanding) -> NeedStanding:
    return NeedStanding(
        message.profile_fingerprint,
        message.group,
        message.satisfied,
        _REASON_OF.get(message.unmet_reason),
        message.sentence,
        message.arriving,
    )


def _told(phases: Mapping[str, int]) -> dict[str, int]:
    return {cut_text(phase): phases[phase] for phase in sorted(phases)[:MOST_PHASES]}


def _excesses(message: pb.ClusterReport) -> Iterator[str]:
    if not message.cluster_id:
        yield "report.cluster_id is empty; name the cluster that reports"
    texts = {"cluster_id": message.cluster_id}
    for field in _COUNTS:
        if (count := getattr(message, field)) < 0:
            yield f"report.{field} is {count}; a count is not negative"
    for field in _PHASES:
        phases = getattr(message, field)
        if len(phases) > MOST_PHASES:
            yield f"report.{field} has {len(phases)} keys; {MOST_PHASES} are the most"
        for phase, count in phases.items():
            texts[f"{field} key"] = max(phase, texts.get(f"{field} key", ""), key=_size)
            if count < 0:
                yield f"report.{field} has a count of {count}; a count is not negative"
    if len(message.examples) > MOST_EXAMPLES:
        yield f"report.examples has {len(message.examples)}; {MOST_EXAMPLES} are the most"
    for place, each in enumerate(message.examples):
        at = f"examples[{place}]"
        texts |= {f"{at}.pod": each.pod, f"{at}.need_id": each.need_id, f"{at}.text": each.text}
    for field, text in texts.items():
        if (size := _size(text)) > LONGEST_TEXT:
            yield f"report.{field} has {size} bytes; {LONGEST_TEXT} are the most"


def _size(text: str) -> int:
    return len(text.encode())
