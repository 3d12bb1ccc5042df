"""R07, the operator's half: it says done only when it is, and gives a node back when told to."""

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.operator.drain_steps import DrainPhase
from tests.operator_draining.rig import ID, Rig, draining, pod_record

S = MachineState
WEB = pod_record("web-0")
#: A budget that blocks for five minutes.
BLOCKED_SECONDS = 300


def refuse_for(rig: Rig, seconds: float) -> int:
    """Every eviction in this time is refused; how many there were."""
    asked = 0
    for _ in range(round(seconds * 2)):
        for pod in rig.evictions():
            rig.refuse(pod)
            asked += 1
        rig.wait(0.5)
    return asked


def test_no_completion_while_a_budget_blocks() -> None:
    rig = draining(WEB, grace=600)
    asked = refuse_for(rig, BLOCKED_SECONDS)
    assert asked == pytest.approx(BLOCKED_SECONDS / 2, rel=0.3)
    assert rig.acks() == []
    assert rig.is_cordoned()
    rig.evict(WEB)
    assert rig.acks() == [(ID, 1)]


def test_a_reclaim_that_is_given_up_is_uncordoned_and_says_why() -> None:
    rig = draining(WEB, grace=BLOCKED_SECONDS)
    refuse_for(rig, BLOCKED_SECONDS)
    assert rig.acks() == [(ID, 0)]
    assert rig.is_cordoned()
    rig.tells(S.CONFIGURED)
    rig.answer_cordons()
    assert not rig.is_cordoned()
    standing = rig.drains.drain_of("m-1")
    assert standing is not None
    assert standing.phase is DrainPhase.KEPT
    assert "budget shop/web needs 2 healthy pods and has 2 currently" in standing.last_error


def test_a_preempt_that_is_forced_leaves_the_node_cordoned() -> None:
    rig = draining(WEB, grace=BLOCKED_SECONDS)
    refuse_for(rig, BLOCKED_SECONDS)
    rig.tells(S.DRAINING)
    rig.wait(60)
    assert rig.uncordons() == []
    assert rig.is_cordoned()


def test_a_reclaim_that_is_called_off_while_it_is_blocked_stops_asking() -> None:
    rig = draining(WEB, grace=600)
    refuse_for(rig, 60)
    rig.evictions()
    rig.tells(S.CONFIGURED)
    rig.answer_cordons()
    assert refuse_for(rig, 60) == 0
    assert rig.acks() == []
    assert not rig.is_cordoned()
