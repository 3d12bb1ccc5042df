"""Cordon, first answer, evictions, completion: in this order, each when the one before is true."""

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.operator.drain_steps import Cordon, DrainPhase, DrainStanding, Evict, Send
from bigfleet.operator.pods_on_nodes import NotMoved
from tests.operator_draining.stage import (
    ID,
    Stage,
    draining,
    joined,
    node_record,
    pod_record,
)

S = MachineState
WEB = pod_record("web-0")
DB = pod_record("db-0")


def test_the_node_is_cordoned_with_the_instructions_id_and_nothing_else_happens_before() -> None:
    stage = joined(WEB)
    stage.asks()
    (step,) = stage.steps
    assert isinstance(step, Cordon)
    assert (step.node.metadata.name, step.instruction_id) == ("n-1", ID)


def test_the_first_answer_follows_the_cordon_and_comes_before_the_first_eviction() -> None:
    stage = joined(WEB)
    stage.asks()
    stage.answer_cordons()
    kinds = [type(step) for step in stage.steps if isinstance(step, Send | Evict)]
    assert kinds == [Send, Evict]
    assert stage.acks() == [(ID, 1)]
    assert (stage.is_cordoned(), stage.mark()) == (True, ID)


def test_a_cordon_that_fails_is_tried_again_and_not_answered() -> None:
    stage = joined(WEB)
    stage.asks()
    stage.take(Cordon)
    stage.steps += stage.drains.on_cordon_failed("n-1", "the server is gone", stage.at)
    stage.wait(0.9)
    assert stage.steps == []
    stage.wait(0.1)
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]


def test_every_pod_is_asked_once_and_the_end_is_told_when_the_last_is_gone() -> None:
    stage = draining(WEB, DB)
    assert stage.evictions() == [DB, WEB]
    stage.evict(WEB)
    stage.wait(5)
    assert (stage.evictions(), stage.acks()) == ([], [])
    stage.evict(DB)
    assert stage.acks() == [(ID, 1)]
    assert stage.counts.of("reclaims_total", result="evicted") == 1
    stage.wait(3600)
    assert stage.acks() == []


@pytest.mark.parametrize("why", NotMoved, ids=lambda why: why.name.lower())
def test_pods_that_cannot_be_moved_are_neither_asked_nor_waited_for(why: NotMoved) -> None:
    stage = draining(pod_record("agent", kept=why))
    stage.wait(1)
    assert stage.evictions() == []
    assert stage.acks() == [(ID, 1)]


def test_a_pod_that_is_ending_already_is_waited_for_and_not_asked() -> None:
    ending = pod_record("web-0", deleting=True)
    stage = draining(ending)
    stage.wait(60)
    assert (stage.evictions(), stage.acks()) == ([], [])
    stage.loses_pod(ending)
    assert stage.acks() == [(ID, 1)]


def test_a_pod_that_comes_later_is_asked_too() -> None:
    stage = draining(WEB)
    assert stage.evictions() == [WEB]
    late = pod_record("late")
    stage.has_pod(late)
    assert stage.evictions() == [late]
    stage.evict(WEB)
    stage.wait(10)
    assert stage.acks() == []
    stage.evict(late)
    assert stage.acks() == [(ID, 1)]


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    stage = draining(WEB)
    assert stage.evictions() == [WEB]
    stage.evict(WEB)
    again = pod_record("web-0", uid="uid-again")
    stage.has_pod(again)
    assert again in stage.evictions()


def test_an_empty_node_is_not_called_empty_before_a_pod_on_its_way_could_be_seen() -> None:
    stage = draining()
    assert stage.acks() == []
    late = pod_record("late")
    stage.has_pod(late)
    stage.wait(10)
    assert stage.acks() == []
    stage.evict(late)
    assert stage.acks() == [(ID, 1)]


def test_an_empty_node_is_done_soon() -> None:
    stage = draining()
    stage.wait(1)
    assert stage.acks() == [(ID, 1)]


def test_nothing_is_called_empty_by_a_cache_that_may_have_missed_something() -> None:
    stage = draining(WEB)
    stage.pods_are_fresh = False
    stage.evict(WEB)
    stage.wait(60)
    assert stage.acks() == []
    stage.pods_are_fresh = True
    stage.wait(1)
    assert stage.acks() == [(ID, 1)]


def test_a_node_somebody_uncordons_meanwhile_is_cordoned_again() -> None:
    stage = draining(WEB)
    stage.has_node(node_record("n-1"))
    assert stage.cordons() == ["n-1"]
    stage.evict(WEB)
    stage.wait(5)
    assert stage.acks() == []
    stage.answer_cordons()
    stage.wait(1)
    assert stage.acks() == [(ID, 1)]


def test_several_nodes_are_answered_for_together() -> None:
    stage = joined(WEB, pod_record("other", "n-2"))
    stage.has_node(node_record("n-2"))
    stage.tells(S.CONFIGURED, "m-2", "n-2")
    stage.asks("n-1", "n-2")
    first, second = stage.take(Cordon)
    assert isinstance(first, Cordon)
    assert isinstance(second, Cordon)
    stage.write(first)
    assert (stage.acks(), stage.evictions()) == ([], [])
    stage.write(second)
    assert stage.acks() == [(ID, 2)]
    stage.evict(WEB)
    stage.wait(5)
    assert stage.acks() == []
    stage.evict(pod_record("other", "n-2"))
    assert stage.acks() == [(ID, 2)]


def test_an_instruction_of_another_kind_of_shard_is_answered_only_once() -> None:
    stage = joined(WEB)
    stage.asks(instruction="reclaim-7")
    stage.answer_cordons()
    assert stage.acks() == [("reclaim-7", 1)]
    stage.evict(WEB)
    stage.wait(5)
    assert stage.acks() == []
    assert stage.counts.of("reclaims_total", result="evicted") == 1


def test_what_an_upcoming_node_shows_follows_the_drain() -> None:
    stage = joined(WEB)
    assert stage.drains.drain_of("m-1") is None
    stage.asks()
    stage.answer_cordons()
    assert stage.drains.drain_of("m-1") == DrainStanding(ID, DrainPhase.DRAINING)
    assert stage.published() == ["m-1"]
    stage.evict(WEB)
    stage.wait(1)
    assert stage.drains.drain_of("m-1") == DrainStanding(ID, DrainPhase.DRAINED)
    assert stage.published() == ["m-1"]
    stage.tells(S.DRAINING)
    stage.tells(S.IDLE)
    assert stage.drains.drain_of("m-1") is None


def test_nothing_is_due_when_nothing_is_asked() -> None:
    stage = Stage()
    assert stage.drains.due_at(stage.at) is None
    assert joined(WEB).drains.due_at(stage.at) is None
