"""Every layer against oscillation, each alone between a shortfall and machines that would cure it.

In each test everything else speaks for the transfer: without the layer machines would move.
"""

from dataclasses import replace

import pytest

from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing import layers, transfers
from bigfleet.coordinator.rebalancing.scene import Scene
from bigfleet.coordinator.settings import RebalanceSettings
from bigfleet.model.coordination import OfferReply, TransferState, TransferTier
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import PauseScope
from bigfleet.model.reasons import TEMPLATES
from bigfleet.model.requirements import RACK_KEY, Operator, Requirement
from tests.rebalance.fleets import Fleet, rules_of

EASY = rules_of(donor_rate=1.0, drain=False)


def short_fleet(rules: RebalanceSettings = EASY, **machines: int) -> Fleet:
    """Shard a is short of two machines that b has."""
    fleet = Fleet(rules, **(machines or {"a": 3, "b": 30}))
    fleet.demand("a", 5)
    fleet.settle()
    return fleet


def moved_once(rules: RebalanceSettings = EASY) -> Fleet:
    """Two machines have come from b to a, and are in use there."""
    fleet = short_fleet(rules)
    fleet.run_until(TransferState.DONE)
    fleet.run(1)
    return fleet


# -- the shortfall -------------------------------------------------------------------------------


def test_a_shortfall_waits_until_it_is_old() -> None:
    fleet = short_fleet(rules_of(EASY, age_cycles=40))
    fleet.run(40)
    assert (fleet.all(), fleet.blocked("age")) == ([], 1)
    fleet.run(10)
    assert len(fleet.all()) == 1


def test_a_shortfall_must_be_named_twice_in_a_row() -> None:
    fleet = short_fleet()
    shard = fleet.shards["a"]
    fleet.run(9)
    fleet.talk(shard, rounds=1)
    fleet.sweep()
    assert (fleet.all(), fleet.blocked("persistence")) == ([], 1)
    fleet.talk(shard, rounds=1)
    fleet.sweep()
    assert len(fleet.all()) == 1


def test_a_gang_never_crosses_shards() -> None:
    fleet = Fleet(EASY, a=3, b=30)
    fleet.demand("a", 5, same=True)
    same = (Requirement.of(RACK_KEY, Operator.SAME),)
    fleet.demand("a", 5, "gang", requirements=same)
    fleet.settle()
    fleet.run(60)
    assert (fleet.all(), fleet.blocked("topology")) == ([], 2)


def test_a_shard_that_is_silent_gets_nothing() -> None:
    fleet = short_fleet()
    fleet.run(19)
    fleet.at += 40 * SECOND
    fleet.talk(fleet.shards["b"])
    fleet.sweep()
    assert (fleet.all(), fleet.blocked("receiver")) == ([], 1)


def test_a_shard_that_is_paused_neither_gets_nor_gives() -> None:
    for shard, layer in (("a", "receiver"), ("b", "donor")):
        fleet = short_fleet()
        fleet.pause(PauseScope(shard_ids=(shard,)))
        fleet.run(60)
        assert (fleet.all(), fleet.blocked(layer)) == ([], 1)


@pytest.mark.parametrize("why", ["paused", "turned off", "merging after a restore"])
def test_nothing_is_begun_while_rebalancing_is(why: str) -> None:
    fleet = short_fleet(rules_of(EASY, enabled=why != "turned off"))
    if why == "paused":
        fleet.pause(PauseScope(rebalance_only=True))
    if why == "merging after a restore":
        fleet.transact(lambda book, draft: draft.seq.put(replace(draft.numbers, merging=True)))
    fleet.run(60)
    assert (fleet.all(), fleet.blocked("off")) == ([], 1)


def test_what_was_offered_is_not_released_once_rebalancing_is_paused() -> None:
    fleet = short_fleet()
    fleet.run_until(TransferState.OFFERED)
    fleet.pause(PauseScope(rebalance_only=True))
    fleet.run(60)
    (ended,) = fleet.all()
    assert ended.state is TransferState.CANCELLED
    assert ended.reason.endswith("machines do not move between shards: it is paused")


