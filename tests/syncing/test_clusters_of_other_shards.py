"""Misbound clusters: sent where they belong, through a restart, until the coordinator says else."""

from bigfleet.model.coordination import ClusterBinding
from bigfleet.model.provider_calls import Code
from bigfleet.model.session_frames import PROTOCOL, Hello
from bigfleet.shard.events import SessionOpened
from bigfleet.shard.instructions import EndSession
from tests.transfers.shards import Shard, idle, need

ELSEWHERE = ClusterBinding("shop", "shard-z", "10.0.0.9:7780")


def refused(shard: Shard, session: int = 99) -> list[EndSession]:
    """What becomes of a session that the cluster opens."""
    asked = shard.state.handle(SessionOpened(session, Hello("shop", PROTOCOL), "", shard.at))
    return [each for each in asked if isinstance(each, EndSession)]


def test_a_cluster_of_another_shard_is_told_where_it_belongs() -> None:
    shard = Shard(idle(2))
    shard.sync(misbound=(ELSEWHERE,))
    [end] = refused(shard)
    assert end.code is Code.FAILED_PRECONDITION
    assert "shard-z" in end.text
    assert "10.0.0.9:7780" in end.text
    assert shard.counted("session_misbound_total") == 1


def test_one_that_is_connected_is_sent_away_and_its_demand_counts_elsewhere() -> None:
    shard = Shard(idle(2))
    shard.report("shop", need("shop", 2, 100))
    shard.run(3)
    assert shard.of("shop") == {"m-00", "m-01"}
    shard.sync(misbound=(ELSEWHERE,))
    assert not shard.state.parts.sessions.is_open("shop")
    assert len(shard.state.parts.needs) == 0


def test_the_machines_it_has_here_are_not_taken_from_it() -> None:
    """What they are worth there is unknown; the shard they belong to must be asked first."""
    shard = Shard(idle(2))
    shard.report("shop", need("shop", 2, 100))
    shard.run(3)
    shard.sync(misbound=(ELSEWHERE,))
    shard.run(30)
    assert shard.of("shop") == {"m-00", "m-01"}


def test_it_is_refused_after_a_restart_without_the_coordinator() -> None:
    shard = Shard(idle(2))
    shard.sync(misbound=(ELSEWHERE,))
    assert len(refused(shard.restarted())) == 1


def test_a_cluster_that_keeps_trying_is_asked_about_until_it_may() -> None:
    shard = Shard(idle(2))
    shard.sync(misbound=(ELSEWHERE,))
    assert shard.sync(misbound=(ELSEWHERE,)).cluster_ids == ("shop",)
    assert shard.sync().cluster_ids == ()
    assert len(refused(shard)) == 1
    assert shard.sync().cluster_ids == ("shop",)
    assert refused(shard) == []


def test_what_was_not_asked_about_stays_as_it_was() -> None:
    shard = Shard(idle(2))
    shard.sync(misbound=(ELSEWHERE,))
    shard.sync(misbound=(ELSEWHERE,))
    shard.sync()
    shard.sync()
    assert len(refused(shard)) == 1
