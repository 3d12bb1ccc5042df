"""Machines that clusters lost are counted until nothing like it has happened for a while."""

from dataclasses import replace

from bigfleet.model.machines import CapacityType, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import MachineLoss
from bigfleet.shard.recent_losses import KEPT_FOR, MOST_KEPT, VANISHED, RecentLosses

T0 = 1_000 * SECOND
S = MachineState
SERVING = Machine("sp-1", S.CONFIGURED, capacity_type=CapacityType.SPOT, cluster="shop")


def test_a_wave_is_one_loss() -> None:
    losses = RecentLosses()
    for number in range(3):
        machine = replace(SERVING, id=f"sp-{number}")
        failed = replace(machine, state=S.FAILED, last_error="spot: taken back")
        losses.on_adopted(machine, failed, "sim", T0 + number)
    assert losses.views(T0 + 3) == (
        MachineLoss(
            "failed", "shop", "sim", CapacityType.SPOT, 3, T0, T0 + 2, "sp-2", "spot: taken back"
        ),
    )


def test_causes_and_clusters_are_told_apart_and_the_newest_comes_first() -> None:
    losses = RecentLosses()
    losses.note(SERVING, "sim", VANISHED, T0)
    losses.on_adopted(SERVING, replace(SERVING, state=S.SPECULATIVE, cluster=""), "sim", T0 + 1)
    losses.note(replace(SERVING, cluster="ml"), "sim", VANISHED, T0 + 2)
    losses.note(SERVING, "sim", VANISHED, T0 + 3)
    assert [(each.cause, each.cluster, each.machines) for each in losses.views(T0 + 3)] == [
        ("vanished", "shop", 2),
        ("vanished", "ml", 1),
        ("taken_back", "shop", 1),
    ]


def test_what_the_shard_did_itself_is_no_loss() -> None:
    losses = RecentLosses()
    idle = replace(SERVING, state=S.IDLE, cluster="")
    losses.note(idle, "sim", VANISHED, T0)
    for state in (S.CONFIGURING, S.DRAINING):
        # A Configure that never came through, and a drain that has ended.
        losses.on_adopted(replace(SERVING, state=state), idle, "sim", T0)
    losses.on_adopted(SERVING, replace(SERVING, state=S.DRAINING), "sim", T0)
    assert losses.views(T0) == ()


def test_a_loss_is_forgotten_and_begins_anew() -> None:
    losses = RecentLosses()
    losses.note(SERVING, "sim", VANISHED, T0)
    assert losses.views(T0 + KEPT_FOR - 1)
    assert not losses.views(T0 + KEPT_FOR)
    losses.note(SERVING, "sim", VANISHED, T0 + KEPT_FOR)
    [again] = losses.views(T0 + KEPT_FOR)
    assert (again.machines, again.first_at) == (1, T0 + KEPT_FOR)
    losses.tick(T0 + 2 * KEPT_FOR)
    assert len(losses) == 0


def test_however_many_clusters_lose_machines_the_newest_are_kept() -> None:
    losses = RecentLosses()
    for number in range(MOST_KEPT + 10):
        losses.note(replace(SERVING, cluster=f"c-{number}"), "sim", VANISHED, T0 + number)
    assert len(losses) == MOST_KEPT
    assert losses.views(T0)[0].cluster == f"c-{MOST_KEPT + 9}"
