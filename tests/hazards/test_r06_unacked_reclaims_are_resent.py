"""R06: unacked reclaims are not resent. They are, until they are completed, with the same id."""

from bigfleet.model.machines import MachineState
from tests.execution.rig import Rig

S = MachineState


def reclaiming() -> Rig:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.reclaim("m-1")
    return rig


def drop_the_stream(rig: Rig) -> None:
    rig.disconnect()
    rig.wait(60)
    rig.connect()


def told(rig: Rig) -> tuple[set[str], list[int]]:
    """Ids and graces of every instruction so far."""
    instructions = rig.instructions()
    return (
        {each.instruction_id for each in instructions},
        [each.grace_period_seconds for each in instructions],
    )


def test_a_stream_dropped_before_the_answer() -> None:
    rig = reclaiming()
    drop_the_stream(rig)
    ids, graces = told(rig)
    assert len(ids) == 1
    assert graces == [600, 540]


def test_a_stream_dropped_after_the_answer_and_before_the_end() -> None:
    rig = reclaiming()
    rig.acknowledge()
    drop_the_stream(rig)
    ids, graces = told(rig)
    assert len(ids) == 1
    assert graces == [600, 540]
    rig.acknowledge()
    assert rig.mutations() == []
    rig.acknowledge()
    assert len(rig.mutations()) == 1


def test_a_shard_that_starts_again() -> None:
    rig = reclaiming()
    rig.acknowledge()
    later = rig.restarted(connected=False)
    later.now = rig.now
    later.wait(60)
    later.add("m-1", S.CONFIGURED)
    later.connect()
    ids, graces = told(later)
    assert ids == told(rig)[0]
    assert graces == [540]


def test_what_is_completed_is_not_told_again() -> None:
    rig = reclaiming()
    rig.acknowledge()
    rig.acknowledge()
    rig.ack("m-1", S.IDLE)
    drop_the_stream(rig)
    assert len(rig.instructions()) == 1


def test_every_session_is_told_once() -> None:
    rig = reclaiming()
    for _ in range(5):
        drop_the_stream(rig)
        rig.wait(30)
    assert len(rig.instructions()) == 6
    assert rig.counts.of("reclaim_resends_total") == 5
