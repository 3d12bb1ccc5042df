"""Real calls to a real shard: a cluster reports, and reads how its Needs stand."""

from pathlib import Path

import pytest

from bigfleet.model.cluster_reports import (
    ClusterReport,
    ClusterReportReply,
    LostCause,
    LostMachine,
)
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import StoryCall
from bigfleet.wire.cluster_report_client import ClusterReportClient
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.cli.shard_commands.rig import living_shard, need

SHOP = ClusterReport("shop", at=5, nodes_ready=3, requests_by_phase={"Acknowledged": 3})


async def test_a_cluster_reads_how_its_own_needs_stand(tmp_path: Path) -> None:
    mine, gpus = need("shop", 3), need("shop", 1, kind="gpu")
    async with (
        living_shard(tmp_path) as shard,
        shard.operator("shop", mine, gpus),
        shard.operator("ml", need("ml", 1)),
        ClusterReportClient(shard.address) as client,
    ):
        await shard.until_bound("shop", 3)
        await shard.until_bound("ml", 1)
        state = shard.process.state
        await shard.until(lambda: len(state.parts.shortfalls) == 1)
        # A cycle that began when all of them served.
        begun = state.decision_loop.number
        await shard.until(lambda: state.decision_loop.ledger.cycle > begun + 1)
        reply = await client.report(SHOP)
        async with ShardAdminClient(shard.address) as people:
            ml, shop = await people.sessions()
    standings = {each.key("shop"): each for each in reply.standings}
    assert set(standings) == {mine.key, gpus.key}
    assert standings[mine.key].sentence == "served by 3 machines"
    assert standings[gpus.key].sentence.endswith(": NO_MATCHING_SUPPLY")
    assert (reply.total, reply.cycle > 0) == (2, True)
    assert ml.report is None
    assert shop.report is not None
    assert (shop.report.report, shop.report.stale) == (SHOP, False)


async def test_a_cluster_without_a_session_is_sent_to_open_one(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard, ClusterReportClient(shard.address) as client:
        with pytest.raises(Rejected, match="open one") as rejected:
            await client.report(SHOP)
        assert rejected.value.code is Code.FAILED_PRECONDITION
        async with shard.operator("shop"):
            await shard.until(lambda: shard.process.state.parts.sessions.is_open("shop"))
            reply = await client.report(SHOP)
    assert (reply.standings, reply.total) == (ClusterReportReply().standings, 0)


async def test_what_a_cluster_says_of_its_machines_is_seen_and_a_lost_one_goes_back(
    tmp_path: Path,
) -> None:
    async with (
        living_shard(tmp_path) as shard,
        shard.operator("shop", need("shop", 2)),
        ClusterReportClient(shard.address) as client,
        ShardAdminClient(shard.address) as people,
    ):
        await shard.until_bound("shop", 2)
        empty, gone = shard.bound_to("shop")
        lost = (LostMachine(gone, LostCause.NODE_GONE),)
        await client.report(ClusterReport("shop", 5, empty_machines=(empty,), lost=lost))
        assert (await people.story(StoryCall(empty))).machine.empty  # type: ignore[union-attr]
        counts = shard.process.state.effects.counts
        await shard.until(lambda: counts.of("machines_lost_total", cause="node_gone"))
        await client.report(ClusterReport("shop", 6))
        await shard.until_bound("shop", 2)
        story = await people.story(StoryCall(gone))
    told = [event.text for event in story.events]
    assert "lost: its Node is gone from shop" in told
    assert "given back: its Node is gone from shop" in told
