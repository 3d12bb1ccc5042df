"""What a cluster tells of itself, over real gRPC: who may, what is too much, what comes back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import (
    ClusterReport,
    ClusterReportReply,
    LostCause,
    LostMachine,
    NeedStanding,
    StuckNeed,
    UnplacedPod,
)
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.cluster_report_client import ClusterReportClient
from bigfleet.wire.cluster_report_records import MOST_BYTES, REPLY, REPORT, why_out_of_bounds
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.shard_admin import SHARD_ADMIN
from tests.wire import report_answers
from tests.wire.admin import ScriptedAdmin
from tests.wire.certificates import Authority
from tests.wire.sessions import PATIENCE, ScriptedShard, line_to

PATH = "/bigfleet.admin.v1alpha1.ShardAdmin/ReportCluster"


@asynccontextmanager
async def address_of(
    people: ScriptedAdmin, server_tls: TlsFiles | None = None
) -> AsyncIterator[str]:
    services = [RpcService(SHARD_ADMIN, people)]
    async with line_to(ScriptedShard(), server_tls=server_tls, extra_services=services) as line:
        yield line.client.address


async def test_a_report_is_answered_with_how_its_needs_stand() -> None:
    people = ScriptedAdmin()
    async with address_of(people) as address, ClusterReportClient(address) as client:
        assert await client.report(report_answers.REPORT) == report_answers.REPLY
    assert people.asked == [("report_cluster", report_answers.REPORT)]


#: All of them report of `shop`.
DENIED = {
    "another cluster": ("bigfleet://cluster/bank",),
    "a cluster whose name begins alike": ("bigfleet://cluster/shop-2",),
    "a cluster without a name": ("bigfleet://cluster/",),
    "an admin": ("bigfleet://admin",),
    "a reader": ("bigfleet://readonly",),
    "the shard itself": ("bigfleet://shard/shop",),
    "no name": (),
    "two at once": ("bigfleet://cluster/shop", "bigfleet://cluster/bank"),
}


@pytest.mark.parametrize("uris", DENIED.values(), ids=DENIED)
async def test_only_the_cluster_itself_may_report(tmp_path: Path, uris: tuple[str, ...]) -> None:
    people, authority = ScriptedAdmin(), Authority(tmp_path)
    async with (
        address_of(people, authority.leaf("server")) as address,
        ClusterReportClient(address, authority.leaf("client", *uris)) as client,
    ):
        with pytest.raises(Rejected) as rejected:
            await client.report(report_answers.REPORT)
    assert rejected.value.code is Code.PERMISSION_DENIED
    assert people.asked == []


async def test_the_cluster_itself_does(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.leaf("client", "bigfleet://cluster/shop")
    async with (
        address_of(ScriptedAdmin(), authority.leaf("server")) as address,
        ClusterReportClient(address, own) as client,
    ):
        assert await client.report(report_answers.REPORT) == report_answers.REPLY
        with pytest.raises(Rejected) as rejected:
            await client.report(replace(report_answers.REPORT, cluster_id=""))
    assert rejected.value.code is Code.PERMISSION_DENIED


def phases(count: int) -> dict[str, int]:
    return {f"phase-{n:02}": 1 for n in range(count)}


POD = pb.UnplacedPod(pod="web/front", need_id="n1", text="none fits")
LONG = "x" * 1025
TOO_MUCH: dict[str, tuple[pb.ClusterReport, str]] = {
    "no cluster": (pb.ClusterReport(), "report.cluster_id is empty"),
    "21 examples": (pb.ClusterReport(cluster_id="shop", examples=[POD] * 21), "report.examples "),
    "33 phases of requests": (
        pb.ClusterReport(cluster_id="shop", requests_by_phase=phases(33)),
        "report.requests_by_phase has 33 keys",
    ),
    "33 phases of nodes": (
        pb.ClusterReport(cluster_id="shop", upcoming_by_phase=phases(33)),
        "report.upcoming_by_phase has 33 keys",
    ),
    "a long phase": (
        pb.ClusterReport(cluster_id="shop", upcoming_by_phase={LONG: 1, "Ready": 1}),
        "report.upcoming_by_phase key has 1025 bytes",
    ),
    "a long text": (
        pb.ClusterReport(cluster_id="shop", examples=[POD, pb.UnplacedPod(text=LONG)]),
        r"report.examples\[1\].text has 1025 bytes",
    ),
    "a long cluster": (pb.ClusterReport(cluster_id=LONG), "report.cluster_id has 1025 bytes"),
    "a negative count": (
        pb.ClusterReport(cluster_id="shop", nodes_missing=-1),
        "report.nodes_missing is -1",
    ),
    "a negative number of pods": (
        pb.ClusterReport(cluster_id="shop", pods=pb.PodCounts(waiting=-1)),
        "report.pods.waiting is -1",
    ),
    "a negative phase": (
        pb.ClusterReport(cluster_id="shop", requests_by_phase={"Pending": -2}),
        "report.requests_by_phase has a count of -2",
    ),
    "a huge request": (
        pb.ClusterReport(cluster_id="shop", examples=[pb.UnplacedPod(text="x" * 5_000_000)]),
        "are the most",
    ),
    "too many machines": (
        pb.ClusterReport(cluster_id="shop", empty_machine_ids=["m"] * 50_001),
        "report.empty_machine_ids has 50001 machines",
    ),
    "a long machine id": (
        pb.ClusterReport(cluster_id="shop", unusable_machine_ids=["m", "x" * 254]),
        "report.unusable_machine_ids has an id of 254 bytes",
    ),
    "a machine lost for an unknown cause": (
        pb.ClusterReport(cluster_id="shop", lost=[pb.LostMachine(machine_id="m", cause="tired")]),
        r"report.lost\[0\].cause is 'tired'; write one of never_joined, node_gone, unhealthy",
    ),
    "too many stuck Needs": (
        pb.ClusterReport(cluster_id="shop", stuck=[pb.StuckNeed()] * 2_001),
        "report.stuck names 2001 Needs",
    ),
    "a negative number of stuck pods": (
        pb.ClusterReport(cluster_id="shop", stuck=[pb.StuckNeed(pods=-1)]),
        r"report.stuck\[0\].pods is -1",
    ),
    "too many Needs with sources": (
        pb.ClusterReport(cluster_id="shop", sources=[pb.NeedSources()] * 2_001),
        "report.sources names 2001 Needs",
    ),
    "a negative number of requests of a source": (
        pb.ClusterReport(cluster_id="shop", sources=[pb.NeedSources(buffers=-1)]),
        r"report.sources\[0\] has a count of -1",
    ),
    "too many Needs asked for": (
        pb.ClusterReport(cluster_id="shop", ask=[pb.AskedNeed()] * 2_001),
        "report.ask names 2001 Needs",
    ),
    "too long names asked for": (
        pb.ClusterReport(cluster_id="shop", ask=[pb.AskedNeed(group="x" * 2_200_000)]),
        "report.ask has 2200000 bytes",
    ),
}


@pytest.mark.parametrize(("report", "named"), TOO_MUCH.values(), ids=TOO_MUCH)
async def test_a_report_beyond_its_bounds_is_refused_by_the_name_of_its_field(
    report: pb.ClusterReport, named: str
) -> None:
    people, content = ScriptedAdmin(), pb.ReportClusterRequest(report=report).SerializeToString()
    async with address_of(people) as address:
        line = ClientLine(address)
        with pytest.raises(Rejected, match=named) as rejected:
            await line.call(PATH, content, PATIENCE)
        await line.close()
    assert rejected.value.code is Code.INVALID_ARGUMENT
    assert people.asked == []


def test_what_an_operator_tells_is_cut_to_the_bounds() -> None:
    wordy = ClusterReport(
        cluster_id="shop",
        at=1,
        requests_by_phase=phases(40),
        upcoming_by_phase={"é" * 600: 1},
        examples=(UnplacedPod("web/front", "n1", "é" * 600),) * 30,
        empty_machines=("m",) * 60_000,
        lost=(LostMachine("m", LostCause.UNHEALTHY),) * 60_000,
        stuck=(StuckNeed("f", "g", 1),) * 3_000,
        ask=(("f" * 3_000, "g"),) * 3_000,
    )
    told = REPORT.message(wordy)
    assert why_out_of_bounds(told) == ""
    assert (len(told.requests_by_phase), len(told.examples)) == (32, 20)
    assert (len(told.empty_machine_ids), len(told.lost)) == (50_000, 50_000)
    assert (len(told.stuck), len(told.ask)) == (2_000, 698)
    assert told.examples[0].text == "é" * 510 + "..."


def test_reports_and_replies_survive_the_wire() -> None:
    assert REPORT.record(REPORT.message(report_answers.REPORT)) == report_answers.REPORT
    assert REPLY.record(REPLY.message(report_answers.REPLY)) == report_answers.REPLY


def test_a_reply_that_is_too_large_loses_its_end_and_says_how_many_there_are() -> None:
    standings = tuple(NeedStanding(f"{n:04}" + "f" * 5_000, "", True) for n in range(2_000))
    told = REPLY.message(ClusterReportReply(standings, 1, 1, 2_000))
    assert told.ByteSize() <= MOST_BYTES
    assert (len(told.standings), told.total_needs) == (836, 2_000)
    assert REPLY.record(told).standings == standings[:836]


def test_a_standing_that_is_too_large_does_not_cost_the_others_their_place() -> None:
    huge = NeedStanding("f" * (MOST_BYTES + 1), "", True)
    small = tuple(NeedStanding(f"{n}", "", True) for n in range(10))
    told = REPLY.message(ClusterReportReply((huge, *small), 1, 1, 11))
    assert (REPLY.record(told).standings, told.total_needs) == (small, 11)


def test_a_shard_that_does_not_tell_what_it_claims_is_recognised() -> None:
    older = REPLY.record(pb.ReportClusterResponse(standings=[pb.NeedStanding(satisfied=True)]))
    assert older.standings == (NeedStanding("", "", True, wanted=None),)


def test_a_reason_of_a_later_version_is_dropped_and_its_sentence_kept() -> None:
    later = pb.NeedStanding(unmet_reason=77, sentence="rests")  # type: ignore[arg-type]
    [standing] = REPLY.record(pb.ReportClusterResponse(standings=[later])).standings
    assert standing == NeedStanding("", "", False, None, "rests")
