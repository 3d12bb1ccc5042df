"""Reports of clusters and the standings they are answered with, as messages and back.

What is sent is always within the bounds: texts are cut, examples and phases beyond the most are
left out. What arrives is held to them: nothing that a cluster tells makes its
shard grow.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
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
    NeedSources,
    NeedStanding,
    PodCounts,
    RefusedReclaim,
    StuckNeed,
    UnplacedPod,
    cut_text,
)
from bigfleet.model.rollups import RollupRefusal
from bigfleet.wire.forecasts import FORECAST
from bigfleet.wire.needs import resources_message, resources_of
from bigfleet.wire.record_codecs import ByHand, Conversion, Field, RecordCodec, first_rows

_COUNTS = (
    "nodes_ready",
    "nodes_not_ready",
    "nodes_missing",
    "pods_covered_not_placed",
    "crs_skipped",
)
_PHASES = ("requests_by_phase", "upcoming_by_phase")
_CAUSES = frozenset(LostCause)
#: Of a report and of its reply. A reply that is larger loses the standings at its end.
MOST_BYTES = 4 * 1024 * 1024
#: Names in `ask` come back in the reply: half of it leaves room for what is said of them.
_MOST_ASKED_BYTES = MOST_BYTES // 2


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


def _asked_of(messages: Iterable[pb.AskedNeed]) -> tuple[tuple[str, str], ...]:
    return tuple((each.profile_fingerprint, each.group) for each in messages)


def _size(text: str) -> int:
    return len(text.encode())


def _resources_told(standing: NeedStanding) -> Mapping[str, Any]:
    """What is claimed means something beside what is wanted."""
    if standing.wanted is None:
        return {}
    return {
        "wanted": resources_message(standing.wanted),
        "claimed": resources_message(standing.claimed),
    }


def _resources_in(message: pb.NeedStanding) -> Mapping[str, Any]:
    wanted = resources_of(message.wanted) if message.HasField("wanted") else None
    return {"wanted": wanted, "claimed": resources_of(message.claimed)}


#: A text of which as much is told as may be.
CUT = Conversion(cut_text)
_PHASES_TOLD = Conversion(_told, dict)
_MACHINES = first_rows(MOST_MACHINES)
UNPLACED = RecordCodec(UnplacedPod, pb.UnplacedPod, pod=CUT, need_id=CUT, text=CUT)
LOST = RecordCodec(LostMachine, pb.LostMachine)
STUCK = RecordCodec(StuckNeed, pb.StuckNeed, fingerprint="profile_fingerprint")
SOURCES = RecordCodec(NeedSources, pb.NeedSources, fingerprint="profile_fingerprint")
REFUSED = RecordCodec(RefusedReclaim, pb.RefusedReclaim, text=CUT)
REPORT = RecordCodec(
    ClusterReport,
    pb.ClusterReport,
    requests_by_phase=_PHASES_TOLD,
    upcoming_by_phase=_PHASES_TOLD,
    examples=first_rows(MOST_EXAMPLES, UNPLACED),
    empty_machines=Field("empty_machine_ids", _MACHINES),
    unusable_machines=Field("unusable_machine_ids", _MACHINES),
    lost=first_rows(MOST_MACHINES, LOST),
    stuck=first_rows(MOST_NAMED_NEEDS, STUCK),
    ask=Conversion(_asked, _asked_of),
    refused=first_rows(MOST_REFUSED, REFUSED),
    sources=first_rows(MOST_NAMED_NEEDS, SOURCES),
    pods=RecordCodec(PodCounts, pb.PodCounts),
)
REFUSAL = RecordCodec(RollupRefusal, pb.RollupRefusal, text=CUT)
#: A reason of a later version is dropped; its sentence is kept.
STANDING = RecordCodec(
    NeedStanding,
    pb.NeedStanding,
    ByHand(("wanted", "claimed"), ("wanted", "claimed"), _resources_told, _resources_in),
    fingerprint="profile_fingerprint",
    reason="unmet_reason",
    forecast=FORECAST,
)


def _standings_told(reply: ClusterReportReply) -> Mapping[str, Any]:
    """Standings beyond the size are left out; `total_needs` tells that there are more. One that is
    too large does not cost the others their place."""
    standings, size = [], sum(len(each) + 8 for each in reply.preemptions)
    for each in reply.standings:
        standing = STANDING.message(each)
        # Eight bytes for its tag and its length.
        weight = standing.ByteSize() + 8
        if size + weight <= MOST_BYTES:
            standings.append(standing)
            size += weight
    return {"standings": standings}


REPLY = RecordCodec(
    ClusterReportReply,
    pb.ReportClusterResponse,
    ByHand(
        ("standings",),
        ("standings",),
        _standings_told,
        lambda message: {"standings": STANDING.records(message.standings)},
    ),
    total="total_needs",
    preemptions="preempting_instruction_ids",
    refused_rollup=REFUSAL,
)


def why_out_of_bounds(message: pb.ClusterReport) -> str:
    """The first field that says too much, and what is wrong with it; empty: none."""
    return next(_excesses(message), "")


def _excesses(message: pb.ClusterReport) -> Iterator[str]:
    if not message.cluster_id:
        yield "report.cluster_id is empty; name the cluster that reports"
    texts = {"cluster_id": message.cluster_id}
    for field in _COUNTS:
        if (count := getattr(message, field)) < 0:
            yield f"report.{field} is {count}; a count is not negative"
    for field in ("running", "waiting"):
        if (count := getattr(message.pods, field)) < 0:
            yield f"report.pods.{field} is {count}; a count is not negative"
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
    counts_of = {
        "stuck": len(message.stuck),
        "ask": len(message.ask),
        "sources": len(message.sources),
    }
    for field, named in counts_of.items():
        if named > MOST_NAMED_NEEDS:
            yield f"report.{field} names {named} Needs; {MOST_NAMED_NEEDS} are the most"
    for place, each in enumerate(message.stuck):
        if each.pods < 0:
            yield f"report.stuck[{place}].pods is {each.pods}; a count is not negative"
    for place, counts in enumerate(message.sources):
        if (least := min(counts.pods, counts.buffers, counts.provisioning_requests)) < 0:
            yield f"report.sources[{place}] has a count of {least}; a count is not negative"
    asked = sum(_size(each.profile_fingerprint) + _size(each.group) for each in message.ask)
    if asked > _MOST_ASKED_BYTES:
        yield f"report.ask has {asked} bytes; {_MOST_ASKED_BYTES} are the most"