def test_there_is_one_transfer_at_a_time_for_a_shortfall() -> None:
    fleet = short_fleet(rules_of(EASY, cooldown=0.0, cooldown_cycles=0))
    fleet.shards["b"].mute = True
    fleet.run_until(TransferState.OFFERED)
    fleet.run(40)
    assert (len(fleet.all()), fleet.blocked("open")) == (1, 1)


def test_a_receiver_rests_for_a_while_after_a_transfer() -> None:
    fleet = moved_once(rules_of(EASY, cooldown_cycles=0))
    fleet.demand("a", 10)
    fleet.run(110)
    assert (len(fleet.all()), fleet.blocked("cooldown")) == (1, 1)
    fleet.run(20)
    assert len(fleet.all()) == 2


def test_a_receiver_rests_for_cycles_too() -> None:
    fleet = moved_once(rules_of(EASY, cooldown=0.0, cooldown_cycles=60))
    fleet.demand("a", 10)
    fleet.run(50)
    assert (len(fleet.all()), fleet.blocked("cooldown")) == (1, 1)
    fleet.run(20)
    assert len(fleet.all()) == 2


def test_a_receiver_that_starts_again_counts_its_cycles_anew() -> None:
    fleet = moved_once(rules_of(EASY, cooldown=0.0, cooldown_cycles=60))
    fleet.run(20)
    fleet.shards["a"].cycle = 0
    fleet.demand("a", 10)
    fleet.run(50)
    assert len(fleet.all()) == 1
    fleet.run(30)
    assert len(fleet.all()) == 2


def test_a_receiver_rests_after_a_cancelled_transfer_as_well() -> None:
    fleet = short_fleet()
    first = fleet.run_until(TransferState.OFFERED)
    fleet.cancel(first.id)
    fleet.run(100)
    assert (len(fleet.all()), fleet.blocked("cooldown")) == (1, 1)


def test_a_receiver_that_is_served_by_none_of_its_transfers_gets_no_more_for_an_hour() -> None:
    rules = rules_of(EASY, cooldown=1.0, cooldown_cycles=1, max_per_transfer=1)
    fleet = short_fleet(rules)
    shard = fleet.shards["a"]
    for _ in range(400):
        # It asks for as much again as comes.
        fleet.demand("a", len(shard.used) + 2)
        fleet.run(1)
    assert len(fleet.moves) == 3
    assert fleet.blocked("progress") == 1
    (alert,) = [note for note in fleet.notes if "as short as it was" in note]
    assert alert.startswith("3 transfers to a in a row left it as short as it was, of cpu 2")
    for _ in range(3700):
        fleet.demand("a", len(shard.used) + 2)
        fleet.run(1)
    assert len(fleet.moves) > 3


def test_a_shortfall_that_shrinks_is_helped_on() -> None:
    rules = rules_of(EASY, cooldown=1.0, cooldown_cycles=1, max_per_transfer=1)
    fleet = Fleet(rules, a=3, b=30)
    fleet.demand("a", 10)
    fleet.settle()
    fleet.run(400)
    assert len(fleet.moves) == 7


# -- the donor -----------------------------------------------------------------------------------


def test_a_donor_that_declined_is_not_asked_again_for_a_while() -> None:
    rules = rules_of(EASY, cooldown=0.0, cooldown_cycles=0, decline_rest=300.0)
    fleet = Fleet(rules, a=0, b=10)
    fleet.demand("b", 7, "batch")
    fleet.settle()
    fleet.run(20)
    fleet.demand("a", 1, requirements=(Requirement.of("rare", Operator.EXISTS),))
    fleet.run(100)
    asked = len(fleet.all())
    assert {each.tier for each in fleet.all()} == {TransferTier.IDLE, TransferTier.SPECULATIVE}
    assert (asked, fleet.blocked("declined")) == (2, 1)
    fleet.run(280)
    assert len(fleet.all()) == 4


