"""A drain changes its mind: it is needed again, or needed by somebody else, or nobody may act."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import DrainStage
from tests.execution.stage import Stage

S = MachineState


def reclaiming() -> Stage:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.reclaim("m-1")
    stage.acknowledge()
    return stage


def test_a_machine_that_is_claimed_again_stays() -> None:
    stage = reclaiming()
    assert stage.drains.cancel("m-1", stage.now)
    assert stage.drains.intent("m-1") is None
    assert stage.told_of("m-1")[-1] is S.CONFIGURED
    assert stage.counts.of("drains_aborted_total", reason="cancelled") == 1
    assert stage.outcome(ActionKind.RECLAIM, "cancelled") == 1


def test_a_machine_that_was_claimed_again_may_be_reclaimed_at_once() -> None:
    stage = reclaiming()
    stage.drains.cancel("m-1", stage.now)
    stage.reclaim("m-1")
    assert stage.drains.intent("m-1") is not None


def test_what_the_provider_drains_is_not_called_off() -> None:
    stage = reclaiming()
    stage.acknowledge()
    assert not stage.drains.cancel("m-1", stage.now)
    assert stage.drains.reclaiming() == frozenset()


def test_a_preempt_is_not_called_off() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.preempt("m-1")
    assert not stage.drains.cancel("m-1", stage.now)


def test_a_late_answer_to_a_drain_that_was_called_off_does_nothing() -> None:
    stage = reclaiming()
    stage.drains.cancel("m-1", stage.now)
    stage.acknowledge()
    assert stage.mutations() == []


def test_a_reclaim_becomes_a_preempt_with_less_grace() -> None:
    stage = reclaiming()
    stage.wait(60)
    stage.preempt("m-1", grace_seconds=30)
    first, second = stage.instructions()
    assert first.instruction_id == second.instruction_id
    assert (second.grace_period_seconds, second.preemptor_priority) == (30, 900)
    intent = stage.drains.intent("m-1")
    assert intent is not None
    assert (intent.kind, intent.stage) == (ActionKind.PREEMPT, DrainStage.EVICTING)
    assert stage.machines.is_shown_as_draining("m-1")
    stage.wait(30)
    assert len(stage.mutations()) == 1


def test_a_preempt_never_gives_more_time_than_was_left() -> None:
    stage = reclaiming()
    stage.wait(580)
    stage.preempt("m-1", grace_seconds=600)
    assert stage.instructions()[-1].grace_period_seconds == 20


def test_the_answers_of_a_hurried_drain_go_on_counting() -> None:
    stage = reclaiming()
    stage.preempt("m-1", grace_seconds=30)
    stage.acknowledge()
    assert len(stage.mutations()) == 1


def test_a_paused_kind_waits_before_the_provider() -> None:
    stage = reclaiming()
    stage.pause(ActionKind.RECLAIM)
    stage.acknowledge()
    stage.wait(5)
    intent = stage.drains.intent("m-1")
    assert intent is not None
    assert (intent.stage, intent.evicted) == (DrainStage.EVICTING, True)
    assert stage.mutations() == []
    stage.resume()
    stage.wait(1)
    assert len(stage.mutations()) == 1


def test_what_was_evicted_before_a_pause_is_asked_of_the_next_session_again() -> None:
    stage = reclaiming()
    stage.pause(ActionKind.RECLAIM)
    stage.acknowledge()
    stage.disconnect()
    stage.connect()
    first, second = stage.instructions()
    assert first.instruction_id == second.instruction_id
    stage.resume()
    stage.wait(5)
    assert stage.mutations() == []
    stage.acknowledge()
    stage.acknowledge()
    assert len(stage.mutations()) == 1


def test_a_paused_preempt_waits_beyond_its_deadline() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.preempt("m-1", grace_seconds=10)
    stage.pause(ActionKind.PREEMPT)
    stage.wait(60)
    assert stage.mutations() == []
    stage.resume()
    stage.wait(1)
    assert len(stage.mutations()) == 1


def test_a_second_drain_of_a_machine_changes_nothing() -> None:
    stage = reclaiming()
    stage.reclaim("m-1")
    assert len(stage.instructions()) == 1
    assert stage.outcome(ActionKind.RECLAIM, "transition_raced") == 1
