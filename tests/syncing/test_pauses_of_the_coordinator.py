"""The coordinator's pauses: in force until it lifts them, reached or not."""

from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.shard.coordination.coordinator_pauses import KEY
from bigfleet.shard.effects import COORDINATION
from tests.transfers.shards import Shard, idle, need

EVERYTHING = Pause("p-1", PauseSource.COORDINATOR, PauseScope(), "ada", "a drill")


def works(shard: Shard) -> bool:
    shard.report("shop", need("shop", 1, 100))
    shard.run(3)
    return bool(shard.of("shop"))


def test_a_pause_stops_the_shard_until_it_is_lifted() -> None:
    shard = Shard(idle(2))
    shard.sync(pauses=(EVERYTHING,))
    assert not works(shard)
    shard.sync()
    assert works(shard)


def test_it_holds_through_a_restart_without_the_coordinator() -> None:
    shard = Shard(idle(2))
    shard.sync(pauses=(EVERYTHING,))
    again = shard.restarted()
    assert not works(again)
    again.sync()
    assert works(again)


def test_it_expires_by_itself() -> None:
    shard = Shard(idle(2))
    until = shard.at + 60 * SECOND
    brief = Pause("p-1", PauseSource.COORDINATOR, PauseScope(), "ada", "a drill", 0, until)
    shard.sync(pauses=(brief,))
    assert not works(shard)
    shard.wait(60)
    assert works(shard)


def test_pauses_that_cannot_be_read_stop_everything_until_the_next_sync() -> None:
    shard = Shard(idle(2))
    shard.disk[COORDINATION][KEY] = b"{"
    again = shard.restarted()
    assert not works(again)
    again.sync()
    assert works(again)
