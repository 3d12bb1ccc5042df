"""Cordon, first answer, evictions, completion: in this order, each when the one before is true."""

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.operator.drain_steps import Cordon, DrainPhase, DrainStanding, Evict, Send
from bigfleet.operator.pods_on_nodes import NotMoved
from tests.operator_draining.rig import (
    ID,
    Rig,
    draining,
    joined,
    node_record,
    pod_record,
)

S = MachineState
WEB = pod_record("web-0")
DB = pod_record("db-0")


def test_the_node_is_cordoned_with_the_instructions_id_and_nothing_else_happens_before() -> None:
    rig = joined(WEB)
    rig.asks()
    (step,) = rig.steps
    assert isinstance(step, Cordon)
    assert (step.node.metadata.name, step.instruction_id) == ("n-1", ID)


def test_the_first_answer_follows_the_cordon_and_comes_before_the_first_eviction() -> None:
    rig = joined(WEB)
    rig.asks()
    rig.answer_cordons()
    kinds = [type(step) for step in rig.steps if isinstance(step, Send | Evict)]
    assert kinds == [Send, Evict]
    assert rig.acks() == [(ID, 1)]
    assert (rig.is_cordoned(), rig.mark()) == (True, ID)


def test_a_cordon_that_fails_is_tried_again_and_not_answered() -> None:
    rig = joined(WEB)
    rig.asks()
    rig.take(Cordon)
    rig.steps += rig.drains.on_cordon_failed("n-1", "the server is gone", rig.at)
    rig.wait(0.9)
    assert rig.steps == []
    rig.wait(0.1)
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]


def test_every_pod_is_asked_once_and_the_end_is_told_when_the_last_is_gone() -> None:
    rig = draining(WEB, DB)
    assert rig.evictions() == [DB, WEB]
    rig.evict(WEB)
    rig.wait(5)
    assert (rig.evictions(), rig.acks()) == ([], [])
    rig.evict(DB)
    assert rig.acks() == [(ID, 1)]
    assert rig.counts.of("reclaims_total", result="evicted") == 1
    rig.wait(3600)
    assert rig.acks() == []


@pytest.mark.parametrize("why", NotMoved, ids=lambda why: why.name.lower())
def test_pods_that_cannot_be_moved_are_neither_asked_nor_waited_for(why: NotMoved) -> None:
    rig = draining(pod_record("agent", kept=why))
    rig.wait(1)
    assert rig.evictions() == []
    assert rig.acks() == [(ID, 1)]


def test_a_pod_that_is_ending_already_is_waited_for_and_not_asked() -> None:
    ending = pod_record("web-0", deleting=True)
    rig = draining(ending)
    rig.wait(60)
    assert (rig.evictions(), rig.acks()) == ([], [])
    rig.loses_pod(ending)
    assert rig.acks() == [(ID, 1)]


def test_a_pod_that_comes_later_is_asked_too() -> None:
    rig = draining(WEB)
    assert rig.evictions() == [WEB]
    late = pod_record("late")
    rig.has_pod(late)
    assert rig.evictions() == [late]
    rig.evict(WEB)
    rig.wait(10)
    assert rig.acks() == []
    rig.evict(late)
    assert rig.acks() == [(ID, 1)]


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    rig = draining(WEB)
    assert rig.evictions() == [WEB]
    rig.evict(WEB)
    again = pod_record("web-0", uid="uid-again")
    rig.has_pod(again)
    assert again in rig.evictions()


def test_an_empty_node_is_not_called_empty_before_a_pod_on_its_way_could_be_seen() -> None:
    rig = draining()
    assert rig.acks() == []
    late = pod_record("late")
    rig.has_pod(late)
    rig.wait(10)
    assert rig.acks() == []
    rig.evict(late)
    assert rig.acks() == [(ID, 1)]


def test_an_empty_node_is_done_soon() -> None:
    rig = draining()
    rig.wait(1)
    assert rig.acks() == [(ID, 1)]


def test_nothing_is_called_empty_by_a_cache_that_may_have_missed_something() -> None:
    rig = draining(WEB)
    rig.pods_are_fresh = False
    rig.evict(WEB)
    rig.wait(60)
    assert rig.acks() == []
    rig.pods_are_fresh = True
    rig.wait(1)
    assert rig.acks() == [(ID, 1)]


def test_a_node_that_is_uncordoned_by_hand_is_cordoned_again() -> None:
    rig = draining(WEB)
    rig.has_node(node_record("n-1"))
    assert rig.cordons() == ["n-1"]
    rig.evict(WEB)
    rig.wait(5)
    assert rig.acks() == []
    rig.answer_cordons()
    rig.wait(1)
    assert rig.acks() == [(ID, 1)]


def test_several_nodes_are_answered_for_together() -> None:
    rig = joined(WEB, pod_record("other", "n-2"))
    rig.has_node(node_record("n-2"))
    rig.tells(S.CONFIGURED, "m-2", "n-2")
    rig.asks("n-1", "n-2")
    first, second = rig.take(Cordon)
    assert isinstance(first, Cordon)
    assert isinstance(second, Cordon)
    rig.write(first)
    assert (rig.acks(), rig.evictions()) == ([], [])
    rig.write(second)
    assert rig.acks() == [(ID, 2)]
    rig.evict(WEB)
    rig.wait(5)
    assert rig.acks() == []
    rig.evict(pod_record("other", "n-2"))
    assert rig.acks() == [(ID, 2)]


def test_an_instruction_of_another_kind_of_shard_is_answered_only_once() -> None:
    rig = joined(WEB)
    rig.asks(instruction="reclaim-7")
    rig.answer_cordons()
    assert rig.acks() == [("reclaim-7", 1)]
    rig.evict(WEB)
    rig.wait(5)
    assert rig.acks() == []
    assert rig.counts.of("reclaims_total", result="evicted") == 1


def test_what_an_upcoming_node_shows_follows_the_drain() -> None:
    rig = joined(WEB)
    assert rig.drains.drain_of("m-1") is None
    rig.asks()
    rig.answer_cordons()
    assert rig.drains.drain_of("m-1") == DrainStanding(ID, DrainPhase.DRAINING)
    assert rig.published() == ["m-1"]
    rig.evict(WEB)
    rig.wait(1)
    assert rig.drains.drain_of("m-1") == DrainStanding(ID, DrainPhase.DRAINED)
    assert rig.published() == ["m-1"]
    rig.tells(S.DRAINING)
    rig.tells(S.IDLE)
    assert rig.drains.drain_of("m-1") is None


def test_nothing_is_due_when_nothing_is_asked() -> None:
    rig = Rig()
    assert rig.drains.due_at(rig.at) is None
    assert joined(WEB).drains.due_at(rig.at) is None
