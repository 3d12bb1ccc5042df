"""A machine that stays gets its node back, and foreign cordons are not touched."""

import pytest

from bigfleet.kube.names import FOUND_CORDONED, RECLAIM
from bigfleet.kube.objects import Node, NodeSpec
from bigfleet.model.machines import MachineState
from bigfleet.operator.drain_steps import Cordon, DrainPhase, Uncordon, was_found_cordoned
from tests.operator_draining.rig import ID, Rig, draining, joined, node_record, pod_record

S = MachineState
WEB = pod_record("web-0")


def test_configured_calls_off_what_was_asked() -> None:
    rig = draining(WEB)
    rig.evictions()
    rig.tells(S.CONFIGURED)
    assert rig.uncordons() == ["n-1"]
    rig.answer_cordons()
    assert (rig.is_cordoned(), rig.mark()) == (False, None)
    rig.wait(3600)
    assert (rig.evictions(), rig.acks()) == ([], [])
    assert rig.told()[-1].reason == "ReclaimCalledOff"


def test_what_is_called_off_before_it_was_cordoned_is_not_left_cordoned() -> None:
    rig = joined(WEB)
    rig.asks()
    (cordon,) = rig.take(Cordon)
    assert isinstance(cordon, Cordon)
    rig.tells(S.CONFIGURED)
    assert rig.steps == []
    rig.write(cordon)
    rig.answer_cordons()
    assert not rig.is_cordoned()
    assert rig.acks() == []


def test_a_blocked_drain_that_is_given_up_leaves_its_reason_to_be_read() -> None:
    rig = draining(WEB, grace=10)
    rig.wait(10)
    rig.tells(S.CONFIGURED)
    rig.answer_cordons()
    assert not rig.is_cordoned()
    standing = rig.drains.drain_of("m-1")
    assert standing is not None
    assert standing.phase is DrainPhase.KEPT
    assert "shop/web-0" in standing.last_error


def test_an_instruction_that_was_taken_back_does_not_come_back_late() -> None:
    rig = draining(WEB)
    rig.tells(S.CONFIGURED)
    rig.answer_cordons()
    rig.evictions()
    rig.asks()
    assert rig.cordons() == []
    rig.asks(instruction="bf1-two")
    assert rig.cordons() == ["n-1"]


def test_a_provider_that_failed_to_drain_gives_the_node_back() -> None:
    rig = draining()
    rig.wait(1)
    rig.tells(S.DRAINING)
    assert rig.uncordons() == []
    rig.tells(S.CONFIGURED)
    assert rig.uncordons() == ["n-1"]


def test_an_uncordon_that_fails_is_tried_again() -> None:
    rig = draining()
    rig.tells(S.CONFIGURED)
    assert len(rig.take(Uncordon)) == 1
    rig.steps += rig.drains.on_cordon_failed("n-1", "no answer", rig.at)
    rig.wait(2)
    assert rig.uncordons() == ["n-1"]


def test_a_foreign_cordon_stays() -> None:
    rig = joined(WEB, node=node_record("n-1", cordoned=True))
    rig.asks()
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    rig.tells(S.CONFIGURED)
    rig.answer_cordons()
    node = rig.nodes.node("n-1")
    assert node is not None
    assert node.spec.unschedulable
    assert node.metadata.annotations.keys().isdisjoint({RECLAIM, FOUND_CORDONED})


def test_a_foreign_cordon_stays_through_two_instructions() -> None:
    rig = joined(WEB, node=node_record("n-1", cordoned=True))
    rig.asks()
    rig.answer_cordons()
    rig.asks(instruction="bf1-two")
    rig.answer_cordons()
    assert rig.mark() == "bf1-two"
    rig.tells(S.CONFIGURED)
    rig.answer_cordons()
    assert rig.is_cordoned()


def test_a_node_without_our_mark_is_never_uncordoned() -> None:
    rig = joined(node=node_record("n-1", cordoned=True))
    rig.tells(S.CONFIGURED)
    rig.wait(60)
    assert rig.steps == []


def test_the_node_of_a_draining_machine_takes_no_pods_in_any_kind_of_drain() -> None:
    rig = joined(WEB)
    rig.tells(S.DRAINING)
    rig.answer_cordons()
    assert rig.is_cordoned()
    assert rig.evictions() == []
    rig.tells(S.CONFIGURED)
    rig.answer_cordons()
    assert not rig.is_cordoned()


def test_a_node_that_comes_while_its_machine_drains_is_cordoned() -> None:
    rig = joined()
    rig.tells(S.DRAINING, "m-2", "n-2")
    rig.has_node(node_record("n-2"))
    assert rig.cordons() == ["n-2"]


def test_a_node_that_comes_after_its_machine_was_given_back_is_cordoned() -> None:
    rig = joined()
    rig.tells(S.CONFIGURED, "m-2", "n-2")
    rig.asks("n-2")
    assert rig.acks() == [(ID, 0), (ID, 1)]
    rig.has_node(node_record("n-2"))
    assert rig.cordons() == ["n-2"]


@pytest.mark.parametrize("state", [S.IDLE, S.FAILED, S.DELETING], ids=lambda s: s.label)
def test_of_a_machine_that_is_gone_nothing_is_evicted_or_uncordoned(state: S) -> None:
    rig = draining(WEB)
    rig.evictions()
    rig.tells(state)
    rig.wait(3600)
    assert (rig.evictions(), rig.acks(), rig.uncordons()) == ([], [], [])


def test_one_of_two_nodes_that_stays_is_given_back_and_the_other_goes_on() -> None:
    rig = Rig()
    for number in (1, 2):
        rig.has_node(node_record(f"n-{number}"))
    rig.connect()
    rig.tells(S.CONFIGURED, "m-1", "n-1")
    rig.tells(S.CONFIGURED, "m-2", "n-2")
    rig.has_pod(WEB)
    rig.asks("n-1", "n-2")
    rig.answer_cordons()
    rig.tells(S.CONFIGURED, "m-1", "n-1")
    rig.answer_cordons()
    assert (rig.is_cordoned("n-1"), rig.is_cordoned("n-2")) == (False, True)
    rig.wait(1)
    assert rig.acks() == [(ID, 2), (ID, 1)]


def test_a_cordon_that_was_set_by_hand_and_taken_off_during_the_drain_does_not_stay() -> None:
    rig = joined(node=node_record("n-1", cordoned=True))
    rig.asks()
    rig.answer_cordons()
    node = rig.nodes.node("n-1")
    assert node is not None
    assert was_found_cordoned(node)
    rig.has_node(Node(metadata=node.metadata, spec=NodeSpec()))
    rig.answer_cordons()
    assert rig.is_cordoned()
    rig.tells(S.CONFIGURED)
    rig.answer_cordons()
    assert (rig.is_cordoned(), rig.mark()) == (False, None)
