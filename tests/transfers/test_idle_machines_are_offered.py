"""Offers: what a donor gives, what it keeps, and what it says where it gives nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bigfleet.model.coordination import OfferReply, ProviderEntry, TransferTier
from bigfleet.model.memory import ReservationKind
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.requirements import REGION_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.shard.settings import ShardSettings
from tests.transfers.shards import ADDRESS, S, Shard, idle, machine, need, offer

ZONE_A = Requirement.of("zone", Operator.IN, ["a"])


def test_the_cheapest_machines_that_cover_the_deficit_are_offered() -> None:
    dear = [machine(f"dear-{n}", price=9.0) for n in range(5)]
    shard = Shard([*dear, *(machine(f"cheap-{n}", price=2.0) for n in (2, 0, 1))])
    reply = shard.asked_for(offer(4))
    assert reply.machine_ids == ("cheap-0", "cheap-1", "cheap-2", "dear-0")
    assert reply.covered == Resources.parse({"cpu": "32"})
    assert reply.declined_reason == ""


@pytest.mark.parametrize(
    ("free", "offered"),
    [(3, 1), (10, 8), (40, 36), (41, 36)],
    ids=["two of three are kept", "two of ten", "a tenth of forty", "a tenth, rounded up"],
)
def test_a_donor_keeps_a_margin(free: int, offered: int) -> None:
    shard = Shard(idle(free))
    assert len(shard.asked_for(offer(64)).machine_ids) == offered


@pytest.mark.parametrize(
    ("keep_machines", "keep_per_mille", "offered"),
    [(0, 0, 40), (7, 0, 33), (7, 250, 30), (0, 1, 39), (50, 0, 0)],
    ids=["nothing", "seven", "a quarter is more than seven", "any part is one", "all it has"],
)
def test_the_coordinator_says_how_large_the_margin_is(
    keep_machines: int, keep_per_mille: int, offered: int
) -> None:
    request = replace(offer(64), keep_machines=keep_machines, keep_per_mille=keep_per_mille)
    assert len(Shard(idle(40)).asked_for(request).machine_ids) == offered


def test_each_machine_is_offered_with_its_region() -> None:
    """Its own label, else what the coordinator's registry has of its provider, else none."""
    labelled = machine("m-00", labels={REGION_KEY: "north"})
    shard = Shard([labelled, *idle(4)[1:]])
    assert shard.asked_for(offer(2)).regions == ("north", "")
    registered = ProviderEntry("cloud", ADDRESS, "south")
    shard.sync()
    shard.sync(providers=(registered,), offers=(offer(2, transfer="1-2"),))
    (reply,) = shard.sync().offer_replies
    assert reply.regions == ("north", "south")


def test_what_is_only_the_margin_is_declined() -> None:
    shard = Shard(idle(2))
    reply = shard.asked_for(offer(1))
    assert reply.machine_ids == ()
    assert "margin" in reply.declined_reason


def test_no_more_than_asked_for_is_offered() -> None:
    shard = Shard(idle(20))
    assert len(shard.asked_for(offer(10, most=3)).machine_ids) == 3


def test_what_is_offered_is_not_taken_here() -> None:
    shard = Shard(idle(4))
    given = shard.asked_for(offer(2)).machine_ids
    assert {shard.reservations[m].kind for m in given} == {ReservationKind.OFFER}
    shard.report("shop", need("shop", 4, 5_000_000))
    shard.run(5)
    assert shard.of("shop") == {"m-02", "m-03"}


def test_what_a_decision_under_way_has_taken_is_offered_all_the_same_and_not_acted_on() -> None:
    """The cycle began before the offer and ends after it: the offer holds."""
    shard = Shard(idle(4))
    shard.report("shop", need("shop", 4, 100))
    given = shard.state.begin_cycle(shard.at)
    offered = shard.asked_for(offer(2)).machine_ids
    shard.finish(given)
    assert offered == ("m-00", "m-01")
    shard.run(5)
    assert shard.of("shop") == {"m-02", "m-03"}


def test_the_offer_ends_with_its_time_and_is_not_made_any_more() -> None:
    shard = Shard(idle(4))
    request = offer(2)
    assert len(shard.asked_for(request).machine_ids) == 2
    shard.run(62)
    assert shard.reservations == {}
    late = shard.answer(request)
    assert late == OfferReply("1-1", declined_reason=late.declined_reason)
    assert "not kept any more" in late.declined_reason


def test_asked_again_it_gives_the_same_answer() -> None:
    shard = Shard(idle(8))
    request = offer(2)
    first = shard.asked_for(request)
    shard.shelf["m-99"] = machine("m-99", price=0.1)
    shard.run(3)
    assert shard.answer(request) == first


def test_it_gives_the_same_answer_after_a_restart() -> None:
    shard = Shard(idle(8))
    request = offer(2)
    first = shard.asked_for(request)
    again = shard.restarted()
    again.run(1)
    again.report("shop", need("shop", 8, 100))
    again.run(5)
    assert again.answer(request) == first
    assert not again.of("shop") & set(first.machine_ids)


