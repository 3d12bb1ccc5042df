"""The shard tells losses apart from what it has done itself, wherever they are seen first."""

from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import MachineLoss, StorySource
from tests.failures.lost_rig import GONE, LostRig
from tests.reconciling.rig import CONFIGURED, FAILED, IDLE, SPECULATIVE, Rig, record

BOUND, KEPT = record("bound", CONFIGURED), record("kept", CONFIGURED)


def losses(rig: Rig) -> list[tuple[str, str, int]]:
    return [(each.cause, each.cluster, each.machines) for each in told(rig)]


def told(rig: Rig) -> tuple[MachineLoss, ...]:
    return rig.machines.losses.views(rig.now)


def test_a_machine_that_vanished() -> None:
    rig = Rig()
    rig.lists(BOUND, KEPT, record("idle", IDLE))
    for _ in range(2):
        rig.lists(KEPT)
    assert losses(rig) == [("vanished", "shop", 1)]


def test_a_machine_its_provider_ended() -> None:
    rig = Rig()
    rig.lists(BOUND, KEPT)
    rig.lists(record("bound", SPECULATIVE), KEPT)
    assert losses(rig) == [("taken_back", "shop", 1)]


def test_a_machine_its_provider_calls_failed() -> None:
    rig = Rig()
    rig.lists(BOUND, KEPT)
    rig.lists(record("bound", FAILED, last_error="spot: taken back"), KEPT)
    [loss] = told(rig)
    assert (loss.cause, loss.example, loss.text) == ("failed", "bound", "spot: taken back")


def test_a_machine_that_is_another_shards_now_is_not_lost() -> None:
    rig = Rig()
    rig.lists(BOUND, KEPT)
    rig.machines.remove_all(["bound"], rig.now, "owned by another", StorySource.COORDINATOR)
    assert losses(rig) == []


def test_machines_without_a_node_and_those_that_wait_to_be_given_up() -> None:
    """Of five machines one is given up at a time."""
    rig = LostRig(5)
    rig.tell(m_1=GONE, m_2=GONE)
    status = rig.state.status()
    assert [(each.cause, each.machines) for each in status.losses] == [("node_gone", 1)]
    assert status.lost_waiting == 1
    rig.drained()
    assert rig.states()[status.losses[0].example] is MachineState.IDLE
    assert len(rig.state.status().losses) == 1, "a drain of our own is no second loss"
