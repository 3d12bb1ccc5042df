"""Open drains: told again to every session, and carried on by the next life of the shard."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import DrainCall
from bigfleet.model.shard_views import DrainStage
from tests.execution.rig import SHOP, Rig

S = MachineState


def draining(kind: ActionKind = ActionKind.PREEMPT) -> Rig:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.decide(kind, "m-1", grace_seconds=120)
    return rig


def again(rig: Rig, state: MachineState, waited: float = 0) -> Rig:
    """The shard starts again, and its first List shows the machine so."""
    later = rig.restarted()
    later.now = rig.now
    later.leap(waited)
    later.add("m-1", state)
    later.leap(1)
    return later


def test_a_new_session_is_told_the_same_with_less_grace() -> None:
    rig = draining()
    rig.wait(20)
    rig.disconnect()
    rig.wait(20)
    rig.connect()
    first, second = rig.instructions()
    assert first.instruction_id == second.instruction_id
    assert (first.grace_period_seconds, second.grace_period_seconds) == (120, 80)
    assert rig.counts.of("reclaim_resends_total") == 1


def test_the_first_answer_of_a_new_session_is_not_taken_for_the_last() -> None:
    rig = draining()
    rig.acknowledge()
    rig.disconnect()
    rig.connect()
    rig.acknowledge()
    assert rig.mutations() == []
    rig.acknowledge()
    assert len(rig.mutations()) == 1


def test_what_is_evicted_is_not_told_again() -> None:
    rig = draining()
    rig.acknowledge()
    rig.acknowledge()
    rig.disconnect()
    rig.connect()
    assert len(rig.instructions()) == 1


def test_another_cluster_is_told_nothing() -> None:
    rig = draining()
    rig.connect("bank")
    assert len(rig.instructions()) == 1


@pytest.mark.parametrize("kind", [ActionKind.RECLAIM, ActionKind.PREEMPT], ids=lambda k: k.label)
def test_after_a_restart_the_drain_goes_on(kind: ActionKind) -> None:
    rig = draining(kind)
    rig.acknowledge()
    before = rig.drains.intent("m-1")
    later = again(rig, S.CONFIGURED)
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
    rig = draining()
    rig.acknowledge()
    rig.acknowledge()
    later = again(rig, S.IDLE)
    assert later.drains.intent("m-1") is None
    assert later.outcome(ActionKind.PREEMPT, "success") == 1
    assert later.stored["drains"] == {}


def test_after_a_restart_a_draining_machine_is_waited_for() -> None:
    rig = draining()
    rig.acknowledge()
    rig.acknowledge()
    later = again(rig, S.DRAINING)
    intent = later.drains.intent("m-1")
    assert intent is not None
    assert intent.stage is DrainStage.PROVIDER
    later.lists("m-1", S.IDLE)
    assert later.drains.intent("m-1") is None
    assert later.outcome(ActionKind.PREEMPT, "success") == 1


def test_after_a_restart_a_drain_the_provider_never_got_is_sent_again() -> None:
    rig = draining()
    rig.acknowledge()
    rig.acknowledge()
    later = again(rig, S.CONFIGURED)
    (call,) = later.mutations()
    assert isinstance(call, DrainCall)
    assert call.token.epoch == 8


@pytest.mark.parametrize(
    "kind", [ActionKind.PREEMPT, ActionKind.RECLAIM], ids=lambda kind: kind.label
)
def test_after_a_restart_a_cluster_lets_no_pods_back_onto_what_it_has_emptied(
    kind: ActionKind,
) -> None:
    """The provider never got the drain: its List shows the machine Configured."""
    rig = draining(kind)
    rig.acknowledge()
    rig.acknowledge()
    later = rig.restarted(connected=False)
    later.add("m-1", S.CONFIGURED)
    later.connect()
    assert later.told_of("m-1") == [S.DRAINING]


def test_a_row_that_cannot_be_read_is_dropped_and_said() -> None:
    rig = Rig(stored={"drains": {"m-1": b"{nonsense"}})
    assert rig.drains.intent("m-1") is None
    assert [log.event for log in rig.logs] == ["drain_unreadable"]
    assert rig.stored["drains"] == {}


def test_a_drain_is_stored_as_soon_as_it_is_begun() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.reclaim("m-1")
    assert set(rig.stored["drains"]) == {"m-1"}
    assert rig.drains.open_by_cluster()[SHOP] == 1


def test_a_drain_whose_machine_is_not_listed_yet_waits_for_it() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.reclaim("m-1")
    later = rig.restarted()
    later.connect()
    later.acknowledge()
    later.acknowledge()
    later.wait(5)
    assert later.mutations() == []
    later.add("m-1", S.CONFIGURED)
    later.wait(1)
    assert len(later.mutations()) == 1
