"""Which shard is asked first, and what happens when it has nothing to give."""

from dataclasses import replace

from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing import transfers
from bigfleet.model.coordination import OfferReply, TransferState, TransferTier
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Operator, Requirement
from tests.rebalance.fleets import Fleet, rules_of

EASY = rules_of(donor_rate=1.0)
GPU = (Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["gpu"]),)


def asked(fleet: Fleet) -> str:
    """Whom the newest transfer was asked from when it was opened."""
    fleet.run_until(TransferState.OFFERED)
    newest = fleet.newest()
    assert newest is not None
    return newest.from_shard


def test_the_shard_with_the_most_free_machines_is_asked_first() -> None:
    fleet = Fleet(EASY, a=0, b=10, c=12, d=11)
    fleet.demand("a", 2)
    fleet.settle()
    assert asked(fleet) == "c"


def test_among_equals_the_first_by_name_is_asked() -> None:
    fleet = Fleet(EASY, a=0, d=10, b=10, c=10)
    fleet.demand("a", 2)
    fleet.settle()
    assert asked(fleet) == "b"


def test_free_machines_of_other_types_and_zones_do_not_count() -> None:
    fleet = Fleet(EASY, a=0, b=50, c=0)
    fleet.add("c", 5, "gpu")
    fleet.demand("a", 2, requirements=GPU)
    fleet.settle()
    assert asked(fleet) == "c"
    zone = (Requirement.of(ZONE_KEY, Operator.IN, ["b"]),)
    other = Fleet(EASY, a=0, b=10, c=50)
    other.demand("a", 2, requirements=zone)
    other.settle()
    assert asked(other) == "b"


def test_a_donor_that_declines_is_passed_over_and_the_next_one_gives() -> None:
    fleet = Fleet(EASY, a=0, b=0, c=10)
    fleet.add("b", 20, speculative=True)
    fleet.demand("a", 2)
    fleet.settle()
    assert asked(fleet) == "b"
    done = fleet.run_until(TransferState.DONE)
    assert (done.tier, done.from_shard) == (TransferTier.IDLE, "c")
    assert "1 shard had nothing to give" in done.reason
    assert fleet.row(done.id).asked == (("b", "sim:9000"),)
    assert len(fleet.all()) == 1, "it is the same transfer"


def test_when_all_have_declined_slots_are_asked_for_in_a_transfer_of_their_own() -> None:
    fleet = Fleet(EASY, a=0, b=0, c=2)
    fleet.add("b", 20, speculative=True)
    fleet.demand("a", 2)
    fleet.settle()
    done = fleet.run_until(TransferState.DONE)
    assert (done.tier, done.from_shard) == (TransferTier.SPECULATIVE, "b")
    (before,) = [each for each in fleet.all() if each.tier is TransferTier.IDLE]
    assert before.state is TransferState.CANCELLED
    assert before.reason.endswith(
        f"b declined: nothing that fits is free, 1 shard had nothing to give; transfer {done.id} "
        "goes on"
    )


def test_machines_in_use_are_asked_for_only_when_nothing_free_is_left_anywhere() -> None:
    fleet = Fleet(EASY, a=0, b=30)
    fleet.demand("a", 2, priority=1000)
    fleet.demand("b", 5, "batch", priority=10)
    fleet.settle()
    done = fleet.run_until(TransferState.DONE)
    assert done.tier is TransferTier.IDLE
    assert fleet.shards["b"].short("batch") == 0


def test_a_young_shortfall_drains_nothing() -> None:
    rules = rules_of(donor_rate=1.0, drain_age_cycles=100)
    fleet = Fleet(rules, a=0, b=10)
    fleet.demand("a", 2, priority=1000)
    fleet.demand("b", 10, "batch", priority=10)
    fleet.settle()
    fleet.run(60)
    assert fleet.all() == []
    assert fleet.blocked("drain") == 1
    fleet.run(100)
    assert fleet.all() != []


def test_no_machine_is_drained_where_that_is_turned_off() -> None:
    fleet = Fleet(rules_of(donor_rate=1.0, drain=False), a=0, b=10)
    fleet.demand("a", 2, priority=1000)
    fleet.demand("b", 10, "batch", priority=10)
    fleet.settle()
    fleet.run(120)
    assert fleet.all() == []
    assert fleet.blocked("drain") == 1


def test_a_sweep_drains_so_many_machines_in_all() -> None:
    rules = rules_of(donor_rate=1.0, max_drain_per_sweep=8)
    fleet = Fleet(rules, a=0, b=0, c=0, d=50, e=40, f=30)
    for shard, priority in (("a", 1000), ("b", 900), ("c", 800)):
        fleet.demand(shard, 6, priority=priority)
    for shard, units in (("d", 50), ("e", 40), ("f", 30)):
        fleet.demand(shard, units, "batch", priority=10)
    fleet.settle()
    fleet.run(20)
    rows = [fleet.row(each.id) for each in fleet.all()]
    assert sorted((row.transfer.to_shard, row.most) for row in rows) == [("a", 6), ("b", 2)]
    assert fleet.blocked("drain") == 1
    fleet.run(10)
    rows = [fleet.row(each.id) for each in fleet.all()]
    assert sorted((row.transfer.to_shard, row.most) for row in rows)[2:] == [("c", 6)]


