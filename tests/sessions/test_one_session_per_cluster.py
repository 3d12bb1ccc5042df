"""Admission, replacement, replay and the end of sessions."""

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.model.session_frames import Acknowledgement, BootstrapRequest, ReclaimInstruction
from bigfleet.model.settings import Bytes
from bigfleet.shard.instructions import EndSession
from bigfleet.shard.settings import SessionSettings
from tests.sessions.rig import START, Rig, update

HELLO = Acknowledgement("hello", 4, 7)
RECLAIM = ReclaimInstruction("bf1-id-1", ("m1",), 600)


def test_a_hello_is_followed_by_every_bound_machine_and_every_open_reclaim() -> None:
    rig = Rig(["m1", "m2"])
    rig.preempt("m1", grace_seconds=600)
    assert rig.open()
    assert rig.flushes() == 1
    assert rig.read() == [HELLO, update("m1"), update("m2"), RECLAIM]


def test_what_happens_during_the_replay_takes_the_place_of_what_was_to_be_told() -> None:
    rig = Rig(["m1", "m2", "m3"])
    rig.open()
    rig.sessions.send("shop", update("m2", MachineState.DRAINING))
    rig.sessions.send("shop", update("m9"))
    draining = update("m2", MachineState.DRAINING)
    assert rig.read() == [HELLO, update("m1"), draining, update("m3"), update("m9")]


def test_a_later_hello_is_acknowledged_in_its_place_and_replays_nothing() -> None:
    rig = Rig(["m1"])
    rig.open()
    rig.repeat(version="v1alpha1+reclaim-done")
    assert rig.read() == [HELLO, update("m1"), HELLO]
    assert rig.sessions.features("shop") == {"reclaim-done"}


def test_a_later_hello_of_another_cluster_ends_the_session() -> None:
    rig = Rig(["m1"])
    rig.open()
    rig.report()
    rig.repeat(cluster="other")
    [end] = rig.ended()
    assert (end.session, end.code) == (1, Code.INVALID_ARGUMENT)
    assert not rig.sessions.is_open("shop")
    assert not rig.counts_report("shop")


def test_the_newer_session_wins_and_the_older_is_aborted() -> None:
    rig = Rig(["m1"])
    rig.open(1)
    rig.report()
    rig.sessions.send("shop", BootstrapRequest("r1", "shop"))
    rig.open(2)
    [end] = rig.ended()
    assert (end.session, end.code) == (1, Code.ABORTED)
    assert not rig.counts_report("shop")
    assert rig.read(1) == []
    assert rig.read(2) == [HELLO, update("m1")]
    rig.close(1)
    assert rig.sessions.is_open("shop"), "the end of the older stream is not that of the newer"
    assert rig.counted("session_lifecycle_total", event="replaced") == 1
    assert rig.counted("session_lifecycle_total", event="removed") == 0


def test_a_hello_without_a_cluster_is_refused() -> None:
    rig = Rig()
    assert not rig.open(cluster="")
    assert [end.code for end in rig.ended()] == [Code.INVALID_ARGUMENT]


def test_a_cluster_bound_elsewhere_is_told_where() -> None:
    rig = Rig()
    rig.bind_elsewhere("shop", "shard-3", "10.0.0.3:7780")
    assert not rig.open()
    [end] = rig.ended()
    assert end.code is Code.FAILED_PRECONDITION
    assert "shard-3 at 10.0.0.3:7780" in end.text
    assert rig.counted("session_misbound_total") == 1
    assert not rig.sessions.is_open("shop")


def test_another_version_is_noted_and_accepted() -> None:
    rig = Rig()
    assert rig.open(version="v2+reclaim-done")
    assert rig.logged() == ["session_version"]


def test_a_cluster_that_is_not_connected_is_told_nothing() -> None:
    rig = Rig()
    rig.sessions.send("shop", update("m1"))
    assert rig.effects.taken() == []
    assert rig.sessions.features("shop") == frozenset()


def test_the_stream_is_flushed_once_for_many_frames() -> None:
    rig = Rig()
    rig.open()
    rig.read()
    rig.effects.taken()
    for number in range(5):
        rig.sessions.send("shop", update(f"m{number}"))
    assert rig.flushes() == 1
    rig.read()
    rig.sessions.send("shop", update("m1"))
    assert rig.flushes() == 1


def test_a_closed_session_is_forgotten_but_still_shown() -> None:
    rig = Rig()
    rig.open()
    rig.report()
    rig.wants(4, 2, 8)
    rig.close()
    assert not rig.sessions.is_open("shop")
    assert not rig.counts_report("shop")
    [view] = rig.sessions.views()
    assert (view.cluster, view.connected, view.needs) == ("shop", False, 3)
    assert rig.counted("active_sessions") == 0
    assert rig.counted("session_lifecycle_total", event="removed") == 1


def test_a_view_shows_what_waits() -> None:
    rig = Rig(["m1", "m2"])
    rig.open()
    [view] = rig.sessions.views("shop")
    assert (view.connected, view.outbox_frames, view.oldest_frame_at) == (True, 3, START)
    assert rig.sessions.views("other") == ()


def test_a_roll_up_is_acknowledged_on_the_session_it_came_from() -> None:
    rig = Rig()
    rig.open(1)
    rig.open(2)
    rig.read(2)
    rig.sessions.acknowledge_rollup(1)
    assert rig.read(2) == []
    rig.sessions.acknowledge_rollup(2)
    assert rig.read(2) == [Acknowledgement("rollup", 4, 7)]


def test_at_the_end_of_the_process_every_session_is_told() -> None:
    rig = Rig()
    rig.open(1, "shop")
    rig.open(2, "bank")
    rig.sessions.stop("the shard stops")
    ends = rig.ended()
    assert {(end.session, end.code) for end in ends} == {
        (1, Code.UNAVAILABLE),
        (2, Code.UNAVAILABLE),
    }
    assert len(rig.sessions) == 0


def test_too_many_frames_end_the_session() -> None:
    rig = Rig(settings=SessionSettings(outbox_frames=10))
    rig.open()
    for number in range(9):
        rig.sessions.send("shop", update(f"m{number}"))
    assert rig.sessions.is_open("shop")
    rig.sessions.send("shop", update("m9"))
    [end] = rig.ended()
    assert end.code is Code.RESOURCE_EXHAUSTED
    assert rig.counted("outbox_overflows_total") == 1
    assert rig.counted("session_lifecycle_total", event="stalled") == 1


def test_too_many_bytes_end_the_session() -> None:
    rig = Rig(settings=SessionSettings(outbox_bytes=Bytes(1000)))
    rig.open()
    rig.sessions.send("shop", update("m" * 600))
    assert [type(each) for each in rig.ended()] == [EndSession]


def test_a_replay_larger_than_the_outbox_is_not_an_overflow() -> None:
    rig = Rig([f"m{i}" for i in range(50)], SessionSettings(outbox_frames=10))
    rig.open()
    read = [frame for _ in range(12) for frame in rig.read(limit=5)]
    assert len(read) == 51
    assert rig.ended() == []


def test_outboxes_are_measured() -> None:
    rig = Rig()
    rig.open(1, "shop")
    rig.open(2, "bank")
    rig.sessions.send("shop", update("m1"))
    rig.tick(after=4)
    assert rig.counted("outbox_depth", agg="max") == 2
    assert rig.counted("outbox_depth", agg="sum") == 3
    assert rig.counted("outbox_oldest_age_seconds", agg="max") == 4
