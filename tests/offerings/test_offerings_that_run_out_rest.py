"""Stock-out back-off: an offering that ran out is left alone, for every cluster, for a while."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.shard.settings import OfferingSettings, ShardSettings
from tests.execution.rig import Rig, record_of
from tests.offerings.shelves import free, held, run_out, stock, until_probe

S = MachineState
NAME = "cloud/m5.large/eu-1a/OnDemand"


def exhausted() -> tuple[Rig, list[str]]:
    rig = Rig()
    names = stock(rig, "od")
    run_out(rig, "od-0")
    return rig, names


def fail_create(rig: Rig, name: str, error: str) -> None:
    rig.provision(name)
    rig.ack(name, S.CREATING)
    failed = replace(record_of(name, S.FAILED), last_error=error)
    listed = replace(rig.machines.truth(name), state=S.FAILED, last_error=failed.last_error)
    rig.machines.step(listed, rig.now, "listed so", adopted=True)


def test_one_refusal_holds_every_slot_of_the_offering() -> None:
    rig, names = exhausted()
    assert free(rig, names) == []
    assert {mark.by for name in names if (mark := held(rig, name))} == {HeldBy.BACKOFF}


def test_other_offerings_are_still_bought() -> None:
    rig = Rig()
    names = stock(rig, "od")
    others = [
        *stock(rig, "zone", zone="eu-1b"),
        *stock(rig, "type", instance_type="c5.large"),
        *stock(rig, "spot", capacity_type=CapacityType.SPOT),
        *stock(rig, "metal", capacity_type=CapacityType.BARE_METAL),
    ]
    run_out(rig, "od-0")
    assert free(rig, [*names, *others]) == others


def test_the_rest_doubles_from_half_a_minute_to_a_quarter_of_an_hour() -> None:
    rig, names = exhausted()
    rests = []
    for _ in range(8):
        rests.append(until_probe(rig, names))
        run_out(rig, free(rig, names)[0])
    bounds = [30, 60, 120, 240, 480, 900, 900, 900]
    for rest, bound in zip(rests, bounds, strict=True):
        assert bound <= rest <= bound * 1.1 + 1


def test_the_same_offering_rests_equally_long_in_every_shard() -> None:
    rests = []
    for _ in range(2):
        rig, names = exhausted()
        rests.append(until_probe(rig, names))
    assert rests[0] == rests[1]


def test_after_its_rest_one_is_bought_to_see() -> None:
    rig, names = exhausted()
    until_probe(rig, names)
    creates = len(rig.mutations())
    for name in names:
        rig.provision(name)
    assert len(rig.mutations()) == creates + 1
    assert free(rig, names) == []
    assert rig.counts.of("creates_avoided_total") == 2
    assert [view.creates_saved for view in rig.offerings.views()] == [2]


def test_a_probe_that_works_opens_the_shelf() -> None:
    rig, names = exhausted()
    until_probe(rig, names)
    rig.provision("od-1")
    rig.ack("od-1", S.CREATING)
    assert free(rig, names) == []
    rig.lists("od-1", S.IDLE)
    assert free(rig, names) == ["od-0", "od-2"]
    assert rig.offerings.views() == ()


def test_a_shelf_that_works_again_starts_anew_when_it_runs_out() -> None:
    rig, names = exhausted()
    until_probe(rig, names)
    run_out(rig, free(rig, names)[0])
    until_probe(rig, names)
    rig.provision("od-1")
    rig.ack("od-1", S.IDLE)
    run_out(rig, "od-2")
    assert 30 <= until_probe(rig, names) <= 34


def test_a_probe_that_came_to_nothing_lets_another_try() -> None:
    rig, names = exhausted()
    until_probe(rig, names)
    rig.provision("od-1")
    rig.refuse("od-1", Code.UNAVAILABLE)
    rig.wait(1)
    rig.show("od-1", S.SPECULATIVE)
    assert free(rig, names) == names


def test_what_was_under_way_at_the_first_refusal_counts_once() -> None:
    rig = Rig()
    names = stock(rig, "od", slots=6)
    for name in names:
        rig.provision(name)
    for name in names:
        rig.refuse(name, Code.RESOURCE_EXHAUSTED, "none left")
    (view,) = rig.offerings.views()
    assert (view.name, view.attempts) == (NAME, 1)
    assert 30 <= until_probe(rig, names) <= 34


def test_what_was_under_way_and_worked_does_not_open_the_shelf() -> None:
    rig = Rig()
    names = stock(rig, "od")
    rig.provision("od-1")
    run_out(rig, "od-0")
    rig.ack("od-1", S.IDLE)
    assert free(rig, names) == []


def test_a_slot_that_comes_back_while_its_offering_rests_is_held_too() -> None:
    rig, names = exhausted()
    rig.add("od-9", S.IDLE)
    rig.lists("od-9", S.SPECULATIVE)
    assert free(rig, [*names, "od-9"]) == []


def test_queued_orders_of_an_offering_that_ran_out_are_not_placed() -> None:
    rig = Rig(replace(ShardSettings(), execute=replace(ShardSettings().execute, concurrency=1)))
    stock(rig, "od")
    rig.provision("od-0")
    rig.provision("od-1")
    rig.refuse("od-0", Code.RESOURCE_EXHAUSTED)
    assert len(rig.mutations()) == 1
    assert rig.outcome(ActionKind.PROVISION, "transition_raced") == 1


def test_an_order_that_could_not_be_placed_says_why() -> None:
    rig, _ = exhausted()
    action = Action(ActionKind.PROVISION, "od-1", "shop", Rule.SPECULATIVE)
    reason = rig.execution.why_backed_off(action, rig.now)
    assert reason is not None
    assert NAME in reason.text


@pytest.mark.parametrize(
    "error", ["stockout: no m5.large", "quota of 40 vCPU reached"], ids=["stock", "quota"]
)
def test_a_machine_that_fails_for_want_of_stock_is_enough(error: str) -> None:
    rig = Rig()
    names = stock(rig, "od")
    fail_create(rig, "od-0", error)
    assert free(rig, names) == []


def test_errors_can_be_named_that_mean_the_same() -> None:
    patterns = OfferingSettings(stockout_patterns=(r"InsufficientInstance\w+",))
    rig = Rig(replace(ShardSettings(), offerings=patterns))
    names = stock(rig, "od")
    fail_create(rig, "od-0", "cloud said InsufficientInstanceCapacity")
    assert free(rig, names) == []


def test_three_failures_of_any_kind_in_a_row_are_enough() -> None:
    rig = Rig()
    names = stock(rig, "od", slots=5)
    for name in names[:2]:
        fail_create(rig, name, "the image is broken")
    assert free(rig, names) == names[2:]
    fail_create(rig, names[2], "the image is broken")
    assert free(rig, names) == []


def test_failures_far_apart_are_not_enough() -> None:
    rig = Rig()
    names = stock(rig, "od", slots=5)
    for name in names[:4]:
        fail_create(rig, name, "the image is broken")
        rig.leap(200)
    assert free(rig, names) == ["od-4"]


def test_a_success_in_between_starts_the_count_anew() -> None:
    rig = Rig()
    names = stock(rig, "od", slots=6)
    for name in names[:2]:
        fail_create(rig, name, "the image is broken")
    rig.provision("od-2")
    rig.ack("od-2", S.IDLE)
    for name in names[3:5]:
        fail_create(rig, name, "the image is broken")
    assert free(rig, names) == ["od-5"]


def test_a_reset_takes_effect_at_once() -> None:
    rig, names = exhausted()
    assert rig.offerings.reset(NAME, rig.now)
    assert free(rig, names) == names
    assert not rig.offerings.reset(NAME, rig.now)


def test_resting_offerings_are_counted_by_state() -> None:
    rig, names = exhausted()
    rig.leap(1)
    assert rig.counts.of("offering_backoff", state="open") == 1
    until_probe(rig, names)
    assert rig.counts.of("offering_backoff", state="open") == 0
    assert rig.counts.of("offering_backoff", state="half-open") == 1


def test_a_slot_held_for_another_reason_stays_held_for_that() -> None:
    rig = Rig()
    names = stock(rig, "od")
    rig.machines.hold("od-2", Held(HeldBy.UNSEEN))
    run_out(rig, "od-0")
    assert held(rig, "od-2") == Held(HeldBy.UNSEEN)
    rig.offerings.reset(NAME, rig.now)
    assert held(rig, "od-2") == Held(HeldBy.UNSEEN)
    assert free(rig, names) == ["od-0", "od-1"]


def test_a_free_slot_is_not_bought_while_its_offering_rests() -> None:
    rig, _ = exhausted()
    rig.machines.hold("od-2", None)
    action = Action(ActionKind.PROVISION, "od-2", "shop", Rule.SPECULATIVE)
    assert rig.execution.why_backed_off(action, rig.now) is not None