def test_an_answer_is_forgotten_when_its_transfer_is_off() -> None:
    shard = Shard(idle(8))
    shard.asked_for(offer(2))
    said = shard.sync()
    assert len(said.offer_replies) == 1
    assert shard.sync().offer_replies == ()
    assert shard.reservations == {}


def test_a_transfer_that_comes_back_for_another_provider_is_answered_anew() -> None:
    shard = Shard(idle(8))
    assert shard.asked_for(offer(1, address="elsewhere:9000")).declined_reason
    assert len(shard.asked_for(offer(1)).machine_ids) == 1


def test_only_machines_that_match_and_hold_a_unit_are_offered() -> None:
    fitting = [machine(f"fit-{n}", labels={"zone": "a"}) for n in range(5)]
    small = [machine(f"small-{n}", cpu="4", labels={"zone": "a"}) for n in range(5)]
    elsewhere = [machine(f"other-{n}", labels={"zone": "b"}) for n in range(5)]
    shard = Shard([*fitting, *small, *elsewhere])
    reply = shard.asked_for(replace(offer(5), requirements=(ZONE_A,)))
    assert reply.machine_ids == ("fit-0", "fit-1", "fit-2")


def test_what_brings_nothing_that_is_missing_is_not_offered() -> None:
    shard = Shard(idle(8))
    gpus = replace(offer(1), min_unit=Resources(), deficit=Resources.of({"gpu": 1}))
    assert shard.asked_for(gpus).machine_ids == ()


def test_what_a_need_has_is_not_offered() -> None:
    shard = Shard(idle(6))
    shard.report("shop", need("shop", 3, 100))
    shard.run(3)
    assert shard.asked_for(offer(6)).machine_ids == ("m-03",)


def test_slots_are_offered_as_slots() -> None:
    slots = [machine(f"slot-{n}", S.SPECULATIVE) for n in range(5)]
    shard = Shard([*idle(5), *slots])
    reply = shard.asked_for(offer(9, tier=TransferTier.SPECULATIVE))
    assert reply.machine_ids == ("slot-0", "slot-1", "slot-2")


def test_a_slot_that_is_risky_to_its_shortfall_comes_last() -> None:
    sure = [machine(f"sure-{n}", S.SPECULATIVE, price=2.0) for n in range(3)]
    risky = [
        replace(machine(f"risky-{n}", S.SPECULATIVE), interruption_probability=0.5)
        for n in range(3)
    ]
    shard = Shard([*sure, *risky])
    request = offer(4, tier=TransferTier.SPECULATIVE)
    assert shard.asked_for(request).machine_ids[:3] == ("risky-0", "risky-1", "risky-2")
    costly = Shard([*sure, *risky])
    costly.penalty_dollars = 1024.0
    assert costly.asked_for(request).machine_ids[:3] == ("sure-0", "sure-1", "sure-2")


def _paused(scope: PauseScope) -> Shard:
    shard = Shard(idle(8))
    shard.pauses = (Pause("p-1", PauseSource.COORDINATOR, scope, "ada", "a drill"),)
    return shard


DECLINING: dict[str, tuple[Callable[[], Shard], str]] = {
    "nothing matches": (lambda: Shard([machine("m", cpu="4")]), "no Idle machine that fits"),
    "everything is in use": (lambda: Shard([]), "no Idle machine that fits"),
    "dry-run": (lambda: Shard(idle(8), settings=ShardSettings(dry_run=True)), "dry-run"),
    "a pause of everything": (lambda: _paused(PauseScope()), "paused by ada: a drill"),
    "a pause of rebalancing": (lambda: _paused(PauseScope(rebalance_only=True)), "paused by ada"),
}


@pytest.mark.parametrize(("made", "why"), DECLINING.values(), ids=DECLINING)
def test_it_says_why_it_declines(made: Callable[[], Shard], why: str) -> None:
    reply = made().asked_for(offer(1))
    assert reply.machine_ids == ()
    assert why in reply.declined_reason


def test_a_provider_that_is_not_here_is_declined() -> None:
    reply = Shard(idle(8)).asked_for(offer(1, address="elsewhere:9000"))
    assert reply.declined_reason == "this shard is not attached to elsewhere:9000"


def test_only_machines_of_the_provider_in_question_are_offered() -> None:
    shard = Shard(idle(8))
    shard.state.attach_provider("metal", "metal:9000")
    assert shard.asked_for(offer(1, address="metal:9000")).machine_ids == ()
    assert len(shard.asked_for(offer(1, transfer="1-2")).machine_ids) == 1


def test_an_offer_is_part_of_the_story_of_its_machines() -> None:
    shard = Shard(idle(8))
    [given] = shard.asked_for(offer(1)).machine_ids
    assert shard.story(given) == ["offered to transfer tx-1-1"]


def test_before_the_first_decision_nothing_is_answered() -> None:
    shard = Shard(idle(8)).restarted()
    shard.sync(offers=(offer(1),))
    assert shard.sync(offers=(offer(1),)).offer_replies == ()
    shard.run(1)
    assert len(shard.asked_for(offer(1)).machine_ids) == 1


def test_a_machine_that_left_its_list_is_not_offered() -> None:
    shard = Shard(idle(5))
    del shard.shelf["m-00"]
    shard.run(1)
    assert shard.asked_for(offer(5)).machine_ids == ("m-01", "m-02")
