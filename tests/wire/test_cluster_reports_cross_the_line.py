"""What a cluster tells of itself, over real gRPC: who may, what is too much, what comes back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import ClusterReport, NeedStanding, UnplacedPod
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.calling import ClientLine
from bigfleet.wire.cluster_report_records import (
    reply_message,
    reply_of,
    report_message,
    report_of,
    why_out_of_bounds,
)
from bigfleet.wire.cluster_reports import ClusterReportClient
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.shard_admin import ShardAdminService
from tests.wire import admin
from tests.wire.admin import ScriptedAdmin
from tests.wire.certificates import Authority
from tests.wire.sessions import PATIENCE, ScriptedShard, line_to

PATH = "/bigfleet.admin.v1alpha1.ShardAdmin/ReportCluster"


@asynccontextmanager
async def address_of(
    people: ScriptedAdmin, server_tls: TlsFiles | None = None
) -> AsyncIterator[str]:
    services = [ShardAdminService(people)]
    async with line_to(ScriptedShard(), server_tls=server_tls, extra_services=services) as line:
        yield line.client.address


async def test_a_report_is_answered_with_how_its_needs_stand() -> None:
    people = ScriptedAdmin()
    async with address_of(people) as address, ClusterReportClient(address) as client:
        assert await client.report(admin.REPORT) == admin.REPLY
    assert people.asked == [("report_cluster", admin.REPORT)]


#: All of them report of `shop`.
DENIED = {
    "another cluster": ("bigfleet://cluster/bank",),
    "a cluster whose name begins alike": ("bigfleet://cluster/shop-2",),
    "a cluster without a name": ("bigfleet://cluster/",),
    "an admin": ("bigfleet://admin",),
    "a reader": ("bigfleet://readonly",),
    "the shard itself": ("bigfleet://shard/shop",),
    "nobody": (),
    "two at once": ("bigfleet://cluster/shop", "bigfleet://cluster/bank"),
}


@pytest.mark.parametrize("uris", DENIED.values(), ids=DENIED)
async def test_nobody_else_reports_of_a_cluster(tmp_path: Path, uris: tuple[str, ...]) -> None:
    people, authority = ScriptedAdmin(), Authority(tmp_path)
    async with (
        address_of(people, authority.leaf("server")) as address,
        ClusterReportClient(address, authority.leaf("client", *uris)) as client,
    ):
        with pytest.raises(Rejected) as rejected:
            await client.report(admin.REPORT)
    assert rejected.value.code is Code.PERMISSION_DENIED
    assert people.asked == []


async def test_the_cluster_itself_does(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.leaf("client", "bigfleet://cluster/shop")
    async with (
        address_of(ScriptedAdmin(), authority.leaf("server")) as address,
        ClusterReportClient(address, own) as client,
    ):
        assert await client.report(admin.REPORT) == admin.REPLY
        with pytest.raises(Rejected) as rejected:
            await client.report(replace(admin.REPORT, cluster_id=""))
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
    "a negative phase": (
        pb.ClusterReport(cluster_id="shop", requests_by_phase={"Pending": -2}),
        "report.requests_by_phase has a count of -2",
    ),
    "a huge request": (
        pb.ClusterReport(cluster_id="shop", examples=[pb.UnplacedPod(text="x" * 300_000)]),
        "are the most",
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


def test_whatever_an_operator_tells_is_cut_to_the_bounds() -> None:
    wordy = ClusterReport(
        cluster_id="shop",
        at=1,
        requests_by_phase=phases(40),
        upcoming_by_phase={"é" * 600: 1},
        examples=(UnplacedPod("web/front", "n1", "é" * 600),) * 30,
    )
    told = report_message(wordy)
    assert why_out_of_bounds(told) == ""
    assert (len(told.requests_by_phase), len(told.examples)) == (32, 20)
    assert told.examples[0].text == "é" * 510 + "..."


def test_reports_and_replies_survive_the_wire() -> None:
    assert report_of(report_message(admin.REPORT)) == admin.REPORT
    assert reply_of(reply_message(admin.REPLY)) == admin.REPLY


def test_a_reason_of_a_later_version_is_none_with_its_sentence() -> None:
    later = pb.NeedStanding(unmet_reason=77, sentence="rests")  # type: ignore[arg-type]
    [standing] = reply_of(pb.ReportClusterResponse(standings=[later])).standings
    assert standing == NeedStanding("", "", False, None, "rests")
