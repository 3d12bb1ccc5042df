"""Reports find the leader, and end in time where there is none."""

import asyncio
import socket

from bigfleet.model.options import SECOND
from tests.coordclient.coordinators import coordinators, shard


async def test_a_report_says_who_where_and_how_much() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        await reporter.client.report()
        [report] = leader.heard
        assert (report.shard_id, report.shard_epoch, report.cycle) == ("shard-0", 3, 1)
        assert report.shard_address == "10.0.0.1:7780"
        assert (report.summary.total_machines, report.summary.free_machines) == (7, 4)
        assert dict(report.summary.per_zone_counts) == {"z1": 5, "z2": 2}
        link = reporter.client.link()
        assert (link.address, link.connected, link.term) == (leader.address, True, 1)
        assert reporter.counts["coordinator_reports ok"] == 1


async def test_one_that_follows_is_left_for_its_leader_at_once() -> None:
    async with coordinators(2) as [follower, leader], shard(follower.address) as reporter:
        follower.follows = leader.address
        running = asyncio.create_task(reporter.client.run())
        async with asyncio.timeout(60):
            while not reporter.counts["coordinator_reports ok"]:
                await reporter.clock.advance(0.001)
        assert reporter.counts["coordinator_reports not_leader"] == 1
        assert reporter.client.link().address == leader.address
        running.cancel()
        await asyncio.wait({running})


async def test_a_new_leader_is_found_when_the_old_one_is_gone() -> None:
    async with coordinators(2) as [old, new], shard(old.address, new.address) as reporter:
        await reporter.client.report()
        old.broken = True
        await reporter.client.report()
        assert reporter.client.link().connected is False
        await reporter.client.report()
        assert len(new.heard) == 1
        assert reporter.client.link().connected is True
        assert reporter.counts["coordinator_reports error"] == 1


async def test_a_leader_that_steps_down_says_who_leads_now() -> None:
    async with coordinators(2) as [old, new], shard(old.address, new.address) as reporter:
        await reporter.client.report()
        old.follows = new.address
        await reporter.client.report()
        await reporter.client.report()
        assert (len(old.heard), len(new.heard)) == (2, 1)


async def test_reports_are_said_to_be_answered_again_when_they_are() -> None:
    async with coordinators(2) as [old, new], shard(old.address, new.address) as reporter:
        await reporter.client.report()
        old.broken, new.follows = True, ""
        await reporter.client.report()
        assert len(reporter.log.events("coordinator.trouble")) == 1
        await reporter.client.report()
        assert reporter.counts["coordinator_reports not_leader"] == 1
        assert reporter.log.events("coordinator.back") == []
        old.broken = False
        await reporter.client.report()
        assert len(reporter.log.events("coordinator.back")) == 1
        assert len(reporter.log.events("coordinator.trouble")) == 1


async def test_that_no_replica_leads_is_said_once_all_were_asked() -> None:
    async with coordinators(2) as [one, other], shard(one.address, other.address) as reporter:
        one.follows = other.follows = ""
        for _ in range(2):
            await reporter.client.report()
            assert reporter.log.said == []
        for _ in range(5):
            await reporter.client.report()
        [said] = reporter.log.events("coordinator.trouble")
        assert "not the leader" in said["msg"]


async def test_two_that_name_each_other_are_not_asked_without_rest() -> None:
    async with coordinators(2) as [one, other], shard(one.address, other.address) as reporter:
        one.follows, other.follows = other.address, one.address
        running = asyncio.create_task(reporter.client.run())
        async with asyncio.timeout(60):
            while len(one.heard) + len(other.heard) < 3:
                await reporter.clock.advance(0.001)
        for _ in range(20):
            await reporter.clock.advance(0.001)
        assert len(one.heard) + len(other.heard) == 3
        running.cancel()
        await asyncio.wait({running})


async def test_the_deadline_holds_where_no_server_answers() -> None:
    """A bound port without a server: connecting works, or does not; an answer never comes."""
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(1)
        port = hole.getsockname()[1]
        async with shard(f"127.0.0.1:{port}", timeout_seconds=0.2) as reporter:
            async with asyncio.timeout(60):
                await reporter.client.report()
            assert reporter.counts["coordinator_reports error"] == 1
            assert "DEADLINE_EXCEEDED" in reporter.client.link().last_error


async def test_without_a_coordinator_reports_rest_longer_and_longer() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        async with shard(address) as reporter:
            rests = []
            for _ in range(8):
                await reporter.client.report()
                rests.append((reporter.client.due - reporter.clock.now()) / SECOND)
    assert rests == sorted(rests[:6]) + rests[6:]
    assert 0.45 <= rests[0] <= 0.55
    assert all(13.5 <= rest <= 16.5 for rest in rests[-2:])
