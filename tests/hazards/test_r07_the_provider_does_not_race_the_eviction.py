"""R07: the provider's Drain races the eviction. It comes after it, or at the deadline."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from tests.execution.rig import SHOP, Rig

S = MachineState
#: A budget that blocks for five minutes.
BLOCKED_SECONDS = 300


def blocked(kind: ActionKind, grace_seconds: int) -> Rig:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.decide(kind, "m-1", grace_seconds=grace_seconds)
    rig.acknowledge()
    return rig


@pytest.mark.parametrize("kind", [ActionKind.RECLAIM, ActionKind.PREEMPT], ids=lambda k: k.label)
def test_no_drain_while_a_budget_blocks(kind: ActionKind) -> None:
    rig = blocked(kind, grace_seconds=600)
    rig.wait(BLOCKED_SECONDS)
    assert rig.mutations() == []
    assert rig.state_of("m-1") is S.CONFIGURED
    rig.acknowledge()
    assert len(rig.mutations()) == 1


def test_a_blocked_reclaim_is_given_up_and_its_node_uncordoned() -> None:
    rig = blocked(ActionKind.RECLAIM, grace_seconds=600)
    rig.wait(599)
    assert rig.drains.intent("m-1") is not None
    updates = len(rig.sent)
    rig.wait(1)
    assert rig.mutations() == []
    ((cluster, update),) = rig.sent[updates:]
    assert cluster == SHOP
    assert isinstance(update, NodeStateUpdate)
    assert update.state is S.CONFIGURED


def test_a_blocked_preempt_is_forced_at_its_deadline() -> None:
    rig = blocked(ActionKind.PREEMPT, grace_seconds=120)
    rig.acknowledge(nodes=0)
    rig.wait(119)
    assert rig.mutations() == []
    rig.wait(1)
    assert len(rig.mutations()) == 1


@pytest.mark.parametrize("kind", [ActionKind.RECLAIM, ActionKind.PREEMPT], ids=lambda k: k.label)
def test_an_operator_that_never_says_done_has_the_whole_grace(kind: ActionKind) -> None:
    rig = Rig()
    rig.connect(SHOP, says_when_done=False)
    rig.add("m-1", S.CONFIGURED)
    rig.decide(kind, "m-1", grace_seconds=600)
    for _ in range(3):
        rig.acknowledge()
    rig.wait(599)
    assert rig.mutations() == []
    rig.wait(1)
    assert len(rig.mutations()) == 1