def test_nothing_alike_goes_back_for_a_while() -> None:
    rules = rules_of(EASY, min_stay=0.0, return_after=9000.0)
    fleet = Fleet(rules, a=30, b=3)
    fleet.demand("b", 8)
    fleet.settle()
    fleet.run_until(TransferState.DONE)
    fleet.demand("b", 0)
    fleet.demand("a", 40)
    fleet.run(500)
    assert {move.to_shard for move in fleet.moves} == {"b"}
    assert fleet.blocked("direction") == 1
    fleet.run(200)
    assert {move.to_shard for move in fleet.moves} == {"a", "b"}


def test_a_donor_keeps_a_margin() -> None:
    fleet = short_fleet(a=3, b=2)
    fleet.run(60)
    assert (fleet.all(), fleet.blocked("margin")) == ([], 1)


@pytest.mark.parametrize(
    ("machines", "fraction", "given"),
    [(0, 0.0, 10), (7, 0.0, 3), (0, 0.25, 7), (3, 0.25, 7), (10, 0.0, 0), (0, 0.07, 9)],
    ids=["none", "seven", "a quarter", "what is more", "all of them", "any part is one"],
)
def test_how_large_the_margin_is_may_be_set(machines: int, fraction: float, given: int) -> None:
    rules = rules_of(EASY, donor_margin_machines=machines, donor_margin_fraction=fraction)
    fleet = Fleet(rules, a=3, b=10)
    fleet.demand("a", 20)
    fleet.settle()
    fleet.run(60)
    assert len(fleet.moves) == given


@pytest.mark.parametrize(
    ("machines", "fraction", "told"),
    [(2, 0.1, (2, 100)), (0, 0.0, (0, 0)), (5, 0.07, (5, 70)), (2**40, 0.0001, (2**31 - 1, 1))],
    ids=["defaults", "none", "without the dust of floats", "what a message can hold"],
)
def test_donors_are_told_the_margin(machines: int, fraction: float, told: tuple[int, int]) -> None:
    rules = RebalanceSettings(donor_margin_machines=machines, donor_margin_fraction=fraction)
    assert layers.margin_told(rules) == told


@pytest.mark.parametrize(("hold_ttl", "told"), [(120.0, 120), (0.5, 1), (1e12, 2**31 - 1)], ids=str)
def test_receivers_are_told_how_long_they_keep_what_comes(hold_ttl: float, told: int) -> None:
    fleet = short_fleet(rules_of(EASY, hold_ttl=hold_ttl))
    assert fleet.run_until(TransferState.OFFERED).hold_seconds == told
    assert fleet.run_until(TransferState.GRANTED).hold_seconds == told


def test_a_donor_that_is_short_of_such_machines_keeps_its_own() -> None:
    fleet = short_fleet(a=3, b=10)
    fleet.shards["b"].reserved = dict.fromkeys(
        [f"b-m-{n}" for n in range(10)], ("somebody", fleet.at + 9000 * SECOND)
    )
    fleet.demand("b", 1, "own")
    fleet.run(60)
    assert (fleet.all(), fleet.blocked("margin")) == ([], 1)


def test_a_donor_need_not_say_twice_that_it_is_short_of_such_machines() -> None:
    fleet = short_fleet(a=3, b=10)
    fleet.shards["b"].reserved = dict.fromkeys(
        [f"b-m-{n}" for n in range(10)], ("somebody", fleet.at + 9000 * SECOND)
    )
    fleet.demand("b", 1, "own")
    fleet.run(9)
    # A new leader has heard the one twice and the other once.
    fleet.fail_over()
    for name in ("a", "b", "a"):
        fleet.talk(fleet.shards[name], rounds=1)
    fleet.sweep()
    assert (fleet.all(), fleet.blocked("margin"), fleet.blocked("persistence")) == ([], 1, 1)


def test_a_donor_that_is_short_of_other_machines_gives() -> None:
    fleet = short_fleet(a=3, b=10)
    rare = (Requirement.of("node.kubernetes.io/instance-type", Operator.IN, ["rare"]),)
    fleet.shards["a"].demand["web"].requirements = (
        Requirement.of("node.kubernetes.io/instance-type", Operator.IN, ["m"]),
    )
    fleet.demand("b", 1, "own", requirements=rare)
    fleet.run(60)
    assert len(fleet.moves) == 2


