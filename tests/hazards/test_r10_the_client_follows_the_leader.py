"""R10, the client's half: a black-holed address costs one deadline, a follower costs one call."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from bigfleet.model.coordination import SyncReply
from tests.coordclient.coordinators import Coordinator, Shard, assign, coordinators, shard

DEADLINE = 0.2


@pytest.fixture
def black_hole() -> Iterator[str]:
    """Connections are taken and nothing is ever answered."""
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(1)
        yield f"127.0.0.1:{hole.getsockname()[1]}"


async def reports_until(reporter: Shard, heard: Coordinator) -> int:
    """How many rounds it took until a coordinator heard."""
    rounds = 0
    async with asyncio.timeout(60):
        while not heard.heard:
            rounds += 1
            await reporter.client.report()
    return rounds


async def test_r10_a_black_hole_is_left_after_one_deadline(black_hole: str) -> None:
    async with (
        coordinators(1) as [leader],
        shard(black_hole, leader.address, timeout_seconds=DEADLINE) as reporter,
    ):
        assert await reports_until(reporter, leader) == 2
        assert reporter.counts["coordinator_reports error"] == 1
        assert reporter.client.link().connected is True


async def test_r10_a_leader_that_falls_silent_between_report_and_sync_is_left() -> None:
    async with (
        coordinators(2) as [old, new],
        shard(old.address, new.address, timeout_seconds=DEADLINE) as reporter,
    ):
        new.sync_reply = SyncReply(1)
        old.hangs_in_syncs = True
        async with asyncio.timeout(60):
            await reporter.client.report()
            await reporter.client.report()
        assert reporter.counts["coordinator_syncs error"] == 1
        assert len(new.synced) == 1
        assert reporter.taken == [new.sync_reply]


async def test_r10_a_leader_in_a_black_hole_is_not_followed_for_ever(black_hole: str) -> None:
    """A follower that still names the dead leader; then it leads itself."""
    async with (
        coordinators(1) as [replica],
        shard(replica.address, timeout_seconds=DEADLINE) as reporter,
    ):
        replica.follows = black_hole
        async with asyncio.timeout(60):
            await reporter.client.report()
            await reporter.client.report()
        assert reporter.client.link().address == replica.address
        replica.follows = None
        await reporter.client.report()
        assert reporter.client.link().connected is True


async def test_r10_acks_reach_the_leader_that_is_found_in_the_end(black_hole: str) -> None:
    async with (
        coordinators(2) as [old, new],
        shard(old.address, new.address, timeout_seconds=DEADLINE) as reporter,
    ):
        old.asks(assign("i-1", 1))
        await reporter.client.report()
        old.follows = black_hole
        async with asyncio.timeout(60):
            while not new.heard:
                await reporter.client.report()
        assert [ack.instruction_id for ack in new.heard[0].instruction_acks] == ["i-1"]
