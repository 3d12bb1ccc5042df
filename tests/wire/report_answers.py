"""A cluster's report and the reply to it, every field with a value of its own."""

from bigfleet.model.actions import UnmetReason
from bigfleet.model.cluster_reports import (
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
)
from bigfleet.model.need_states import NeedState
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import RollupRefusal
from tests.wire import forecast_answer

FINGERPRINT = "p=1|ipb=0|rpb=0|reqs=|spr="
REPORT = ClusterReport(
    cluster_id="shop",
    at=21,
    requests_by_phase={"Pending": 1, "Acknowledged": 4},
    upcoming_by_phase={"Ready": 2, "": 1},
    nodes_ready=2,
    nodes_not_ready=1,
    nodes_missing=3,
    pods_covered_not_placed=1,
    examples=(UnplacedPod("web/front-1", "n0123456789ab", "0/3 nodes are available\x00"),),
    crs_skipped=5,
    empty_machines=("m-1", "m-2"),
    unusable_machines=("m-3",),
    lost=(LostMachine("m-4", LostCause.NODE_GONE),),
    stuck=(StuckNeed(FINGERPRINT, "g\x00", 7),),
    ask=((FINGERPRINT, ""), (FINGERPRINT, "margin")),
    refused=(RefusedReclaim("m-5", "bf1-5", "pod shop/web-0 would find no place"),),
    sources=(NeedSources(FINGERPRINT, "g\x00", 3, 2, 1),),
    pods=PodCounts(4, 2),
)
REPLY = ClusterReportReply(
    (
        NeedStanding(
            *(FINGERPRINT, "", True, None, "served by 3 machines, 1 of them on the way", 1),
            wanted=Resources.parse({"cpu": "5"}),
            claimed=Resources.parse({"cpu": "8"}),
            machines=3,
            state=NeedState.ARRIVING,
            since=77,
            folded_members=2,
            forecast=forecast_answer.TIMED.brief,
        ),
        NeedStanding(FINGERPRINT, "g\x00", False, UnmetReason.NO_MATCHING_SUPPLY, "short of cpu 1"),
    ),
    9,
    10,
    2_001,
    ("bf1-6", "bf1-7"),
    RollupRefusal("too_heavy", "8388608 allowed; see rollup.max_bytes", 40, 3),
)
