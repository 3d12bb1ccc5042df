"""A drain is called off or hurried: its machine is needed again, or the shard may not act."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import DrainStage
from tests.execution.rig import Rig

S = MachineState


def reclaiming() -> Rig:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.reclaim("m-1")
    rig.acknowledge()
    return rig


def test_a_machine_that_is_claimed_again_stays() -> None:
    rig = reclaiming()
    assert rig.drains.cancel("m-1", rig.now)
    assert rig.drains.intent("m-1") is None
    assert rig.told_of("m-1")[-1] is S.CONFIGURED
    assert rig.counts.of("drains_aborted_total", reason="cancelled") == 1
    assert rig.outcome(ActionKind.RECLAIM, "cancelled") == 1


def test_a_machine_that_was_claimed_again_may_be_reclaimed_at_once() -> None:
    rig = reclaiming()
    rig.drains.cancel("m-1", rig.now)
    rig.reclaim("m-1")
    assert rig.drains.intent("m-1") is not None


def test_what_the_provider_drains_is_not_called_off() -> None:
    rig = reclaiming()
    rig.acknowledge()
    assert not rig.drains.cancel("m-1", rig.now)
    assert rig.drains.reclaiming() == frozenset()


def test_a_preempt_is_not_called_off() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.preempt("m-1")
    assert not rig.drains.cancel("m-1", rig.now)


def test_a_late_answer_to_a_drain_that_was_called_off_does_nothing() -> None:
    rig = reclaiming()
    rig.drains.cancel("m-1", rig.now)
    rig.acknowledge()
    assert rig.mutations() == []


def test_a_reclaim_becomes_a_preempt_with_less_grace() -> None:
    rig = reclaiming()
    rig.wait(60)
    rig.preempt("m-1", grace_seconds=30)
    first, second = rig.instructions()
    assert first.instruction_id == second.instruction_id
    assert (second.grace_period_seconds, second.preemptor_priority) == (30, 900)
    intent = rig.drains.intent("m-1")
    assert intent is not None
    assert (intent.kind, intent.stage) == (ActionKind.PREEMPT, DrainStage.EVICTING)
    assert rig.machines.is_shown_as_draining("m-1")
    rig.wait(30)
    assert len(rig.mutations()) == 1


def test_a_preempt_never_gives_more_time_than_was_left() -> None:
    rig = reclaiming()
    rig.wait(580)
    rig.preempt("m-1", grace_seconds=600)
    assert rig.instructions()[-1].grace_period_seconds == 20


def test_the_answers_of_a_hurried_drain_go_on_counting() -> None:
    rig = reclaiming()
    rig.preempt("m-1", grace_seconds=30)
    rig.acknowledge()
    assert len(rig.mutations()) == 1


def test_a_paused_kind_waits_before_the_provider() -> None:
    rig = reclaiming()
    rig.pause(ActionKind.RECLAIM)
    rig.acknowledge()
    rig.wait(5)
    intent = rig.drains.intent("m-1")
    assert intent is not None
    assert (intent.stage, intent.evicted) == (DrainStage.EVICTING, True)
    assert rig.mutations() == []
    rig.resume()
    rig.wait(1)
    assert len(rig.mutations()) == 1


def test_what_was_evicted_before_a_pause_is_asked_of_the_next_session_again() -> None:
    rig = reclaiming()
    rig.pause(ActionKind.RECLAIM)
    rig.acknowledge()
    rig.disconnect()
    rig.connect()
    first, second = rig.instructions()
    assert first.instruction_id == second.instruction_id
    rig.resume()
    rig.wait(5)
    assert rig.mutations() == []
    rig.acknowledge()
    rig.acknowledge()
    assert len(rig.mutations()) == 1


def test_a_paused_preempt_waits_beyond_its_deadline() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.preempt("m-1", grace_seconds=10)
    rig.pause(ActionKind.PREEMPT)
    rig.wait(60)
    assert rig.mutations() == []
    rig.resume()
    rig.wait(1)
    assert len(rig.mutations()) == 1


def test_a_second_drain_of_a_machine_changes_nothing() -> None:
    rig = reclaiming()
    rig.reclaim("m-1")
    assert len(rig.instructions()) == 1
    assert rig.outcome(ActionKind.RECLAIM, "transition_raced") == 1
