"""Host names made of addresses come back with other machines, in sessions that last for months."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from tests.operator_draining.rig import ID, Rig, joined, node_record, pod_record

S = MachineState


def _leaves(rig: Rig, machine: str = "m-1") -> None:
    for state in (S.DRAINING, S.IDLE):
        rig.tells(state, machine)
    rig.answer_cordons()
    rig.loses_node("n-1")
    rig.steps.clear()


def test_an_instruction_finds_the_machine_that_has_the_name_now() -> None:
    rig = joined()
    _leaves(rig)
    rig.has_node(node_record("n-1", uid="another"))
    rig.tells(S.CONFIGURED, "m-2")
    rig.has_pod(pod_record("web-0"))
    rig.asks("n-1")
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    assert [pod.key.name for pod in rig.evictions()] == ["web-0"]
    assert rig.drains.drain_of("m-2") is not None


def test_a_machine_that_has_left_does_not_hold_up_its_successor_by_its_provider_id() -> None:
    rig = Rig()
    rig.has_node(node_record("n-1", "aws:///i-1"))
    rig.connect(NodeStateUpdate("m-1", "shop", S.CONFIGURED, "n-1", "i-1"))
    _leaves(rig)
    rig.has_node(node_record("n-1", "aws:///i-2", uid="another"))
    update = NodeStateUpdate("m-2", "shop", S.CONFIGURED, "n-1", "i-2")
    rig.steps += rig.drains.on_node_state(update, rig.at)
    rig.asks("n-1")
    assert rig.cordons() == ["n-1"]


def test_a_machine_that_comes_back_is_known_by_its_new_names() -> None:
    rig = joined()
    _leaves(rig)
    rig.has_node(node_record("n-7"))
    rig.tells(S.CONFIGURED, "m-1", "n-7")
    rig.asks("n-7")
    assert rig.cordons() == ["n-7"]