def test_a_donor_that_rests_as_a_receiver_gives_nothing_alike() -> None:
    rules = rules_of(EASY, cooldown=400.0, cooldown_cycles=0, direction_lock=0.0)
    fleet = Fleet(rules, a=3, b=30, c=0)
    fleet.demand("a", 5)
    fleet.settle()
    fleet.run_until(TransferState.DONE)
    fleet.demand("a", 0)
    fleet.demand("b", 30)
    fleet.demand("c", 1)
    fleet.run(380)
    assert {move.to_shard for move in fleet.moves} == {"a"}
    assert fleet.blocked("margin") >= 1
    fleet.run(60)
    assert "c" in {move.to_shard for move in fleet.moves}


def test_a_donor_gives_a_part_of_its_machines_an_hour() -> None:
    rules = rules_of(EASY, donor_rate=0.1, cooldown=1.0, cooldown_cycles=1)
    fleet = Fleet(rules, a=0, b=30)
    fleet.demand("a", 20)
    fleet.settle()
    fleet.run(300)
    assert len(fleet.moves) == 3
    assert fleet.blocked("rate") == 1
    fleet.run(3600)
    assert 3 < len(fleet.moves) <= 6


def test_a_transfer_has_so_many_machines_at_most() -> None:
    fleet = Fleet(rules_of(EASY, max_per_transfer=4), a=0, b=30)
    fleet.demand("a", 20)
    fleet.settle()
    assert len(fleet.run_until(TransferState.DONE).machine_ids) == 4


# -- the machine ---------------------------------------------------------------------------------


def test_a_machine_that_was_moved_stays() -> None:
    rules = rules_of(EASY, direction_lock=0.0, cooldown=1.0, cooldown_cycles=0)
    fleet = moved_once(rules)
    moved = {move.machine for move in fleet.moves}
    fleet.demand("a", 0)
    fleet.demand("b", 40)
    fleet.run(1700)
    assert [move for move in fleet.moves if move.machine in moved][2:] == []
    fleet.run(200)
    assert [move.to_shard for move in fleet.moves if move.machine in moved][2:] == ["b", "b"]


def test_an_offer_is_cut_down_to_what_may_move() -> None:
    fleet = moved_once(rules_of(EASY, direction_lock=0.0, cooldown=1.0, cooldown_cycles=0))
    lately = tuple(move.machine for move in fleet.moves)
    fleet.demand("a", 0)
    fleet.demand("b", 30)
    fleet.run(1)
    offered = fleet.run_until(TransferState.OFFERED)
    assert (offered.from_shard, offered.to_shard) == ("a", "b")
    reply = OfferReply(offered.id, (*lately, "a-m-0", "a-m-0", "b-m-7"))
    fleet.transact(lambda book, draft: transfers.on_offer_reply(book, draft, "a", reply))
    released = fleet.newest()
    assert released is not None
    assert (released.state, released.machine_ids) == (TransferState.RELEASING, ("a-m-0", "b-m-7"))


def test_a_machine_is_in_one_transfer_at_a_time() -> None:
    fleet = Fleet(EASY, a=0, b=30, c=0)
    fleet.demand("a", 2)
    fleet.demand("c", 2)
    fleet.settle()
    fleet.shards["b"].mute = True
    fleet.run(20)
    first, second = fleet.all()
    reply = OfferReply(first.id, ("b-m-0", "b-m-1"))
    fleet.transact(lambda book, draft: transfers.on_offer_reply(book, draft, "b", reply))
    reply = OfferReply(second.id, ("b-m-1", "b-m-2"))
    fleet.transact(lambda book, draft: transfers.on_offer_reply(book, draft, "b", reply))
    assert fleet.row(second.id).transfer.machine_ids == ("b-m-2",)


