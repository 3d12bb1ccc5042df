"""Stock-out back-off: an offering that ran out is left alone, for every cluster, for a while."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.shard.settings import OfferingSettings, ShardSettings
from tests.execution.stage import Stage, record_of
from tests.offerings.shelves import free, held, run_out, stock, until_probe

S = MachineState
NAME = "cloud/m5.large/eu-1a/OnDemand"


def exhausted() -> tuple[Stage, list[str]]:
    stage = Stage()
    names = stock(stage, "od")
    run_out(stage, "od-0")
    return stage, names


def fail_create(stage: Stage, name: str, error: str) -> None:
    stage.provision(name)
    stage.ack(name, S.CREATING)
    failed = replace(record_of(name, S.FAILED), last_error=error)
    listed = replace(stage.machines.truth(name), state=S.FAILED, last_error=failed.last_error)
    stage.machines.step(listed, stage.now, "listed so", adopted=True)


def test_one_refusal_holds_every_slot_of_the_offering() -> None:
    stage, names = exhausted()
    assert free(stage, names) == []
    assert {mark.by for name in names if (mark := held(stage, name))} == {HeldBy.BACKOFF}


def test_other_offerings_are_still_bought() -> None:
    stage = Stage()
    names = stock(stage, "od")
    others = [
        *stock(stage, "zone", zone="eu-1b"),
        *stock(stage, "type", instance_type="c5.large"),
        *stock(stage, "spot", capacity_type=CapacityType.SPOT),
        *stock(stage, "metal", capacity_type=CapacityType.BARE_METAL),
    ]
    run_out(stage, "od-0")
    assert free(stage, [*names, *others]) == others


def test_the_rest_doubles_from_half_a_minute_to_a_quarter_of_an_hour() -> None:
    stage, names = exhausted()
    rests = []
    for _ in range(8):
        rests.append(until_probe(stage, names))
        run_out(stage, free(stage, names)[0])
    bounds = [30, 60, 120, 240, 480, 900, 900, 900]
    for rest, bound in zip(rests, bounds, strict=True):
        assert bound <= rest <= bound * 1.1 + 1


def test_the_same_offering_rests_equally_long_in_every_shard() -> None:
    rests = []
    for _ in range(2):
        stage, names = exhausted()
        rests.append(until_probe(stage, names))
    assert rests[0] == rests[1]


def test_after_its_rest_one_is_bought_to_see() -> None:
    stage, names = exhausted()
    until_probe(stage, names)
    creates = len(stage.mutations())
    for name in names:
        stage.provision(name)
    assert len(stage.mutations()) == creates + 1
    assert free(stage, names) == []
    assert stage.counts.of("creates_avoided_total") == 2


def test_a_probe_that_works_opens_the_shelf() -> None:
    stage, names = exhausted()
    until_probe(stage, names)
    stage.provision("od-1")
    stage.ack("od-1", S.CREATING)
    assert free(stage, names) == []
    stage.lists("od-1", S.IDLE)
    assert free(stage, names) == ["od-0", "od-2"]
    assert stage.offerings.views() == ()


def test_a_shelf_that_works_again_starts_anew_when_it_runs_out() -> None:
    stage, names = exhausted()
    until_probe(stage, names)
    run_out(stage, free(stage, names)[0])
    until_probe(stage, names)
    stage.provision("od-1")
    stage.ack("od-1", S.IDLE)
    run_out(stage, "od-2")
    assert 30 <= until_probe(stage, names) <= 34


def test_a_probe_that_came_to_nothing_lets_another_try() -> None:
    stage, names = exhausted()
    until_probe(stage, names)
    stage.provision("od-1")
    stage.refuse("od-1", Code.UNAVAILABLE)
    stage.wait(1)
    stage.show("od-1", S.SPECULATIVE)
    assert free(stage, names) == names


def test_what_was_under_way_at_the_first_refusal_counts_once() -> None:
    stage = Stage()
    names = stock(stage, "od", slots=6)
    for name in names:
        stage.provision(name)
    for name in names:
        stage.refuse(name, Code.RESOURCE_EXHAUSTED, "none left")
    (view,) = stage.offerings.views()
    assert (view.name, view.attempts) == (NAME, 1)
    assert 30 <= until_probe(stage, names) <= 34


def test_what_was_under_way_and_worked_does_not_open_the_shelf() -> None:
    stage = Stage()
    names = stock(stage, "od")
    stage.provision("od-1")
    run_out(stage, "od-0")
    stage.ack("od-1", S.IDLE)
    assert free(stage, names) == []


def test_a_slot_that_comes_back_while_its_offering_rests_is_held_too() -> None:
    stage, names = exhausted()
    stage.add("od-9", S.IDLE)
    stage.lists("od-9", S.SPECULATIVE)
    assert free(stage, [*names, "od-9"]) == []


def test_queued_orders_of_an_offering_that_ran_out_are_not_placed() -> None:
    stage = Stage(replace(ShardSettings(), execute=replace(ShardSettings().execute, concurrency=1)))
    stock(stage, "od")
    stage.provision("od-0")
    stage.provision("od-1")
    stage.refuse("od-0", Code.RESOURCE_EXHAUSTED)
    assert len(stage.mutations()) == 1
    assert stage.outcome(ActionKind.PROVISION, "transition_raced") == 1


def test_an_order_that_could_not_be_placed_says_why() -> None:
    stage, _ = exhausted()
    action = Action(ActionKind.PROVISION, "od-1", "shop", Rule.SPECULATIVE)
    reason = stage.execution.why_backed_off(action, stage.now)
    assert reason is not None
    assert NAME in reason.text


@pytest.mark.parametrize(
    "error", ["stockout: no m5.large", "quota of 40 vCPU reached"], ids=["stock", "quota"]
)
def test_a_machine_that_fails_for_want_of_stock_is_enough(error: str) -> None:
    stage = Stage()
    names = stock(stage, "od")
    fail_create(stage, "od-0", error)
    assert free(stage, names) == []


def test_errors_can_be_named_that_mean_the_same() -> None:
    patterns = OfferingSettings(stockout_patterns=(r"InsufficientInstance\w+",))
    stage = Stage(replace(ShardSettings(), offerings=patterns))
    names = stock(stage, "od")
    fail_create(stage, "od-0", "cloud said InsufficientInstanceCapacity")
    assert free(stage, names) == []


def test_three_failures_of_any_kind_in_a_row_are_enough() -> None:
    stage = Stage()
    names = stock(stage, "od", slots=5)
    for name in names[:2]:
        fail_create(stage, name, "the image is broken")
    assert free(stage, names) == names[2:]
    fail_create(stage, names[2], "the image is broken")
    assert free(stage, names) == []


def test_failures_far_apart_are_not_enough() -> None:
    stage = Stage()
    names = stock(stage, "od", slots=5)
    for name in names[:4]:
        fail_create(stage, name, "the image is broken")
        stage.leap(200)
    assert free(stage, names) == ["od-4"]


def test_a_success_in_between_starts_the_count_anew() -> None:
    stage = Stage()
    names = stock(stage, "od", slots=6)
    for name in names[:2]:
        fail_create(stage, name, "the image is broken")
    stage.provision("od-2")
    stage.ack("od-2", S.IDLE)
    for name in names[3:5]:
        fail_create(stage, name, "the image is broken")
    assert free(stage, names) == ["od-5"]


def test_a_reset_takes_effect_at_once() -> None:
    stage, names = exhausted()
    assert stage.offerings.reset(NAME, stage.now)
    assert free(stage, names) == names
    assert not stage.offerings.reset(NAME, stage.now)


def test_resting_offerings_are_counted_by_state() -> None:
    stage, names = exhausted()
    stage.leap(1)
    assert stage.counts.of("offering_backoff", state="open") == 1
    until_probe(stage, names)
    assert stage.counts.of("offering_backoff", state="open") == 0
    assert stage.counts.of("offering_backoff", state="half-open") == 1


def test_a_slot_held_for_another_reason_stays_held_for_that() -> None:
    stage = Stage()
    names = stock(stage, "od")
    stage.machines.hold("od-2", Held(HeldBy.UNSEEN))
    run_out(stage, "od-0")
    assert held(stage, "od-2") == Held(HeldBy.UNSEEN)
    stage.offerings.reset(NAME, stage.now)
    assert held(stage, "od-2") == Held(HeldBy.UNSEEN)
    assert free(stage, names) == ["od-0", "od-1"]


def test_a_slot_nobody_holds_is_not_bought_while_its_offering_rests() -> None:
    stage, _ = exhausted()
    stage.machines.hold("od-2", None)
    action = Action(ActionKind.PROVISION, "od-2", "shop", Rule.SPECULATIVE)
    assert stage.execution.why_backed_off(action, stage.now) is not None
