"""Reports of clusters and the standings they are answered with, as messages and back.

What is sent is always within the bounds: texts are cut, examples and phases beyond the most are
left out. What arrives is held to them: nothing that a cluster tells makes its
shard grow.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.actions import UnmetReason
from bigfleet.model.cluster_reports import (
    LONGEST_MACHINE_ID,
    LONGEST_TEXT,
    MOST_EXAMPLES,
    MOST_MACHINES,
    MOST_NAMED_NEEDS,
    MOST_PHASES,
    MOST_REFUSED,
    ClusterReport,
    ClusterReportReply,
    LostCause,
    LostMachine,
    NeedStanding,
    RefusedReclaim,
    StuckNeed,
    UnplacedPod,
    cut_text,
)
from bigfleet.model.need_states import NeedState
from bigfleet.model.rollups import RollupRefusal
from bigfleet.v1alpha1 import shardread_pb2
from bigfleet.wire.needs import resources_message, resources_of

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
_STATE_OF = {int(state): state for state in NeedState}
_CAUSES = frozenset(LostCause)
#: Of a report and of its reply. A reply that is larger loses the standings at its end.
MOST_BYTES = 4 * 1024 * 1024
#: Names in `ask` come back in the reply: half of it leaves room for what is said of them.
_MOST_ASKED_BYTES = MOST_BYTES // 2


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
        empty_machine_ids=report.empty_machines[:MOST_MACHINES],
        unusable_machine_ids=report.unusable_machines[:MOST_MACHINES],
        lost=[
            pb.LostMachine(machine_id=each.machine_id, cause=each.cause)
            for each in report.lost[:MOST_MACHINES]
        ],
        stuck=[
            pb.StuckNeed(profile_fingerprint=each.fingerprint, group=each.group, pods=each.pods)
            for each in report.stuck[:MOST_NAMED_NEEDS]
        ],
        ask=_asked(report.ask),
        refused=[
            pb.RefusedReclaim(
                machine_id=each.machine_id,
                instruction_id=each.instruction_id,
                text=cut_text(each.text),
            )
            for each in report.refused[:MOST_REFUSED]
        ],
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
        empty_machines=tuple(message.empty_machine_ids),
        unusable_machines=tuple(message.unusable_machine_ids),
        lost=tuple(LostMachine(each.machine_id, LostCause(each.cause)) for each in message.lost),
        stuck=tuple(
            StuckNeed(each.profile_fingerprint, each.group, each.pods) for each in message.stuck
        ),
        ask=tuple((each.profile_fingerprint, each.group) for each in message.ask),
        refused=tuple(
            RefusedReclaim(each.machine_id, each.instruction_id, each.text)
            for each in message.refused
        ),
    )


def why_out_of_bounds(message: pb.ClusterReport) -> str:
    """The first field that says too much, and what is wrong with it; empty: none."""
    return next(_excesses(message), "")


def reply_message(reply: ClusterReportReply) -> pb.ReportClusterResponse:
    """Standings beyond the size are left out; `total_needs` tells that there are more. One that is
    too large does not cost the others their place."""
    standings, size = [], sum(len(each) + 8 for each in reply.preemptions)
    for each in reply.standings:
        standing = _standing_message(each)
        # Eight bytes for its tag and its length.
        weight = standing.ByteSize() + 8
        if size + weight <= MOST_BYTES:
            standings.append(standing)
            size += weight
    return pb.ReportClusterResponse(
        standings=standings,
        cycle=reply.cycle,
        computed_at_unix_nanos=reply.computed_at,
        total_needs=reply.total,
        preempting_instruction_ids=reply.preemptions,
        refused_rollup=refusal_message(reply.refused_rollup),
    )


def reply_of(message: pb.ReportClusterResponse) -> ClusterReportReply:
    """A reason of a later version is dropped; its sentence is kept."""
    return ClusterReportReply(
        tuple(_standing_of(each) for each in message.standings),
        message.cycle,
        message.computed_at_unix_nanos,
        message.total_needs,
        tuple(message.preempting_instruction_ids),
        refusal_of(message.refused_rollup) if message.HasField("refused_rollup") else None,
    )


def refusal_message(refusal: RollupRefusal | None) -> pb.RollupRefusal | None:
    if refusal is None:
        return None
    return pb.RollupRefusal(
        reason=refusal.reason,
        text=cut_text(refusal.text),
        since_unix_nanos=refusal.since,
        times=refusal.times,
    )


def refusal_of(message: pb.RollupRefusal) -> RollupRefusal:
    return RollupRefusal(message.reason, message.text, message.since_unix_nanos, message.times)


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
        wanted=resources_message(standing.wanted) if standing.wanted is not None else None,
        claimed=resources_message(standing.claimed) if standing.wanted is not None else None,
        machines=standing.machines,
        state=pb.NeedState.ValueType(standing.state or 0),
        since_unix_nanos=standing.since,
        folded_members=standing.folded_members,
    )


def _standing_of(message: pb.NeedStanding) -> NeedStanding:
    return NeedStanding(
        message.profile_fingerprint,
        message.group,
        message.satisfied,
        _REASON_OF.get(message.unmet_reason),
        message.sentence,
        message.arriving,
        resources_of(message.wanted) if message.HasField("wanted") else None,
        resources_of(message.claimed),
        message.machines,
        _STATE_OF.get(message.state),
        message.since_unix_nanos,
        message.folded_members,
    )


def _told(phases: Mapping[str, int]) -> dict[str, int]:
    return {cut_text(phase): phases[phase] for phase in sorted(phases)[:MOST_PHASES]}


def _asked(needs: Iterable[tuple[str, str]]) -> list[pb.AskedNeed]:
    found, size = [], 0
    for fingerprint, group in islice(needs, MOST_NAMED_NEEDS):
        size += _size(fingerprint) + _size(group)
        if size > _MOST_ASKED_BYTES:
            break
        found.append(pb.AskedNeed(profile_fingerprint=fingerprint, group=group))
    return found


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
    yield from _excesses_of_machines(message)
    yield from _excesses_of_needs(message)


def _excesses_of_machines(message: pb.ClusterReport) -> Iterator[str]:
    lists: dict[str, Sequence[str]] = {
        "empty_machine_ids": message.empty_machine_ids,
        "unusable_machine_ids": message.unusable_machine_ids,
        "lost": [each.machine_id for each in message.lost],
        "refused": [each.machine_id for each in message.refused],
    }
    for field, ids in lists.items():
        if len(ids) > MOST_MACHINES:
            yield f"report.{field} has {len(ids)} machines; {MOST_MACHINES} are the most"
        longest = max(ids, key=len, default="")
        if (size := _size(longest)) > LONGEST_MACHINE_ID:
            yield f"report.{field} has an id of {size} bytes; {LONGEST_MACHINE_ID} are the most"
    if len(message.refused) > MOST_REFUSED:
        yield f"report.refused has {len(message.refused)}; {MOST_REFUSED} are the most"
    for place, refused in enumerate(message.refused):
        size = max(_size(refused.text), _size(refused.instruction_id))
        if size > LONGEST_TEXT:
            yield f"report.refused[{place}] has {size} bytes; {LONGEST_TEXT} are the most"
    for place, each in enumerate(message.lost):
        if each.cause not in _CAUSES:
            known = ", ".join(sorted(_CAUSES))
            yield f"report.lost[{place}].cause is {cut_text(each.cause)!r}; write one of {known}"


def _excesses_of_needs(message: pb.ClusterReport) -> Iterator[str]:
    for field, named in (("stuck", len(message.stuck)), ("ask", len(message.ask))):
        if named > MOST_NAMED_NEEDS:
            yield f"report.{field} names {named} Needs; {MOST_NAMED_NEEDS} are the most"
    for place, each in enumerate(message.stuck):
        if each.pods < 0:
            yield f"report.stuck[{place}].pods is {each.pods}; a count is not negative"
    asked = sum(_size(each.profile_fingerprint) + _size(each.group) for each in message.ask)
    if asked > _MOST_ASKED_BYTES:
        yield f"report.ask has {asked} bytes; {_MOST_ASKED_BYTES} are the most"


def _size(text: str) -> int:
    return len(text.encode())
