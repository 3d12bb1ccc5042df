"""R06: unacked reclaims are not resent. They are, until they are completed, with the same id."""

from bigfleet.model.machines import MachineState
from tests.execution.stage import Stage

S = MachineState


def reclaiming() -> Stage:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.reclaim("m-1")
    return stage


def drop_the_stream(stage: Stage) -> None:
    stage.disconnect()
    stage.wait(60)
    stage.connect()


def told(stage: Stage) -> tuple[set[str], list[int]]:
    """Ids and graces of every instruction so far."""
    instructions = stage.instructions()
    return (
        {each.instruction_id for each in instructions},
        [each.grace_period_seconds for each in instructions],
    )


def test_a_stream_dropped_before_the_answer() -> None:
    stage = reclaiming()
    drop_the_stream(stage)
    ids, graces = told(stage)
    assert len(ids) == 1
    assert graces == [600, 540]


def test_a_stream_dropped_after_the_answer_and_before_the_end() -> None:
    stage = reclaiming()
    stage.acknowledge()
    drop_the_stream(stage)
    ids, graces = told(stage)
    assert len(ids) == 1
    assert graces == [600, 540]
    stage.acknowledge()
    assert stage.mutations() == []
    stage.acknowledge()
    assert len(stage.mutations()) == 1


def test_a_shard_that_starts_again() -> None:
    stage = reclaiming()
    stage.acknowledge()
    later = stage.restarted(connected=False)
    later.now = stage.now
    later.wait(60)
    later.add("m-1", S.CONFIGURED)
    later.connect()
    ids, graces = told(later)
    assert ids == told(stage)[0]
    assert graces == [540]


def test_what_is_completed_is_not_told_again() -> None:
    stage = reclaiming()
    stage.acknowledge()
    stage.acknowledge()
    stage.ack("m-1", S.IDLE)
    drop_the_stream(stage)
    assert len(stage.instructions()) == 1


def test_every_session_is_told_once() -> None:
    stage = reclaiming()
    for _ in range(5):
        drop_the_stream(stage)
        stage.wait(30)
    assert len(stage.instructions()) == 6
    assert stage.counts.of("reclaim_resends_total") == 5
