"""When the grace is over: who is forced, who is left in peace."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import DrainCall
from bigfleet.shard.settings import DrainSettings, ShardSettings
from tests.execution.stage import SHOP, Stage

S = MachineState


def draining(kind: ActionKind, drain: DrainSettings | None = None) -> Stage:
    stage = Stage(replace(ShardSettings(), drain=drain or DrainSettings()))
    stage.add("m-1", S.CONFIGURED)
    stage.decide(kind, "m-1", grace_seconds=120)
    return stage


def graces(stage: Stage) -> list[int]:
    return [c.grace_period_seconds for c in stage.mutations() if isinstance(c, DrainCall)]


def test_a_preempt_is_forced_at_its_deadline() -> None:
    stage = draining(ActionKind.PREEMPT)
    stage.acknowledge()
    stage.wait(119)
    assert graces(stage) == []
    stage.wait(1)
    assert graces(stage) == [0]


def test_a_reclaim_is_given_up_at_its_deadline() -> None:
    stage = draining(ActionKind.RECLAIM)
    stage.acknowledge()
    stage.wait(600)
    assert graces(stage) == []
    assert stage.drains.intent("m-1") is None
    assert stage.told_of("m-1")[-1] is S.CONFIGURED
    assert stage.counts.of("drains_aborted_total", reason="pdb") == 1
    assert stage.counts.of("phase_completions_total", phase="drain", result="aborted") == 1
    assert stage.outcomes() == {"cancelled": 1}
    assert stage.stored["drains"] == {}


def test_a_machine_whose_reclaim_was_given_up_is_left_in_peace_for_a_while() -> None:
    stage = draining(ActionKind.RECLAIM)
    stage.wait(600)
    action = Action(ActionKind.RECLAIM, "m-1", SHOP, Rule.EXCESS)
    stage.leap(599)
    assert stage.execution.why_backed_off(action, stage.now) is not None
    stage.leap(1)
    assert stage.execution.why_backed_off(action, stage.now) is None


def test_such_a_machine_may_still_be_preempted() -> None:
    stage = draining(ActionKind.RECLAIM)
    stage.wait(600)
    stage.preempt("m-1")
    intent = stage.drains.intent("m-1")
    assert intent is not None
    assert intent.kind is ActionKind.PREEMPT


def test_a_reclaim_can_be_set_to_be_forced() -> None:
    stage = draining(ActionKind.RECLAIM, DrainSettings(reclaim_on_deadline="force"))
    stage.acknowledge()
    stage.wait(600)
    assert graces(stage) == [0]


@pytest.mark.parametrize(
    ("kind", "grace"), [(ActionKind.RECLAIM, 600), (ActionKind.PREEMPT, 120)], ids=["r", "p"]
)
def test_an_operator_that_does_not_say_when_it_is_done_gets_the_whole_grace(
    kind: ActionKind, grace: int
) -> None:
    stage = Stage()
    stage.connect(SHOP, says_when_done=False)
    stage.add("m-1", S.CONFIGURED)
    stage.decide(kind, "m-1", grace_seconds=120)
    stage.acknowledge()
    stage.acknowledge()
    stage.wait(grace - 1)
    assert graces(stage) == []
    stage.wait(1)
    assert graces(stage) == [0]


def test_a_preempt_without_session_waits_its_grace() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.disconnect()
    stage.preempt("m-1", grace_seconds=30)
    stage.wait(29)
    assert graces(stage) == []
    stage.wait(1)
    assert graces(stage) == [0]
    assert stage.counts.of("drains_without_session_total") == 1
    assert "preempt_without_session" in {log.event for log in stage.logs}


def test_a_preempt_without_session_is_told_to_the_session_that_comes() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.disconnect()
    stage.preempt("m-1", grace_seconds=30)
    stage.wait(10)
    stage.connect()
    assert [i.grace_period_seconds for i in stage.instructions()] == [20]
    assert stage.counts.of("reclaim_resends_total") == 0


def test_a_reclaim_whose_session_is_lost_is_given_up() -> None:
    stage = draining(ActionKind.RECLAIM)
    stage.acknowledge()
    stage.disconnect()
    stage.wait(600)
    assert graces(stage) == []
    assert stage.drains.intent("m-1") is None
    assert stage.counts.of("drains_aborted_total", reason="no_session") == 1


def test_the_deadline_of_draining_begins_after_the_grace() -> None:
    stage = draining(ActionKind.PREEMPT)
    stage.acknowledge()
    stage.acknowledge()
    stage.ack("m-1", S.DRAINING)
    deadline = stage.parts.deadlines.deadline_of("m-1")
    assert deadline == stage.now + (120 + 600) * 1_000_000_000


def test_force_does_not_apply_before_the_operator_has_answered_once() -> None:
    stage = draining(ActionKind.RECLAIM, DrainSettings(reclaim_on_deadline="force"))
    stage.wait(600)
    assert graces(stage) == []
    assert stage.drains.intent("m-1") is None
    assert stage.counts.of("drains_aborted_total", reason="pdb") == 1
    assert stage.told_of("m-1")[-1] is S.CONFIGURED


def test_an_answer_of_an_earlier_session_is_an_answer() -> None:
    stage = draining(ActionKind.RECLAIM, DrainSettings(reclaim_on_deadline="force"))
    stage.acknowledge()
    stage.disconnect()
    stage.connect()
    stage.wait(600)
    assert graces(stage) == [0]


def test_an_operator_that_does_not_say_when_it_is_done_need_not_answer() -> None:
    stage = Stage()
    stage.disconnect()
    stage.connect(SHOP, says_when_done=False)
    stage.add("m-1", S.CONFIGURED)
    stage.decide(ActionKind.RECLAIM, "m-1")
    stage.wait(600)
    assert graces(stage) == [0]
