"""R07: the provider's Drain races the eviction. It comes after it, or at the deadline."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from tests.execution.stage import SHOP, Stage

S = MachineState
#: A budget that blocks for five minutes.
BLOCKED_SECONDS = 300


def blocked(kind: ActionKind, grace_seconds: int) -> Stage:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.decide(kind, "m-1", grace_seconds=grace_seconds)
    stage.acknowledge()
    return stage


@pytest.mark.parametrize("kind", [ActionKind.RECLAIM, ActionKind.PREEMPT], ids=lambda k: k.label)
def test_no_drain_while_a_budget_blocks(kind: ActionKind) -> None:
    stage = blocked(kind, grace_seconds=600)
    stage.wait(BLOCKED_SECONDS)
    assert stage.mutations() == []
    assert stage.state_of("m-1") is S.CONFIGURED
    stage.acknowledge()
    assert len(stage.mutations()) == 1


def test_a_blocked_reclaim_is_given_up_and_its_node_uncordoned() -> None:
    stage = blocked(ActionKind.RECLAIM, grace_seconds=600)
    stage.wait(599)
    assert stage.drains.intent("m-1") is not None
    updates = len(stage.sent)
    stage.wait(1)
    assert stage.mutations() == []
    ((cluster, update),) = stage.sent[updates:]
    assert cluster == SHOP
    assert isinstance(update, NodeStateUpdate)
    assert update.state is S.CONFIGURED


def test_a_blocked_preempt_is_forced_at_its_deadline() -> None:
    stage = blocked(ActionKind.PREEMPT, grace_seconds=120)
    stage.acknowledge(nodes=0)
    stage.wait(119)
    assert stage.mutations() == []
    stage.wait(1)
    assert len(stage.mutations()) == 1


@pytest.mark.parametrize("kind", [ActionKind.RECLAIM, ActionKind.PREEMPT], ids=lambda k: k.label)
def test_an_operator_that_never_says_done_has_the_whole_grace(kind: ActionKind) -> None:
    stage = Stage()
    stage.connect(SHOP, says_when_done=False)
    stage.add("m-1", S.CONFIGURED)
    stage.decide(kind, "m-1", grace_seconds=600)
    for _ in range(3):
        stage.acknowledge()
    stage.wait(599)
    assert stage.mutations() == []
    stage.wait(1)
    assert len(stage.mutations()) == 1
