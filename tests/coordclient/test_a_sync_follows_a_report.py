"""Syncs: on the line of the report, under the newest term, on disk before they are taken over."""

from bigfleet.model.coordination import SyncReply
from bigfleet.model.options import SECOND
from bigfleet.shard.coordinator_client.instruction_handler import TERM
from tests.coordclient.coordinators import coordinators, shard


async def test_a_sync_goes_where_the_report_went() -> None:
    async with coordinators(2) as [follower, leader], shard(follower.address) as reporter:
        follower.follows = leader.address
        leader.sync_reply = SyncReply(1)
        await reporter.client.report()
        await reporter.client.report()
        assert (len(follower.synced), len(leader.synced)) == (0, 1)
        assert leader.synced[0].shard_id == "shard-0"
        assert reporter.taken == [leader.sync_reply]
        assert reporter.counts["coordinator_syncs ok"] == 1


async def test_a_coordinator_that_knows_no_sync_is_asked_again_after_ten_minutes() -> None:
    async with coordinators(1) as [old], shard(old.address) as reporter:
        await reporter.client.report()
        await reporter.client.report()
        assert len(old.synced) == 1
        assert reporter.client.link().connected is True
        await reporter.clock.advance(599)
        await reporter.client.report()
        assert len(old.synced) == 1
        old.sync_reply = SyncReply(1)
        await reporter.clock.advance(1)
        await reporter.client.report()
        await reporter.client.report()
        assert len(old.synced) == 3
        assert reporter.counts["coordinator_syncs unimplemented"] == 1


async def test_an_answer_of_an_older_term_is_not_taken_over() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.asks(term=5)
        leader.sync_reply = SyncReply(4)
        await reporter.client.report()
        assert reporter.taken == []
        assert reporter.counts["coordinator_syncs stale_term"] == 1
        assert reporter.counts["coordinator_reports ok"] == 1
        assert reporter.client.link().connected is False


async def test_a_newer_term_of_a_sync_is_on_disk_before_it_is_taken_over() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        await reporter.client.report()
        leader.asks()
        leader.sync_reply = SyncReply(6)
        reporter.disk_trouble = OSError("no space left")
        await reporter.clock.advance(600)
        await reporter.client.report()
        assert reporter.taken == []
        assert reporter.client.link().term == 1
        reporter.disk_trouble = None
        leader.asks(term=6)
        await reporter.client.report()
        assert len(reporter.taken) == 1
        assert reporter.kept[TERM] == b"6"


async def test_an_answer_that_cannot_be_kept_is_asked_for_again() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.sync_reply = SyncReply(1)
        await reporter.client.report()
        reporter.disk_trouble = OSError("no space left")
        await reporter.client.report()
        assert len(reporter.taken) == 1
        assert "no space left" in reporter.client.link().last_error
        assert reporter.counts["coordinator_syncs error"] == 1
        reporter.disk_trouble = None
        await reporter.client.report()
        assert len(reporter.taken) == 2


async def test_a_caller_that_waits_for_the_shard_may_ask_it_to_hurry_once() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.sync_reply = SyncReply(1, next_sync_millis=250)
        await reporter.client.report()
        assert reporter.client.due == reporter.clock.now() + SECOND // 4
        leader.sync_reply = SyncReply(1)
        await reporter.client.report()
        assert reporter.client.due >= reporter.clock.now() + 9 * SECOND


async def test_requests_to_hurry_cannot_make_a_shard_report_without_rest() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.sync_reply = SyncReply(1, next_sync_millis=1)
        await reporter.client.report()
        assert reporter.client.due >= reporter.clock.now() + SECOND // 50


async def test_a_coordinator_that_lost_its_memory_is_told_everything() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.sync_reply = SyncReply(1, merging=True)
        await reporter.client.report()
        leader.sync_reply = SyncReply(1)
        await reporter.client.report()
        await reporter.client.report()
        assert reporter.asked_merging == [False, True, False]


async def test_a_leader_that_steps_down_before_the_sync_is_left_for_the_next() -> None:
    async with coordinators(2) as [old, new], shard(old.address, new.address) as reporter:
        old.sync_reply = new.sync_reply = SyncReply(1)
        old.follows_in_syncs = new.address
        await reporter.client.report()
        assert reporter.client.link().address == new.address
        await reporter.client.report()
        assert (len(old.synced), len(new.synced)) == (1, 1)
        assert len(reporter.taken) == 1