def test_a_donor_cannot_give_what_belongs_to_another() -> None:
    fleet = moved_once(rules_of(EASY, cooldown=0.0, cooldown_cycles=0, min_stay=0.0))
    theirs = fleet.moves[0].machine
    fleet.demand("a", 10)
    fleet.run(1)
    offered = fleet.run_until(TransferState.OFFERED)
    reply = OfferReply(offered.id, (theirs, "b-m-9"))
    fleet.transact(lambda book, draft: transfers.on_offer_reply(book, draft, "b", reply))
    assert fleet.row(offered.id).transfer.machine_ids == ("b-m-9",)


# -- sentences -----------------------------------------------------------------------------------


def test_every_layer_has_a_sentence_of_its_own() -> None:
    codes = [code for code in TEMPLATES if code.startswith(layers.PREFIX)]
    assert len(codes) == 18
    fleet = moved_once()
    fleet.demand("a", 10)
    fleet.run(10)
    scene = Scene(fleet.book, Draft(fleet.book.tables, fleet.at))
    reason = layers.why_not_rested(scene, "a", "web")
    assert reason is not None
    assert reason.text == "a rests for 109 s more after the last transfer for it"
    override = fleet.book.tables.overrides.get(fleet.moves[0].machine)
    assert override is not None
    stay = layers.why_not_stayed(scene, override)
    assert stay is not None
    assert stay.text == "b-m-0 was moved and stays for 29 min 19 s more"


# -- going home ----------------------------------------------------------------------------------


def homesick() -> Fleet:
    """Two machines of b have been idle at a for long enough, but for one sweep."""
    fleet = moved_once(rules_of(EASY, direction_lock=3000.0, min_stay=100.0, return_after=100.0))
    fleet.demand("a", 0)
    fleet.run(300)
    assert len(fleet.moves) == 2
    lock = next(iter(fleet.book.tables.cooldowns.by_first["direction b a sim:9000 "].values()))
    fleet.transact(lambda book, draft: draft.cooldowns.delete(lock.scope))
    return fleet


def test_idle_machines_go_home_when_nothing_keeps_them() -> None:
    fleet = homesick()
    fleet.run(60)
    assert [move.to_shard for move in fleet.moves[2:]] == ["b", "b"]


@pytest.mark.parametrize("shard", ["a", "b"])
def test_nothing_goes_home_to_or_from_a_shard_that_is_paused(shard: str) -> None:
    fleet = homesick()
    fleet.pause(PauseScope(shard_ids=(shard,)))
    fleet.run(60)
    assert len(fleet.moves) == 2


def test_nothing_goes_home_to_a_shard_that_is_not_attached_to_its_provider() -> None:
    fleet = homesick()
    row = fleet.book.tables.shards.rows["b",]
    fleet.transact(lambda book, draft: draft.shards.put(replace(row, providers=("other:9000",))))
    fleet.run(60)
    assert len(fleet.moves) == 2


def test_nothing_goes_home_while_its_direction_is_locked() -> None:
    fleet = moved_once(rules_of(EASY, direction_lock=900.0, min_stay=100.0, return_after=100.0))
    fleet.demand("a", 0)
    fleet.run(800)
    assert len(fleet.moves) == 2
    fleet.run(200)
    assert len(fleet.moves) == 4


def test_returns_rest_between_two_of_them() -> None:
    fleet = homesick()
    offered = fleet.run_until(TransferState.OFFERED)
    assert offered.tier is TransferTier.RETURN
    fleet.cancel(offered.id)
    fleet.run(110)
    assert len(fleet.moves) == 2
    fleet.run(60)
    assert len(fleet.moves) == 4


def test_there_is_one_return_at_a_time_on_each_way() -> None:
    fleet = homesick()
    fleet.shards["a"].mute = True
    fleet.run(20)
    (offered,) = transfers.transfers(fleet.book, False, 0)
    fleet.add("b", 1, "late")
    row = next(iter(fleet.book.tables.overrides.rows.values()))
    fleet.transact(lambda book, draft: draft.overrides.put(replace(row, machine="b-late-0")))
    fleet.sync(fleet.shards["a"])
    fleet.run(30)
    assert transfers.transfers(fleet.book, False, 0) == [offered]
