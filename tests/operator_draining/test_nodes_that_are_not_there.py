"""A machine without a Node has nothing to evict, if it is certain that it has none."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from tests.operator_draining.rig import ID, Rig, draining, joined, node_record, pod_record

S = MachineState
WEB = pod_record("web-0")


def test_a_node_that_is_positively_absent_is_answered_as_evicted() -> None:
    rig = joined()
    rig.tells(S.CONFIGURED, "m-9", "n-9")
    rig.asks("n-9")
    assert rig.acks() == [(ID, 0), (ID, 1)]
    assert rig.counts.of("reclaims_total", result="node_missing") == 1


def test_a_cache_that_is_not_complete_proves_nothing() -> None:
    rig = joined()
    rig.nodes_are_fresh = False
    rig.tells(S.CONFIGURED, "m-9", "n-9")
    rig.asks("n-9", grace=60)
    rig.wait(30)
    assert rig.acks() == []
    rig.has_node(node_record("n-9"))
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    assert rig.is_cordoned("n-9")


def test_a_cache_that_becomes_complete_ends_the_waiting() -> None:
    rig = joined()
    rig.nodes_are_fresh = False
    rig.tells(S.CONFIGURED, "m-9", "n-9")
    rig.asks("n-9")
    rig.nodes_are_fresh = True
    rig.wait(1)
    assert rig.acks() == [(ID, 0), (ID, 1)]


def test_the_absence_of_an_unannounced_machine_is_not_certain() -> None:
    rig = joined()
    rig.asks("m-9", grace=60)
    rig.wait(30)
    assert rig.acks() == []
    rig.has_node(node_record("n-9", "aws:///eu-1a/i-9"))
    rig.steps += rig.drains.on_node_state(
        NodeStateUpdate("m-9", "shop", S.CONFIGURED, provider_id="i-9"), rig.at
    )
    assert rig.cordons() == ["n-9"]


def test_an_unannounced_machine_is_given_up_at_the_deadline() -> None:
    rig = joined()
    rig.asks("m-9", grace=60)
    rig.wait(60)
    assert rig.acks() == [(ID, 0), (ID, 0)]
    assert "which Node m-9 is was not known" in rig.told()[-1].message


def test_a_node_called_like_the_entry_is_taken_once_the_shard_has_told_all_machines() -> None:
    rig = Rig()
    rig.has_node(node_record("n-1"))
    rig.steps += rig.drains.on_connected(rig.at)
    asked = ReclaimInstruction(ID, ("n-1",), 600)
    rig.steps += rig.drains.on_instruction(asked, rig.at)
    assert rig.cordons() == []
    rig.steps += rig.drains.on_replay_ended(rig.at)
    assert rig.cordons() == ["n-1"]


def test_a_node_that_goes_away_during_its_drain_is_empty() -> None:
    rig = draining(WEB)
    rig.loses_node("n-1")
    assert rig.acks() == [(ID, 1)]
    assert rig.counts.of("reclaims_total", result="evicted") == 1


def test_an_answer_about_a_node_that_is_gone_does_not_bring_it_back() -> None:
    rig = joined(WEB)
    rig.asks()
    marked = node_record("n-1", cordoned=True)
    rig.loses_node("n-1")
    rig.steps += rig.drains.on_cordoned(marked, rig.at)
    assert rig.nodes.node("n-1") is None
    assert rig.acks() == [(ID, 0), (ID, 1)]
