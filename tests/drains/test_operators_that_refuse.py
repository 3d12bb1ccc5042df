"""A cluster keeps a machine whose pods have no place to go: what the shard makes of it."""

from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.cluster_reports import RefusedReclaim
from bigfleet.model.machines import MachineState
from bigfleet.shard.settings import DrainSettings, ShardSettings
from tests.execution.stage import SHOP, Stage

S = MachineState
WHY = "pod shop/web-0 would find no place on the other Nodes (2 x not enough cpu)"


def draining(kind: ActionKind = ActionKind.RECLAIM, on_deadline: str = "abort") -> Stage:
    settings = DrainSettings(reclaim_on_deadline=on_deadline)
    stage = Stage(replace(ShardSettings(), drain=settings))
    stage.add("m-1", S.CONFIGURED)
    stage.decide(kind, "m-1", grace_seconds=120)
    return stage


def refuse(stage: Stage, text: str = WHY, cluster: str = SHOP) -> None:
    (instruction,) = stage.instructions()
    refused = RefusedReclaim("m-1", instruction.instruction_id, text)
    stage.drains.on_refused(cluster, [refused], stage.now)


def story(stage: Stage) -> list[str]:
    return [event.text for event in stage.effects.stories.of("m-1")]


def test_a_refusal_is_a_line_of_the_machines_story_once_for_each_reason() -> None:
    stage = draining()
    refuse(stage)
    refuse(stage)
    refuse(stage, "Node n-1 is annotated")
    told = [text for text in story(stage) if "keeps it" in text]
    assert told == [f"the operator keeps it: {WHY}", "the operator keeps it: Node n-1 is annotated"]


def test_a_refusal_of_another_cluster_or_of_an_old_instruction_says_nothing() -> None:
    stage = draining()
    refuse(stage, cluster="bank")
    stage.drains.on_refused(SHOP, [RefusedReclaim("m-1", "bf1-old", WHY)], stage.now)
    assert not [text for text in story(stage) if "keeps it" in text]


def test_a_refused_reclaim_is_given_up_at_its_deadline_and_says_why() -> None:
    stage = draining()
    refuse(stage)
    stage.wait(600)
    assert stage.drains.intent("m-1") is None
    assert story(stage)[-1] == f"Reclaim given up: {WHY}"
    assert stage.counts.of("drains_aborted_total", reason="refused") == 1


def test_force_never_applies_before_the_first_answer() -> None:
    stage = draining(on_deadline="force")
    stage.wait(600)
    assert stage.mutations() == []
    assert stage.drains.intent("m-1") is None
    assert stage.told_of("m-1")[-1] is S.CONFIGURED


def test_a_drain_that_its_operator_calls_off_ends_at_once() -> None:
    stage = draining(on_deadline="force")
    stage.acknowledge()
    stage.wait(30)
    stage.acknowledge(nodes=0)
    assert stage.drains.intent("m-1") is None
    assert stage.told_of("m-1")[-1] is S.CONFIGURED
    assert stage.counts.of("drains_aborted_total", reason="refused") == 1
    stage.wait(600)
    assert stage.mutations() == []


def test_a_preemption_is_not_called_off() -> None:
    stage = draining(ActionKind.PREEMPT)
    stage.acknowledge()
    stage.acknowledge(nodes=0)
    assert stage.drains.intent("m-1") is not None
    stage.wait(120)
    assert len(stage.mutations()) == 1


def test_the_cluster_is_told_which_instructions_are_preemptions() -> None:
    stage = draining(ActionKind.PREEMPT)
    stage.add("m-2", S.CONFIGURED)
    stage.reclaim("m-2")
    first, _ = stage.instructions()
    assert stage.drains.preemptions(SHOP) == (first.instruction_id,)
    assert stage.drains.preemptions("bank") == ()


def test_a_reclaim_that_becomes_a_preemption_is_told_as_one() -> None:
    stage = draining()
    assert stage.drains.preemptions(SHOP) == ()
    stage.preempt("m-1")
    assert len(stage.drains.preemptions(SHOP)) == 1
