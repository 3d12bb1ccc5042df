"""Host names made of addresses come back with other machines, in sessions that last for months."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from tests.operator_draining.stage import ID, Stage, joined, node_record, pod_record

S = MachineState


def _leaves(stage: Stage, machine: str = "m-1") -> None:
    for state in (S.DRAINING, S.IDLE):
        stage.tells(state, machine)
    stage.answer_cordons()
    stage.loses_node("n-1")
    stage.steps.clear()


def test_an_instruction_finds_the_machine_that_has_the_name_now() -> None:
    stage = joined()
    _leaves(stage)
    stage.has_node(node_record("n-1", uid="another"))
    stage.tells(S.CONFIGURED, "m-2")
    stage.has_pod(pod_record("web-0"))
    stage.asks("n-1")
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]
    assert [pod.key.name for pod in stage.evictions()] == ["web-0"]
    assert stage.drains.drain_of("m-2") is not None


def test_a_machine_that_has_left_does_not_hold_up_its_successor_by_its_provider_id() -> None:
    stage = Stage()
    stage.has_node(node_record("n-1", "aws:///i-1"))
    stage.connect(NodeStateUpdate("m-1", "shop", S.CONFIGURED, "n-1", "i-1"))
    _leaves(stage)
    stage.has_node(node_record("n-1", "aws:///i-2", uid="another"))
    update = NodeStateUpdate("m-2", "shop", S.CONFIGURED, "n-1", "i-2")
    stage.steps += stage.drains.on_node_state(update, stage.at)
    stage.asks("n-1")
    assert stage.cordons() == ["n-1"]


def test_a_machine_that_comes_back_is_known_by_its_new_names() -> None:
    stage = joined()
    _leaves(stage)
    stage.has_node(node_record("n-7"))
    stage.tells(S.CONFIGURED, "m-1", "n-7")
    stage.asks("n-7")
    assert stage.cordons() == ["n-7"]
