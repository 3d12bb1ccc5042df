"""When the grace is over: who is forced, who is left in peace."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import DrainCall
from bigfleet.shard.settings import DrainSettings, ShardSettings
from tests.execution.rig import SHOP, Rig

S = MachineState


def draining(kind: ActionKind, drain: DrainSettings | None = None) -> Rig:
    rig = Rig(replace(ShardSettings(), drain=drain or DrainSettings()))
    rig.add("m-1", S.CONFIGURED)
    rig.decide(kind, "m-1", grace_seconds=120)
    return rig


def graces(rig: Rig) -> list[int]:
    return [c.grace_period_seconds for c in rig.mutations() if isinstance(c, DrainCall)]


def test_a_preempt_is_forced_at_its_deadline() -> None:
    rig = draining(ActionKind.PREEMPT)
    rig.acknowledge()
    rig.wait(119)
    assert graces(rig) == []
    rig.wait(1)
    assert graces(rig) == [0]


def test_a_reclaim_is_given_up_at_its_deadline() -> None:
    rig = draining(ActionKind.RECLAIM)
    rig.acknowledge()
    rig.wait(600)
    assert graces(rig) == []
    assert rig.drains.intent("m-1") is None
    assert rig.told_of("m-1")[-1] is S.CONFIGURED
    assert rig.counts.of("drains_aborted_total", reason="pdb") == 1
    assert rig.counts.of("phase_completions_total", phase="drain", result="aborted") == 1
    assert rig.outcomes() == {"cancelled": 1}
    assert rig.stored["drains"] == {}


def test_a_machine_whose_reclaim_was_given_up_is_left_in_peace_for_a_while() -> None:
    rig = draining(ActionKind.RECLAIM)
    rig.wait(600)
    action = Action(ActionKind.RECLAIM, "m-1", SHOP, Rule.EXCESS)
    rig.leap(599)
    assert rig.execution.why_backed_off(action, rig.now) is not None
    rig.leap(1)
    assert rig.execution.why_backed_off(action, rig.now) is None


def test_such_a_machine_may_still_be_preempted() -> None:
    rig = draining(ActionKind.RECLAIM)
    rig.wait(600)
    rig.preempt("m-1")
    intent = rig.drains.intent("m-1")
    assert intent is not None
    assert intent.kind is ActionKind.PREEMPT


def test_a_reclaim_can_be_set_to_be_forced() -> None:
    rig = draining(ActionKind.RECLAIM, DrainSettings(reclaim_on_deadline="force"))
    rig.acknowledge()
    rig.wait(600)
    assert graces(rig) == [0]


@pytest.mark.parametrize(
    ("kind", "grace"), [(ActionKind.RECLAIM, 600), (ActionKind.PREEMPT, 120)], ids=["r", "p"]
)
def test_an_operator_that_does_not_say_when_it_is_done_gets_the_whole_grace(
    kind: ActionKind, grace: int
) -> None:
    rig = Rig()
    rig.connect(SHOP, says_when_done=False)
    rig.add("m-1", S.CONFIGURED)
    rig.decide(kind, "m-1", grace_seconds=120)
    rig.acknowledge()
    rig.acknowledge()
    rig.wait(grace - 1)
    assert graces(rig) == []
    rig.wait(1)
    assert graces(rig) == [0]


def test_a_preempt_without_session_waits_its_grace() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.disconnect()
    rig.preempt("m-1", grace_seconds=30)
    rig.wait(29)
    assert graces(rig) == []
    rig.wait(1)
    assert graces(rig) == [0]
    assert rig.counts.of("drains_without_session_total") == 1
    assert "preempt_without_session" in {log.event for log in rig.logs}


def test_a_preempt_without_session_is_told_to_the_session_that_comes() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.disconnect()
    rig.preempt("m-1", grace_seconds=30)
    rig.wait(10)
    rig.connect()
    assert [i.grace_period_seconds for i in rig.instructions()] == [20]
    assert rig.counts.of("reclaim_resends_total") == 0


def test_a_reclaim_whose_session_is_lost_is_given_up() -> None:
    rig = draining(ActionKind.RECLAIM)
    rig.acknowledge()
    rig.disconnect()
    rig.wait(600)
    assert graces(rig) == []
    assert rig.drains.intent("m-1") is None
    assert rig.counts.of("drains_aborted_total", reason="no_session") == 1


def test_the_deadline_of_draining_begins_after_the_grace() -> None:
    rig = draining(ActionKind.PREEMPT)
    rig.acknowledge()
    rig.acknowledge()
    rig.ack("m-1", S.DRAINING)
    deadline = rig.parts.deadlines.deadline_of("m-1")
    assert deadline == rig.now + (120 + 600) * 1_000_000_000


def test_force_does_not_apply_before_the_operator_has_answered_once() -> None:
    rig = draining(ActionKind.RECLAIM, DrainSettings(reclaim_on_deadline="force"))
    rig.wait(600)
    assert graces(rig) == []
    assert rig.drains.intent("m-1") is None
    assert rig.counts.of("drains_aborted_total", reason="pdb") == 1
    assert rig.told_of("m-1")[-1] is S.CONFIGURED


def test_an_answer_of_an_earlier_session_is_an_answer() -> None:
    rig = draining(ActionKind.RECLAIM, DrainSettings(reclaim_on_deadline="force"))
    rig.acknowledge()
    rig.disconnect()
    rig.connect()
    rig.wait(600)
    assert graces(rig) == [0]


def test_an_operator_that_does_not_say_when_it_is_done_need_not_answer() -> None:
    rig = Rig()
    rig.disconnect()
    rig.connect(SHOP, says_when_done=False)
    rig.add("m-1", S.CONFIGURED)
    rig.decide(ActionKind.RECLAIM, "m-1")
    rig.wait(600)
    assert graces(rig) == [0]
