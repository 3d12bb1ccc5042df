"""A cluster keeps a machine whose pods have no place to go: what the shard makes of it."""

from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.cluster_reports import RefusedReclaim
from bigfleet.model.machines import MachineState
from bigfleet.shard.settings import DrainSettings, ShardSettings
from tests.execution.rig import SHOP, Rig

S = MachineState
WHY = "pod shop/web-0 would find no place on the other Nodes (2 x not enough cpu)"


def draining(kind: ActionKind = ActionKind.RECLAIM, on_deadline: str = "abort") -> Rig:
    settings = DrainSettings(reclaim_on_deadline=on_deadline)
    rig = Rig(replace(ShardSettings(), drain=settings))
    rig.add("m-1", S.CONFIGURED)
    rig.decide(kind, "m-1", grace_seconds=120)
    return rig


def refuse(rig: Rig, text: str = WHY, cluster: str = SHOP) -> None:
    (instruction,) = rig.instructions()
    refused = RefusedReclaim("m-1", instruction.instruction_id, text)
    rig.drains.on_refused(cluster, [refused], rig.now)


def story(rig: Rig) -> list[str]:
    return [event.text for event in rig.effects.stories.of("m-1")]


def test_a_refusal_is_a_line_of_the_machines_story_once_for_each_reason() -> None:
    rig = draining()
    refuse(rig)
    refuse(rig)
    refuse(rig, "Node n-1 is annotated")
    told = [text for text in story(rig) if "keeps it" in text]
    assert told == [f"the operator keeps it: {WHY}", "the operator keeps it: Node n-1 is annotated"]


def test_a_refusal_of_another_cluster_or_of_an_old_instruction_says_nothing() -> None:
    rig = draining()
    refuse(rig, cluster="bank")
    rig.drains.on_refused(SHOP, [RefusedReclaim("m-1", "bf1-old", WHY)], rig.now)
    assert not [text for text in story(rig) if "keeps it" in text]


def test_a_refused_reclaim_is_given_up_at_its_deadline_and_says_why() -> None:
    rig = draining()
    refuse(rig)
    rig.wait(600)
    assert rig.drains.intent("m-1") is None
    assert story(rig)[-1] == f"Reclaim given up: {WHY}"
    assert rig.counts.of("drains_aborted_total", reason="refused") == 1


def test_force_never_applies_before_the_first_answer() -> None:
    rig = draining(on_deadline="force")
    rig.wait(600)
    assert rig.mutations() == []
    assert rig.drains.intent("m-1") is None
    assert rig.told_of("m-1")[-1] is S.CONFIGURED


def test_a_drain_that_its_operator_calls_off_ends_at_once() -> None:
    rig = draining(on_deadline="force")
    rig.acknowledge()
    rig.wait(30)
    rig.acknowledge(nodes=0)
    assert rig.drains.intent("m-1") is None
    assert rig.told_of("m-1")[-1] is S.CONFIGURED
    assert rig.counts.of("drains_aborted_total", reason="refused") == 1
    rig.wait(600)
    assert rig.mutations() == []


def test_a_preemption_is_not_called_off() -> None:
    rig = draining(ActionKind.PREEMPT)
    rig.acknowledge()
    rig.acknowledge(nodes=0)
    assert rig.drains.intent("m-1") is not None
    rig.wait(120)
    assert len(rig.mutations()) == 1


def test_the_cluster_is_told_which_instructions_are_preemptions() -> None:
    rig = draining(ActionKind.PREEMPT)
    rig.add("m-2", S.CONFIGURED)
    rig.reclaim("m-2")
    first, _ = rig.instructions()
    assert rig.drains.preemptions(SHOP) == (first.instruction_id,)
    assert rig.drains.preemptions("bank") == ()


def test_a_reclaim_that_becomes_a_preemption_is_told_as_one() -> None:
    rig = draining()
    assert rig.drains.preemptions(SHOP) == ()
    rig.preempt("m-1")
    assert len(rig.drains.preemptions(SHOP)) == 1
