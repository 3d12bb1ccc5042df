"""Budgets: only what reaches a rail uses it up, and the most urgent comes first."""

from bigfleet.model.actions import ActionKind as K
from bigfleet.model.machines import MachineState as S
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import Disposition as D
from bigfleet.shard.rails.dispositions import Disposed, Limits
from tests.rails.situations import START, Shard, action, reclaims


def of(disposed: Disposed, disposition: D) -> list[str]:
    return [f.action.machine for f in disposed.rulings if f.disposition is disposition]


def test_what_was_stopped_earlier_uses_up_no_cap() -> None:
    shard = Shard(
        pending={"a-0"},
        states={"a-1": S.DRAINING},
        configured={"a": 40},
        limits=Limits(reclaim_cap_fraction=0.05, room=10),
    )
    assert of(shard.dispose(*reclaims("a", 6)), D.ENQUEUED) == ["a-2", "a-3"]


def test_what_was_capped_uses_up_no_budget_of_actions() -> None:
    shard = Shard(
        configured={"a": 20}, limits=Limits(reclaim_cap_fraction=0.05, max_actions=2, room=10)
    )
    disposed = shard.dispose(*reclaims("a", 5), action(K.DELETE, "d-0"), action(K.DELETE, "d-1"))
    assert of(disposed, D.ENQUEUED) == ["a-0", "d-0"]
    assert of(disposed, D.DEFERRED) == ["d-1"]


def test_what_was_vetoed_uses_up_no_room() -> None:
    veto = Reason("rail.verifier", {"invariant": "spend ceiling"})
    shard = Shard(vetoed={"m-0": veto}, limits=Limits(room=1))
    disposed = shard.dispose(action(K.BOOTSTRAP, "m-0"), action(K.BOOTSTRAP, "m-1"))
    assert (of(disposed, D.VETOED), of(disposed, D.ENQUEUED)) == (["m-0"], ["m-1"])


def test_only_the_budget_of_actions_asks_for_another_cycle_at_once() -> None:
    budget = Shard(limits=Limits(max_actions=1, room=9))
    cap = Shard(configured={"a": 2}, limits=Limits(reclaim_cap_fraction=0.5, room=9))
    queue = Shard(limits=Limits(room=1))
    broken = Shard(broken={"acme"})
    two = (action(K.BOOTSTRAP, "m-0"), action(K.BOOTSTRAP, "m-1"))
    assert budget.dispose(*two).more_to_do
    assert not cap.dispose(*reclaims("a", 2)).more_to_do
    assert not queue.dispose(*two).more_to_do
    assert not broken.dispose(*two).more_to_do


MIXED = (
    action(K.BOOTSTRAP, "low", priority=1),
    action(K.PROVISION, "high-bought", priority=9),
    action(K.BOOTSTRAP, "high", priority=9),
    action(K.PREEMPT, "victim", priority=9),
    action(K.RECLAIM, "excess"),
    action(K.DELETE, "idle"),
)


def test_the_budget_goes_by_the_priority_of_the_need_then_reclaims_then_deletes() -> None:
    order = ["victim", "high", "high-bought", "low", "excess", "idle"]
    for budget in range(1, len(MIXED)):
        shard = Shard(limits=Limits(max_actions=budget, room=100))
        assert set(of(shard.dispose(*MIXED), D.ENQUEUED)) == set(order[:budget])


def test_a_short_queue_takes_the_most_urgent_too_and_keeps_their_order() -> None:
    disposed = Shard(limits=Limits(room=3)).dispose(*MIXED)
    assert of(disposed, D.ENQUEUED) == ["high-bought", "high", "victim"]
    assert of(disposed, D.DROPPED) == ["low", "excess", "idle"]


def test_enqueued_actions_keep_the_index_of_their_emission() -> None:
    disposed = Shard(limits=Limits(room=1)).dispose(*MIXED)
    assert [(index, a.machine) for index, a in disposed.enqueued()] == [(3, "victim")]


def test_a_reclaim_that_was_dropped_is_not_remembered_as_a_loss() -> None:
    shard = Shard(configured={"a": 20}, limits=Limits(reclaim_cap_fraction=0.05, room=0))
    assert shard.rulings(*reclaims("a", 1)) == [D.DROPPED]
    shard.limits = Limits(reclaim_cap_fraction=0.05, room=9)
    assert shard.rulings(*reclaims("a", 1), at=START + SECOND) == [D.ENQUEUED]


def test_the_cap_holds_over_the_trailing_window_however_often_one_decides() -> None:
    shard = Shard(configured={"a": 40}, limits=Limits(reclaim_cap_fraction=0.05, room=99))
    begun = [
        (
            tenth,
            len(of(shard.dispose(*reclaims("a", 40), at=START + tenth * SECOND // 10), D.ENQUEUED)),
        )
        for tenth in range(0, 210, 3)
    ]
    assert [(tenth, lost) for tenth, lost in begun if lost] == [(0, 2), (102, 2), (204, 2)]


def test_a_window_made_longer_by_a_reload_holds_at_once() -> None:
    shard = Shard(configured={"a": 20}, limits=Limits(reclaim_cap_fraction=0.05, room=9))
    shard.dispose(*reclaims("a", 1))
    shard.limits = Limits(reclaim_cap_fraction=0.05, reclaim_cap_window_seconds=30, room=9)
    assert shard.rulings(*reclaims("a", 1), at=START + 9 * SECOND) == [D.CAPPED]
    assert shard.rulings(*reclaims("a", 1), at=START + 29 * SECOND) == [D.CAPPED]
    assert shard.rulings(*reclaims("a", 1), at=START + 30 * SECOND) == [D.ENQUEUED]
