"""Open drains: told again to every session, and carried on by the next life of the shard."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import DrainCall
from bigfleet.model.shard_views import DrainStage
from tests.execution.stage import SHOP, Stage

S = MachineState


def draining(kind: ActionKind = ActionKind.PREEMPT) -> Stage:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.decide(kind, "m-1", grace_seconds=120)
    return stage


def again(stage: Stage, state: MachineState, waited: float = 0) -> Stage:
    """The shard starts again, and its first List shows the machine so."""
    later = stage.restarted()
    later.now = stage.now
    later.leap(waited)
    later.add("m-1", state)
    later.leap(1)
    return later


def test_a_new_session_is_told_the_same_with_less_grace() -> None:
    stage = draining()
    stage.wait(20)
    stage.disconnect()
    stage.wait(20)
    stage.connect()
    first, second = stage.instructions()
    assert first.instruction_id == second.instruction_id
    assert (first.grace_period_seconds, second.grace_period_seconds) == (120, 80)
    assert stage.counts.of("reclaim_resends_total") == 1


def test_the_first_answer_of_a_new_session_is_not_taken_for_the_last() -> None:
    stage = draining()
    stage.acknowledge()
    stage.disconnect()
    stage.connect()
    stage.acknowledge()
    assert stage.mutations() == []
    stage.acknowledge()
    assert len(stage.mutations()) == 1


def test_what_is_evicted_is_not_told_again() -> None:
    stage = draining()
    stage.acknowledge()
    stage.acknowledge()
    stage.disconnect()
    stage.connect()
    assert len(stage.instructions()) == 1


def test_another_cluster_is_told_nothing() -> None:
    stage = draining()
    stage.connect("bank")
    assert len(stage.instructions()) == 1


@pytest.mark.parametrize("kind", [ActionKind.RECLAIM, ActionKind.PREEMPT], ids=lambda k: k.label)
def test_after_a_restart_the_drain_goes_on(kind: ActionKind) -> None:
    stage = draining(kind)
    stage.acknowledge()
    before = stage.drains.intent("m-1")
    later = again(stage, S.CONFIGURED)
    after = later.drains.intent("m-1")
    assert before is not None
    assert after == before
    later.connect()
    assert later.instructions()[0].instruction_id == before.instruction_id
    later.acknowledge()
    later.acknowledge()
    assert isinstance(later.mutations()[0], DrainCall)


def test_after_a_restart_a_preempted_machine_counts_as_draining_again() -> None:
    later = draining().restarted()
    later.add("m-1", S.CONFIGURED)
    assert later.machines.is_shown_as_draining("m-1")
    later.leap(1)
    assert later.machines.is_shown_as_draining("m-1")


def test_after_a_restart_the_deadline_is_the_old_one() -> None:
    later = again(draining(), S.CONFIGURED, waited=100)
    later.wait(18)
    assert later.mutations() == []
    later.wait(1)
    assert len(later.mutations()) == 1


def test_after_a_restart_an_idle_machine_ends_its_drain() -> None:
    stage = draining()
    stage.acknowledge()
    stage.acknowledge()
    later = again(stage, S.IDLE)
    assert later.drains.intent("m-1") is None
    assert later.outcome(ActionKind.PREEMPT, "success") == 1
    assert later.stored["drains"] == {}


def test_after_a_restart_a_draining_machine_is_waited_for() -> None:
    stage = draining()
    stage.acknowledge()
    stage.acknowledge()
    later = again(stage, S.DRAINING)
    intent = later.drains.intent("m-1")
    assert intent is not None
    assert intent.stage is DrainStage.PROVIDER
    later.lists("m-1", S.IDLE)
    assert later.drains.intent("m-1") is None
    assert later.outcome(ActionKind.PREEMPT, "success") == 1


def test_after_a_restart_a_drain_the_provider_never_got_is_sent_again() -> None:
    stage = draining()
    stage.acknowledge()
    stage.acknowledge()
    later = again(stage, S.CONFIGURED)
    (call,) = later.mutations()
    assert isinstance(call, DrainCall)
    assert call.token.epoch == 8


def test_a_row_that_cannot_be_read_is_dropped_and_said() -> None:
    stage = Stage(stored={"drains": {"m-1": b"{nonsense"}})
    assert stage.drains.intent("m-1") is None
    assert [log.event for log in stage.logs] == ["drain_unreadable"]
    assert stage.stored["drains"] == {}


def test_a_drain_is_stored_as_soon_as_it_is_begun() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.reclaim("m-1")
    assert set(stage.stored["drains"]) == {"m-1"}
    assert stage.drains.open_by_cluster()[SHOP] == 1


def test_a_drain_whose_machine_is_not_listed_yet_waits_for_it() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.reclaim("m-1")
    later = stage.restarted()
    later.connect()
    later.acknowledge()
    later.acknowledge()
    later.wait(5)
    assert later.mutations() == []
    later.add("m-1", S.CONFIGURED)
    later.wait(1)
    assert len(later.mutations()) == 1
