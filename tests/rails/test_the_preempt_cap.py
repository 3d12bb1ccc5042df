"""A cluster loses at most so many machines a minute to others, by precedence, and gangs whole."""

from bigfleet.model.actions import ActionKind as K
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import Disposition as D
from bigfleet.shard.effects import Effects
from bigfleet.shard.rails.dispositions import Disposed, Limits, record
from tests.rails.situations import START, Shard, action, preempts, reclaims

CAP = 5


def capped(configured: int = 4, **said: object) -> Shard:
    limits = Limits(preempt_cap_per_minute=CAP, room=1000)
    return Shard(configured={"a": configured, "b": configured}, limits=limits, **said)  # type: ignore[arg-type]


def passed(disposed: Disposed) -> list[str]:
    return [f.action.machine for f in disposed.rulings if f.disposition is D.ENQUEUED]


def test_the_first_in_precedence_pass_and_the_others_are_told_why() -> None:
    disposed = capped().dispose(*preempts("a", 7))
    assert passed(disposed) == [f"a-{i}" for i in range(CAP)]
    last = disposed.rulings[-1]
    assert last.disposition is D.CAPPED
    assert last.reason is not None
    assert last.reason.code == "rail.preempt-cap"
    assert last.reason.text == "cluster a loses at most 5 of its 4 machines a minute to others"
    assert not disposed.more_to_do


def test_half_of_a_large_cluster_may_go() -> None:
    disposed = capped(configured=40).dispose(*preempts("a", 30))
    assert len(passed(disposed)) == 20


def test_it_counts_for_each_victim_cluster_alone() -> None:
    disposed = capped().dispose(*preempts("a", 6), *preempts("b", 6))
    assert len(passed(disposed)) == 2 * CAP


def test_it_holds_for_a_minute_however_often_is_decided() -> None:
    shard = capped()
    assert len(passed(shard.dispose(*preempts("a", 3)))) == 3
    later = START + 30 * SECOND
    assert len(passed(shard.dispose(*preempts("a", 3, "x"), at=later))) == 2
    assert passed(shard.dispose(*preempts("a", 3, "y"), at=START + 59 * SECOND)) == []
    assert len(passed(shard.dispose(*preempts("a", 9, "z"), at=START + 60 * SECOND))) == 3


def test_what_was_stopped_earlier_or_later_does_not_count() -> None:
    shard = capped(pending={"a-0"})
    assert len(passed(shard.dispose(*preempts("a", 6)))) == CAP
    late = Shard(configured={"a": 4}, limits=Limits(preempt_cap_per_minute=CAP, room=1))
    assert len(passed(late.dispose(*preempts("a", 3)))) == 1
    late.limits = Limits(preempt_cap_per_minute=CAP, room=100)
    assert len(passed(late.dispose(*preempts("a", 9, "x")))) == CAP - 1


def test_zero_turns_it_off() -> None:
    shard = Shard(limits=Limits(preempt_cap_per_minute=0, room=1000))
    assert len(passed(shard.dispose(*preempts("a", 300)))) == 300


def test_a_gang_passes_whole_or_waits() -> None:
    few, rack = preempts("a", 3), preempts("a", 4, "rack-", 1)
    shard = capped()
    assert passed(shard.dispose(*few, *rack)) == [each.machine for each in few]
    assert passed(shard.dispose(*rack, at=START + 60 * SECOND)) == [v.machine for v in rack]


def test_a_gang_that_waits_for_one_cluster_takes_nothing_from_another() -> None:
    rack = [*preempts("a", 4, "rack-", 1), *preempts("b", 1, "rack-", 1)]
    shard = capped()
    assert passed(shard.dispose(*preempts("a", 3), *rack)) == ["a-0", "a-1", "a-2"]


def test_lower_needs_do_not_overtake_a_gang_that_waits() -> None:
    few, rack = preempts("a", 3), preempts("a", 4, "rack-", 1)
    lower = preempts("a", 2, "low-")
    shard = capped()
    assert passed(shard.dispose(*few, *rack, *lower)) == [each.machine for each in few]


def test_a_gang_larger_than_the_cap_passes_once_its_clusters_had_a_quiet_minute() -> None:
    rack = preempts("a", 9, "rack-", 1)
    shard = capped()
    assert len(passed(shard.dispose(*rack))) == 9
    after = preempts("a", 9, "next-", 2)
    assert passed(shard.dispose(*after, at=START + 59 * SECOND)) == []
    assert len(passed(shard.dispose(*after, at=START + 60 * SECOND))) == 9


def test_victims_of_a_gang_belong_together_wherever_they_stand() -> None:
    first, other, last = preempts("a", 3, "x", 1), preempts("a", 1), preempts("a", 3, "y", 1)
    shard = capped()
    assert passed(shard.dispose(*first, *other, *last)) == [
        each.machine for each in (*first, *last)
    ]


def test_reclaims_have_a_cap_of_their_own() -> None:
    limits = Limits(preempt_cap_per_minute=CAP, reclaim_cap_fraction=0.5, room=100)
    shard = Shard(configured={"a": 4}, limits=limits)
    disposed = shard.dispose(*reclaims("a", 3), *preempts("a", 6, "p"))
    assert len(passed(disposed)) == 2 + CAP


def test_each_cap_has_a_counter_of_its_own() -> None:
    limits = Limits(preempt_cap_per_minute=1, reclaim_cap_fraction=0.25, room=100)
    shard = Shard(configured={"a": 2}, limits=limits)
    actions = [*reclaims("a", 3), *preempts("a", 5, "p"), action(K.DELETE, "d")]
    effects = Effects()
    record(shard.dispose(*actions), ["why"] * len(actions), 1, effects)
    assert effects.counts.of("reclaims_capped_total") == 2
    assert effects.counts.of("preempts_capped_total") == 4
