"""R03: an operator that never reads costs bounded memory, and only its own session."""

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from tests.sessions.rig import Rig, update

STATES = (MachineState.CONFIGURING, MachineState.CONFIGURED, MachineState.DRAINING)


def test_r03_ten_thousand_updates_a_second_wait_as_one_frame_a_machine() -> None:
    rig = Rig([f"m{i}" for i in range(100)])
    rig.open()
    rig.read(limit=1)
    for number in range(10_000):
        rig.sessions.send("shop", update(f"m{number % 200}", STATES[number % 3]))
    rig.tick(after=1)
    assert rig.counted("outbox_depth", agg="max") == 1 + 200
    assert rig.sessions.is_open("shop")


def test_r03_the_session_is_ended_when_a_frame_waited_too_long() -> None:
    rig = Rig(["m1"])
    rig.open()
    for second in range(1, 30):
        rig.report()
        rig.sessions.send("shop", update("m1"))
        rig.tick(after=second)
        assert rig.sessions.is_open("shop")
    rig.tick(after=30)
    [end] = rig.ended()
    assert (end.session, end.code) == (1, Code.RESOURCE_EXHAUSTED)
    assert rig.counted("session_lifecycle_total", event="stalled") == 1
    assert not rig.counts_report("shop")


def test_r03_what_was_taken_and_never_written_counts_as_waiting() -> None:
    rig = Rig(["m1"])
    rig.open()
    assert len(rig.read()) == 2
    rig.tick(after=31)
    assert [end.code for end in rig.ended()] == [Code.RESOURCE_EXHAUSTED]


def test_r03_different_frames_without_end_are_stopped_by_the_bounds() -> None:
    rig = Rig()
    rig.open()
    rig.read(limit=1)
    for number in range(30_000):
        rig.sessions.send("shop", update(f"m{number}"))
    assert [end.code for end in rig.ended()] == [Code.RESOURCE_EXHAUSTED]
    rig.tick(after=1)
    assert rig.counted("outbox_bytes", agg="sum") == 0


def test_r03_the_other_sessions_get_their_frames() -> None:
    rig = Rig()
    rig.open(1, "shop")
    rig.open(2, "bank")
    rig.read(2)
    for second in range(1, 40):
        rig.sessions.send("shop", update(f"m{second}"))
        rig.sessions.send("bank", update(f"m{second}"))
        rig.tick(after=second)
        assert rig.read(2) == [update(f"m{second}")]
        rig.sessions.sent(2)
    assert [end.session for end in rig.ended()] == [1]
    assert rig.sessions.is_open("bank")


def test_r03_an_operator_that_comes_back_gets_everything_again() -> None:
    rig = Rig(["m1", "m2"])
    rig.open(1)
    rig.tick(after=31)
    assert not rig.sessions.is_open("shop")
    assert rig.open(2, after=32)
    assert rig.read(2)[1:] == [update("m1"), update("m2")]
