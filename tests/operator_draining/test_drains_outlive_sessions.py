"""Nothing goes on while the shard cannot be heard, and everything does when it is heard again."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from bigfleet.operator.drain_steps import Cordon, Uncordon
from tests.operator_draining.rig import ID, Rig, draining, joined, node_record, pod_record

S = MachineState
WEB = pod_record("web-0")
CONFIGURED = NodeStateUpdate("m-1", "shop", S.CONFIGURED, "n-1")


def asked(grace: int = 600, instruction: str = ID) -> ReclaimInstruction:
    return ReclaimInstruction(instruction, ("n-1",), grace)


def test_a_repeat_within_a_session_is_not_answered_and_only_shortens_the_grace() -> None:
    rig = draining(WEB, grace=600)
    rig.asks(grace=10)
    rig.asks(grace=300)
    assert rig.acks() == []
    rig.wait(9.9)
    assert rig.acks() == []
    rig.wait(0.1)
    assert rig.acks() == [(ID, 0)]
    rig.asks(grace=10)
    rig.wait(60)
    assert rig.acks() == []


def test_nothing_happens_between_two_sessions() -> None:
    rig = draining(WEB, grace=60)
    rig.evictions()
    rig.refuse(WEB)
    rig.disconnect()
    rig.steps.clear()
    rig.wait(30)
    rig.has_pod(pod_record("late"))
    rig.has_node(node_record("n-1"))
    rig.loses_pod(WEB)
    rig.loses_pod(pod_record("late"))
    rig.wait(3600)
    rig.tells(S.CONFIGURED)
    rig.asks(instruction="bf1-two")
    assert rig.steps == []


def test_a_new_session_is_answered_anew_without_a_second_write() -> None:
    rig = draining(WEB)
    rig.evictions()
    rig.disconnect()
    rig.wait(60)
    rig.connect(CONFIGURED, asked=asked(540))
    assert rig.cordons() == []
    assert rig.acks() == [(ID, 1)]
    assert rig.evictions() == [WEB]
    rig.evict(WEB)
    assert rig.acks() == [(ID, 1)]


def test_an_eviction_whose_answer_was_lost_with_the_session_is_asked_again() -> None:
    rig = draining(WEB)
    assert rig.evictions() == [WEB]
    rig.disconnect()
    rig.connect(CONFIGURED, asked=asked())
    assert rig.evictions() == [WEB]


def test_a_cordon_whose_answer_was_lost_with_the_session_is_written_again() -> None:
    rig = joined(WEB)
    rig.asks()
    assert len(rig.take(Cordon)) == 1
    rig.disconnect()
    rig.connect(CONFIGURED, asked=asked())
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]


def test_what_is_evicted_already_is_answered_twice_in_a_new_session() -> None:
    rig = draining(WEB)
    rig.evict(WEB)
    rig.wait(1)
    assert rig.acks() == [(ID, 1)]
    rig.disconnect()
    rig.connect(CONFIGURED, asked=asked())
    assert rig.acks() == [(ID, 1), (ID, 1)]
    assert rig.counts.of("reclaims_total", result="evicted") == 1


def test_what_ended_at_its_deadline_is_answered_twice_in_a_new_session() -> None:
    rig = draining(WEB, grace=10)
    rig.wait(10)
    assert rig.acks() == [(ID, 0)]
    rig.disconnect()
    rig.evictions()
    rig.connect(CONFIGURED, asked=asked(1))
    assert rig.acks() == [(ID, 1), (ID, 0)]
    assert rig.evictions() == []


def test_a_node_that_filled_up_again_meanwhile_is_not_called_empty() -> None:
    rig = draining()
    rig.wait(1)
    assert rig.acks() == [(ID, 1)]
    rig.disconnect()
    rig.has_pod(WEB)
    rig.connect(CONFIGURED, asked=asked())
    assert rig.acks() == [(ID, 1)]
    assert rig.evictions() == [WEB]


def test_the_deadline_counts_on_without_a_session() -> None:
    rig = draining(WEB, grace=60)
    rig.disconnect()
    rig.wait(120)
    rig.acks()
    rig.connect(CONFIGURED, asked=asked(1))
    assert rig.acks() == [(ID, 1), (ID, 0)]


def test_a_successor_goes_on_from_the_nodes_mark() -> None:
    before = draining(WEB)
    marked = before.nodes.node("n-1")
    assert marked is not None
    successor = Rig()
    successor.has_node(marked)
    successor.has_pod(WEB)
    successor.connect(CONFIGURED, asked=asked(300))
    assert successor.cordons() == []
    assert successor.uncordons() == []
    assert successor.acks() == [(ID, 1)]
    assert successor.evictions() == [WEB]


def test_a_successor_that_is_not_asked_takes_the_cordon_off() -> None:
    before = draining(WEB)
    marked = before.nodes.node("n-1")
    assert marked is not None
    successor = Rig()
    successor.has_node(marked)
    successor.steps += successor.drains.on_connected(successor.at)
    successor.steps += successor.drains.on_node_state(CONFIGURED, successor.at)
    assert successor.steps == []
    successor.steps += successor.drains.on_replay_ended(successor.at)
    assert successor.uncordons() == ["n-1"]


def test_what_the_new_session_does_not_ask_again_is_given_up() -> None:
    rig = draining(WEB)
    rig.evictions()
    rig.disconnect()
    rig.connect(CONFIGURED)
    assert rig.uncordons() == ["n-1"]
    rig.answer_cordons()
    assert not rig.is_cordoned()
    rig.wait(3600)
    assert (rig.evictions(), rig.acks()) == ([], [])
    assert rig.drains.drain_of("m-1") is None


def test_a_new_session_waits_for_what_is_asked_before_it_takes_a_cordon_off() -> None:
    rig = draining(WEB)
    rig.disconnect()
    rig.steps += rig.drains.on_connected(rig.at)
    rig.steps += rig.drains.on_node_state(CONFIGURED, rig.at)
    assert rig.take(Uncordon) == []


def test_a_shard_that_tells_its_machines_after_its_instructions_takes_nothing_back() -> None:
    rig = draining(WEB)
    rig.evictions()
    rig.disconnect()
    rig.connect(asked=asked())
    assert rig.acks() == [(ID, 1)]
    rig.tells(S.CONFIGURED)
    assert rig.uncordons() == []
    assert rig.evictions() == [WEB]