def test_a_donor_is_asked_for_one_drain_at_a_time() -> None:
    fleet = Fleet(rules_of(donor_rate=1.0), a=0, b=0, c=50)
    fleet.demand("a", 2, priority=1000)
    fleet.demand("b", 2, priority=900)
    fleet.demand("c", 50, "batch", priority=10)
    fleet.settle()
    fleet.run(20)
    assert [each.to_shard for each in fleet.all()] == ["a"]
    assert fleet.blocked("donor") == 1
    fleet.run(120)
    assert sorted(each.to_shard for each in fleet.all()) == ["a", "b"]
    assert len(fleet.moves) == 4


def test_a_donor_that_does_not_answer_is_passed_over() -> None:
    fleet = Fleet(EASY, a=0, b=20, c=10)
    fleet.shards["b"].mute = True
    fleet.demand("a", 2)
    fleet.settle()
    assert asked(fleet) == "b"
    fleet.run(61)
    done = fleet.run_until(TransferState.DONE)
    assert done.from_shard == "c"


def test_an_answer_that_comes_too_late_changes_nothing() -> None:
    fleet = Fleet(EASY, a=0, b=20, c=10)
    fleet.shards["b"].mute = True
    fleet.demand("a", 2)
    fleet.settle()
    first = fleet.run_until(TransferState.OFFERED)
    done = fleet.run_until(TransferState.DONE)
    rows = dict(fleet.rows)
    late = OfferReply(first.id, ("b-m-0",))
    fleet.transact(lambda book, draft: transfers.on_offer_reply(book, draft, "b", late))
    fleet.transact(lambda book, draft: transfers.on_offer_reply(book, draft, done.from_shard, late))
    assert fleet.rows == rows


def test_an_unanswered_offer_is_cancelled() -> None:
    fleet = Fleet(rules_of(donor_rate=1.0, drain=False), a=0, b=20)
    fleet.shards["b"].mute = True
    fleet.demand("a", 2)
    fleet.settle()
    asked(fleet)
    fleet.run(150)
    states = {each.tier: each.state for each in fleet.all()}
    assert states[TransferTier.IDLE] is TransferState.CANCELLED
    assert fleet.book.counts.of("transfers_total", tier="idle", result="expired") == 1
    assert fleet.moves == []


def test_what_is_not_wanted_any_more_is_not_released() -> None:
    fleet = Fleet(EASY, a=0, b=20)
    fleet.demand("a", 2)
    fleet.settle()
    asked(fleet)
    fleet.demand("a", 0)
    fleet.run(20)
    newest = fleet.newest()
    assert newest is not None
    assert newest.state is TransferState.CANCELLED
    assert newest.reason.endswith("a is not short of it any more")
    assert fleet.moves == []


def test_shards_of_different_providers_share_nothing() -> None:
    fleet = Fleet(EASY, a=0, b=20)
    fleet.demand("a", 2)
    fleet.settle()
    row = fleet.book.tables.shards.rows["b",]
    fleet.transact(
        lambda book, draft: draft.shards.put(replace(row, providers=("elsewhere:9000",)))
    )
    fleet.run(60)
    assert fleet.all() == []
    assert fleet.blocked("donor") == 1


def test_the_most_urgent_shortfall_is_helped_first() -> None:
    fleet = Fleet(rules_of(donor_rate=0.05), a=0, b=0, c=20)
    fleet.demand("a", 1, priority=100)
    fleet.demand("b", 1, priority=200)
    fleet.settle()
    fleet.run_until(TransferState.OFFERED)
    assert [each.to_shard for each in fleet.all()] == ["b"]
    assert fleet.blocked("rate") == 1


def test_a_donor_is_asked_for_each_provider_it_shares() -> None:
    fleet = Fleet(rules_of(EASY, drain=False), a=0, b=20)
    fleet.demand("a", 2)
    fleet.settle()
    for name in ("a", "b"):
        row = replace(fleet.book.tables.shards.rows[name,], providers=("one:1", "two:2"))
        fleet.book.tables.shards.apply((name,), row)
    fleet.shards["b"].mute = True
    first = fleet.run_until(TransferState.OFFERED)
    assert fleet.row(first.id).provider == "one:1"
    declined = OfferReply(first.id, declined_reason="none of these")
    fleet.transact(lambda book, draft: transfers.on_offer_reply(book, draft, "b", declined))
    assert fleet.row(first.id).transfer.state is TransferState.OFFERED
    assert fleet.row(first.id).provider == "two:2"


def test_both_sides_are_asked_to_hurry_for_a_while() -> None:
    fleet = Fleet(EASY, a=0, b=20, c=0)
    fleet.demand("a", 2)
    fleet.settle()
    fleet.shards["b"].mute = True
    fleet.run_until(TransferState.OFFERED)

    def hurried() -> list[str]:
        draft = Draft(fleet.book.tables, fleet.at)
        return [name for name in "abc" if transfers.wants_sync(fleet.book, draft, name)]

    assert hurried() == ["a", "b"]
    fleet.run(15)
    assert hurried() == []
