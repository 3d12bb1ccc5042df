"""A machine without a Node has nothing to evict, if it is certain that it has none."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from tests.operator_draining.stage import ID, Stage, draining, joined, node_record, pod_record

S = MachineState
WEB = pod_record("web-0")


def test_a_node_that_is_positively_absent_is_answered_as_evicted() -> None:
    stage = joined()
    stage.tells(S.CONFIGURED, "m-9", "n-9")
    stage.asks("n-9")
    assert stage.acks() == [(ID, 0), (ID, 1)]
    assert stage.counts.of("reclaims_total", result="node_missing") == 1


def test_a_cache_that_is_not_complete_proves_nothing() -> None:
    stage = joined()
    stage.nodes_are_fresh = False
    stage.tells(S.CONFIGURED, "m-9", "n-9")
    stage.asks("n-9", grace=60)
    stage.wait(30)
    assert stage.acks() == []
    stage.has_node(node_record("n-9"))
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]
    assert stage.is_cordoned("n-9")


def test_a_cache_that_becomes_complete_ends_the_waiting() -> None:
    stage = joined()
    stage.nodes_are_fresh = False
    stage.tells(S.CONFIGURED, "m-9", "n-9")
    stage.asks("n-9")
    stage.nodes_are_fresh = True
    stage.wait(1)
    assert stage.acks() == [(ID, 0), (ID, 1)]


def test_of_a_machine_nobody_told_of_absence_is_not_certain() -> None:
    stage = joined()
    stage.asks("m-9", grace=60)
    stage.wait(30)
    assert stage.acks() == []
    stage.has_node(node_record("n-9", "aws:///eu-1a/i-9"))
    stage.steps += stage.drains.on_node_state(
        NodeStateUpdate("m-9", "shop", S.CONFIGURED, provider_id="i-9"), stage.at
    )
    assert stage.cordons() == ["n-9"]


def test_a_machine_nobody_told_of_is_given_up_at_the_deadline() -> None:
    stage = joined()
    stage.asks("m-9", grace=60)
    stage.wait(60)
    assert stage.acks() == [(ID, 0), (ID, 0)]
    assert "which Node m-9 is was not known" in stage.told()[-1].message


def test_a_node_called_like_the_entry_is_taken_once_the_shard_has_told_all_machines() -> None:
    stage = Stage()
    stage.has_node(node_record("n-1"))
    stage.steps += stage.drains.on_connected(stage.at)
    asked = ReclaimInstruction(ID, ("n-1",), 600)
    stage.steps += stage.drains.on_instruction(asked, stage.at)
    assert stage.cordons() == []
    stage.steps += stage.drains.on_replay_ended(stage.at)
    assert stage.cordons() == ["n-1"]


def test_a_node_that_goes_away_during_its_drain_is_empty() -> None:
    stage = draining(WEB)
    stage.loses_node("n-1")
    assert stage.acks() == [(ID, 1)]
    assert stage.counts.of("reclaims_total", result="evicted") == 1


def test_an_answer_about_a_node_that_is_gone_does_not_bring_it_back() -> None:
    stage = joined(WEB)
    stage.asks()
    marked = node_record("n-1", cordoned=True)
    stage.loses_node("n-1")
    stage.steps += stage.drains.on_cordoned(marked, stage.at)
    assert stage.nodes.node("n-1") is None
    assert stage.acks() == [(ID, 0), (ID, 1)]
