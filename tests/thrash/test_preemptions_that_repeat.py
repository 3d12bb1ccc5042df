"""Chains of preemptions, and Needs that preempt twice for one deficit: worked cases."""

from bigfleet.model.thrash import ThrashKind
from tests.thrash.traces import Told, need

GANG, BATCH, LOWER = need("ml", "train", "g"), need("batch"), need("shop", "cheap")


def ladder(told: Told, rungs: int, seconds_between: float = 60) -> None:
    """Each Need takes a machine from the next one, which then takes one from the next."""
    for rung in range(rungs):
        by, of = need(f"c{rung}"), need(f"c{rung + 1}")
        told.preempt(f"m-{rung}", of=of, by=by, priority=1000 - rung)
        told.wait(seconds_between)


def test_five_preemptions_that_cause_each_other_are_a_chain() -> None:
    told = Told()
    ladder(told, 5)
    assert told.kinds == [ThrashKind.CHAIN]
    assert [each.machine for each in told.found[0].witness] == [f"m-{n}" for n in range(5)]


def test_four_are_not() -> None:
    told = Told()
    ladder(told, 4)
    assert told.found == []


def test_five_over_more_than_the_window_are_not() -> None:
    told = Told()
    ladder(told, 5, seconds_between=460)
    assert told.found == []


def test_preemptions_of_one_cycle_do_not_cause_each_other() -> None:
    told = Told()
    for rung in range(5):
        by, of = need(f"c{rung}"), need(f"c{rung + 1}")
        told.preempt(f"m-{rung}", of=of, by=by, cycle=7)
    assert told.found == []


def test_a_longer_chain_that_is_too_old_does_not_hide_a_shorter_one() -> None:
    told = Told()
    told.preempt("x-1", of=need("c1"), by=need("c0"))
    told.wait(1790)
    told.preempt("x-2", of=need("c2"), by=need("c1"))
    told.preempt("y-2", of=need("c2"), by=need("y"))
    told.wait(20)
    for rung in (2, 3, 4, 5):
        told.preempt(f"m-{rung}", of=need(f"c{rung + 1}"), by=need(f"c{rung}"))
    assert told.kinds == [ThrashKind.CHAIN]
    assert [each.machine for each in told.found[0].witness][1:] == ["m-2", "m-3", "m-4", "m-5"]


def test_a_gang_that_went_to_another_rack_preempts_for_what_it_lacks_there() -> None:
    """Loop 31484. Back in the first rack, the victim there is the one it needs."""
    told = Told()
    told.preempt("v-1", of=BATCH, by=GANG, domain="rack-1")
    told.drained("v-1")
    told.preempt("v-2", of=BATCH, by=GANG, domain="rack-2")
    assert told.found == []
    told.preempt("v-3", of=BATCH, by=GANG, domain="rack-1")
    assert told.kinds == [ThrashKind.REPEATED]
    assert [each.machine for each in told.found[0].witness] == ["v-1", "v-3"]


def test_preempting_again_while_the_victims_cover_the_deficit_is_a_repeat() -> None:
    told = Told()
    told.preempt_all(["v-1", "v-2"], BATCH, GANG, lacking=2)
    told.wait(1)
    told.preempt_all(["v-3", "v-4"], BATCH, GANG, lacking=2)
    assert told.kinds == [ThrashKind.REPEATED]
    assert [each.machine for each in told.found[0].witness] == ["v-1", "v-2", "v-3"]


def test_preempting_for_the_rest_is_not() -> None:
    """A cap let two of the four through."""
    told = Told()
    told.preempt_all(["v-1", "v-2"], BATCH, GANG, lacking=4)
    told.preempt_all(["v-3", "v-4"], BATCH, GANG, lacking=4)
    assert told.found == []


def test_a_victim_that_came_to_its_need_covers_nothing_more() -> None:
    told = Told()
    told.preempt("v-1", of=BATCH, by=GANG)
    told.drained("v-1")
    told.bind("v-1", GANG, priority=1000)
    told.wait(60)
    told.preempt("v-2", of=BATCH, by=GANG)
    assert told.found == []


def test_a_victim_that_a_lower_need_took_is_in_the_witness_with_its_thief() -> None:
    told = Told()
    told.preempt("v-1", of=BATCH, by=GANG)
    told.drained("v-1")
    told.bind("v-1", LOWER, priority=10)
    told.preempt("v-2", of=BATCH, by=GANG)
    assert told.kinds == [ThrashKind.REPEATED]
    assert [each.cluster for each in told.found[0].witness] == ["batch", "shop", "batch"]


def test_a_victim_that_a_higher_need_took_makes_a_new_deficit() -> None:
    told = Told()
    told.preempt("v-1", of=BATCH, by=GANG, priority=1000)
    told.drained("v-1")
    told.bind("v-1", need("critical"), priority=2000)
    told.preempt("v-2", of=BATCH, by=GANG, priority=1000)
    assert told.found == []


def test_a_victim_that_failed_or_was_kept_makes_a_new_deficit() -> None:
    told = Told()
    told.preempt("v-1", of=BATCH, by=GANG)
    told.detector.abandon("v-1")
    told.preempt("v-2", of=BATCH, by=GANG)
    assert told.found == []


def test_a_need_that_lacked_nothing_in_between_has_a_new_deficit() -> None:
    told = Told()
    told.preempt("v-1", of=BATCH, by=GANG)
    assert list(told.detector.waiting()) == [GANG]
    told.detector.settle(GANG)
    told.preempt("v-2", of=BATCH, by=GANG)
    assert told.found == []


def test_a_need_is_told_once_a_cycle() -> None:
    told = Told()
    told.preempt_all(["v-1"], BATCH, GANG, lacking=1)
    told.preempt_all(["v-2", "v-3"], BATCH, GANG, lacking=1)
    told.preempt_all(["v-4"], BATCH, GANG, lacking=1)
    assert told.kinds == [ThrashKind.REPEATED] * 2
