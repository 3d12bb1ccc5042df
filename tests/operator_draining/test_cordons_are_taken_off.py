"""A machine that stays gets its node back, and nobody else's cordon is touched."""

import pytest

from bigfleet.kube.names import FOUND_CORDONED, RECLAIM
from bigfleet.kube.objects import Node, NodeSpec
from bigfleet.model.machines import MachineState
from bigfleet.operator.drain_steps import Cordon, DrainPhase, Uncordon, was_found_cordoned
from tests.operator_draining.stage import ID, Stage, draining, joined, node_record, pod_record

S = MachineState
WEB = pod_record("web-0")


def test_configured_calls_off_what_was_asked() -> None:
    stage = draining(WEB)
    stage.evictions()
    stage.tells(S.CONFIGURED)
    assert stage.uncordons() == ["n-1"]
    stage.answer_cordons()
    assert (stage.is_cordoned(), stage.mark()) == (False, None)
    stage.wait(3600)
    assert (stage.evictions(), stage.acks()) == ([], [])
    assert stage.told()[-1].reason == "ReclaimCalledOff"


def test_what_is_called_off_before_it_was_cordoned_is_not_left_cordoned() -> None:
    stage = joined(WEB)
    stage.asks()
    (cordon,) = stage.take(Cordon)
    assert isinstance(cordon, Cordon)
    stage.tells(S.CONFIGURED)
    assert stage.steps == []
    stage.write(cordon)
    stage.answer_cordons()
    assert not stage.is_cordoned()
    assert stage.acks() == []


def test_a_blocked_drain_that_is_given_up_leaves_its_reason_to_be_read() -> None:
    stage = draining(WEB, grace=10)
    stage.wait(10)
    stage.tells(S.CONFIGURED)
    stage.answer_cordons()
    assert not stage.is_cordoned()
    standing = stage.drains.drain_of("m-1")
    assert standing is not None
    assert standing.phase is DrainPhase.KEPT
    assert "shop/web-0" in standing.last_error


def test_an_instruction_that_was_taken_back_does_not_come_back_late() -> None:
    stage = draining(WEB)
    stage.tells(S.CONFIGURED)
    stage.answer_cordons()
    stage.evictions()
    stage.asks()
    assert stage.cordons() == []
    stage.asks(instruction="bf1-two")
    assert stage.cordons() == ["n-1"]


def test_a_provider_that_failed_to_drain_gives_the_node_back() -> None:
    stage = draining()
    stage.wait(1)
    stage.tells(S.DRAINING)
    assert stage.uncordons() == []
    stage.tells(S.CONFIGURED)
    assert stage.uncordons() == ["n-1"]


def test_an_uncordon_that_fails_is_tried_again() -> None:
    stage = draining()
    stage.tells(S.CONFIGURED)
    assert len(stage.take(Uncordon)) == 1
    stage.steps += stage.drains.on_cordon_failed("n-1", "no answer", stage.at)
    stage.wait(2)
    assert stage.uncordons() == ["n-1"]


def test_a_cordon_of_somebody_else_stays() -> None:
    stage = joined(WEB, node=node_record("n-1", cordoned=True))
    stage.asks()
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]
    stage.tells(S.CONFIGURED)
    stage.answer_cordons()
    node = stage.nodes.node("n-1")
    assert node is not None
    assert node.spec.unschedulable
    assert node.metadata.annotations.keys().isdisjoint({RECLAIM, FOUND_CORDONED})


def test_a_cordon_of_somebody_else_stays_through_two_instructions() -> None:
    stage = joined(WEB, node=node_record("n-1", cordoned=True))
    stage.asks()
    stage.answer_cordons()
    stage.asks(instruction="bf1-two")
    stage.answer_cordons()
    assert stage.mark() == "bf1-two"
    stage.tells(S.CONFIGURED)
    stage.answer_cordons()
    assert stage.is_cordoned()


def test_a_node_without_our_mark_is_never_uncordoned() -> None:
    stage = joined(node=node_record("n-1", cordoned=True))
    stage.tells(S.CONFIGURED)
    stage.wait(60)
    assert stage.steps == []


def test_the_node_of_a_draining_machine_takes_no_pods_whoever_drains_it() -> None:
    stage = joined(WEB)
    stage.tells(S.DRAINING)
    stage.answer_cordons()
    assert stage.is_cordoned()
    assert stage.evictions() == []
    stage.tells(S.CONFIGURED)
    stage.answer_cordons()
    assert not stage.is_cordoned()


def test_a_node_that_comes_while_its_machine_drains_is_cordoned() -> None:
    stage = joined()
    stage.tells(S.DRAINING, "m-2", "n-2")
    stage.has_node(node_record("n-2"))
    assert stage.cordons() == ["n-2"]


def test_a_node_that_comes_after_its_machine_was_given_back_is_cordoned() -> None:
    stage = joined()
    stage.tells(S.CONFIGURED, "m-2", "n-2")
    stage.asks("n-2")
    assert stage.acks() == [(ID, 0), (ID, 1)]
    stage.has_node(node_record("n-2"))
    assert stage.cordons() == ["n-2"]


@pytest.mark.parametrize("state", [S.IDLE, S.FAILED, S.DELETING], ids=lambda s: s.label)
def test_of_a_machine_that_is_gone_nothing_is_evicted_or_uncordoned(state: S) -> None:
    stage = draining(WEB)
    stage.evictions()
    stage.tells(state)
    stage.wait(3600)
    assert (stage.evictions(), stage.acks(), stage.uncordons()) == ([], [], [])


def test_one_of_two_nodes_that_stays_is_given_back_and_the_other_goes_on() -> None:
    stage = Stage()
    for number in (1, 2):
        stage.has_node(node_record(f"n-{number}"))
    stage.connect()
    stage.tells(S.CONFIGURED, "m-1", "n-1")
    stage.tells(S.CONFIGURED, "m-2", "n-2")
    stage.has_pod(WEB)
    stage.asks("n-1", "n-2")
    stage.answer_cordons()
    stage.tells(S.CONFIGURED, "m-1", "n-1")
    stage.answer_cordons()
    assert (stage.is_cordoned("n-1"), stage.is_cordoned("n-2")) == (False, True)
    stage.wait(1)
    assert stage.acks() == [(ID, 2), (ID, 1)]


def test_a_cordon_somebody_had_set_and_took_off_during_the_drain_does_not_stay() -> None:
    stage = joined(node=node_record("n-1", cordoned=True))
    stage.asks()
    stage.answer_cordons()
    node = stage.nodes.node("n-1")
    assert node is not None
    assert was_found_cordoned(node)
    stage.has_node(Node(metadata=node.metadata, spec=NodeSpec()))
    stage.answer_cordons()
    assert stage.is_cordoned()
    stage.tells(S.CONFIGURED)
    stage.answer_cordons()
    assert (stage.is_cordoned(), stage.mark()) == (False, None)
