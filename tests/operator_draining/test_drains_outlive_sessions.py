"""Nothing goes on while the shard cannot be heard, and everything does when it is heard again."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from bigfleet.operator.drain_steps import Cordon, Uncordon
from tests.operator_draining.stage import ID, Stage, draining, joined, node_record, pod_record

S = MachineState
WEB = pod_record("web-0")
CONFIGURED = NodeStateUpdate("m-1", "shop", S.CONFIGURED, "n-1")


def asked(grace: int = 600, instruction: str = ID) -> ReclaimInstruction:
    return ReclaimInstruction(instruction, ("n-1",), grace)


def test_a_repeat_within_a_session_is_not_answered_and_only_shortens_the_grace() -> None:
    stage = draining(WEB, grace=600)
    stage.asks(grace=10)
    stage.asks(grace=300)
    assert stage.acks() == []
    stage.wait(9.9)
    assert stage.acks() == []
    stage.wait(0.1)
    assert stage.acks() == [(ID, 0)]
    stage.asks(grace=10)
    stage.wait(60)
    assert stage.acks() == []


def test_nothing_happens_between_two_sessions() -> None:
    stage = draining(WEB, grace=60)
    stage.evictions()
    stage.refuse(WEB)
    stage.disconnect()
    stage.steps.clear()
    stage.wait(30)
    stage.has_pod(pod_record("late"))
    stage.has_node(node_record("n-1"))
    stage.loses_pod(WEB)
    stage.loses_pod(pod_record("late"))
    stage.wait(3600)
    stage.tells(S.CONFIGURED)
    stage.asks(instruction="bf1-two")
    assert stage.steps == []


def test_a_new_session_is_answered_anew_without_a_second_write() -> None:
    stage = draining(WEB)
    stage.evictions()
    stage.disconnect()
    stage.wait(60)
    stage.connect(CONFIGURED, asked=asked(540))
    assert stage.cordons() == []
    assert stage.acks() == [(ID, 1)]
    assert stage.evictions() == [WEB]
    stage.evict(WEB)
    assert stage.acks() == [(ID, 1)]


def test_an_eviction_whose_answer_was_lost_with_the_session_is_asked_again() -> None:
    stage = draining(WEB)
    assert stage.evictions() == [WEB]
    stage.disconnect()
    stage.connect(CONFIGURED, asked=asked())
    assert stage.evictions() == [WEB]


def test_a_cordon_whose_answer_was_lost_with_the_session_is_written_again() -> None:
    stage = joined(WEB)
    stage.asks()
    assert len(stage.take(Cordon)) == 1
    stage.disconnect()
    stage.connect(CONFIGURED, asked=asked())
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]


def test_what_is_evicted_already_is_answered_twice_in_a_new_session() -> None:
    stage = draining(WEB)
    stage.evict(WEB)
    stage.wait(1)
    assert stage.acks() == [(ID, 1)]
    stage.disconnect()
    stage.connect(CONFIGURED, asked=asked())
    assert stage.acks() == [(ID, 1), (ID, 1)]
    assert stage.counts.of("reclaims_total", result="evicted") == 1


def test_what_ended_at_its_deadline_is_answered_twice_in_a_new_session() -> None:
    stage = draining(WEB, grace=10)
    stage.wait(10)
    assert stage.acks() == [(ID, 0)]
    stage.disconnect()
    stage.evictions()
    stage.connect(CONFIGURED, asked=asked(1))
    assert stage.acks() == [(ID, 1), (ID, 0)]
    assert stage.evictions() == []


def test_a_node_that_filled_up_again_meanwhile_is_not_called_empty() -> None:
    stage = draining()
    stage.wait(1)
    assert stage.acks() == [(ID, 1)]
    stage.disconnect()
    stage.has_pod(WEB)
    stage.connect(CONFIGURED, asked=asked())
    assert stage.acks() == [(ID, 1)]
    assert stage.evictions() == [WEB]


def test_the_deadline_counts_on_without_a_session() -> None:
    stage = draining(WEB, grace=60)
    stage.disconnect()
    stage.wait(120)
    stage.acks()
    stage.connect(CONFIGURED, asked=asked(1))
    assert stage.acks() == [(ID, 1), (ID, 0)]


def test_a_successor_goes_on_from_the_nodes_mark() -> None:
    before = draining(WEB)
    marked = before.nodes.node("n-1")
    assert marked is not None
    successor = Stage()
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
    successor = Stage()
    successor.has_node(marked)
    successor.steps += successor.drains.on_connected(successor.at)
    successor.steps += successor.drains.on_node_state(CONFIGURED, successor.at)
    assert successor.steps == []
    successor.steps += successor.drains.on_replay_ended(successor.at)
    assert successor.uncordons() == ["n-1"]


def test_what_the_new_session_does_not_ask_again_is_given_up() -> None:
    stage = draining(WEB)
    stage.evictions()
    stage.disconnect()
    stage.connect(CONFIGURED)
    assert stage.uncordons() == ["n-1"]
    stage.answer_cordons()
    assert not stage.is_cordoned()
    stage.wait(3600)
    assert (stage.evictions(), stage.acks()) == ([], [])
    assert stage.drains.drain_of("m-1") is None


def test_a_new_session_waits_for_what_is_asked_before_it_takes_a_cordon_off() -> None:
    stage = draining(WEB)
    stage.disconnect()
    stage.steps += stage.drains.on_connected(stage.at)
    stage.steps += stage.drains.on_node_state(CONFIGURED, stage.at)
    assert stage.take(Uncordon) == []


def test_a_shard_that_tells_its_machines_after_its_instructions_takes_nothing_back() -> None:
    stage = draining(WEB)
    stage.evictions()
    stage.disconnect()
    stage.connect(asked=asked())
    assert stage.acks() == [(ID, 1)]
    stage.tells(S.CONFIGURED)
    assert stage.uncordons() == []
    assert stage.evictions() == [WEB]
