"""Each tier from the shortfall to machines in use, and home again."""

from bigfleet.coordinator.rebalancing import quotas
from bigfleet.model.coordination import TransferState, TransferTier
from bigfleet.model.coordinator_calls import InstructionKind
from tests.rebalance.fleets import Fleet, rules_of
from tests.rebalance.model_shards import NAME, REGION

#: A donor may give all it has, so that small fleets have something to move.
EASY = rules_of(donor_rate=1.0)


def kinds(fleet: Fleet, shard: str) -> list[tuple[str, InstructionKind]]:
    rows = fleet.book.tables.instructions.by_first.get(shard, {}).values()
    return [(row.instruction.id, row.instruction.kind) for row in rows]


def test_idle_machines_come_from_a_shard_that_has_them() -> None:
    fleet = Fleet(EASY, a=3, b=30)
    fleet.demand("a", 8)
    fleet.settle()
    done = fleet.run_until(TransferState.DONE)
    assert (done.tier, done.from_shard, done.to_shard) == (TransferTier.IDLE, "b", "a")
    assert len(done.machine_ids) == 5
    fleet.run(1)
    assert fleet.shards["a"].short("web") == 0
    assert all(fleet.owners(machine) == ["a"] for machine in done.machine_ids)


def test_a_transfer_says_why_it_was_begun_and_how_it_ended() -> None:
    fleet = Fleet(EASY, a=3, b=30)
    fleet.demand("a", 8, priority=1_000_000)
    fleet.settle()
    done = fleet.run_until(TransferState.DONE)
    assert done.reason == (
        "a is short of cpu 5 for 20 cycles at priority 1000000; b has 30 free machines that may "
        "match; a has adopted 5 machines"
    )
    assert fleet.book.counts.of("transfers_total", tier="idle", result="done") == 1


def test_the_grant_is_one_transaction() -> None:
    fleet = Fleet(EASY, a=3, b=30)
    fleet.transact(lambda book, draft: quotas.set_quota(book, draft, NAME, REGION, 40))
    fleet.demand("a", 5)
    fleet.settle()
    fleet.run_until(TransferState.RELEASING)
    (release,) = kinds(fleet, "b")
    revision = fleet.book.revision
    granted = fleet.run_until(TransferState.GRANTED)
    tables = fleet.book.tables
    assert release == (f"tx-{granted.id}/release", InstructionKind.TRANSFER_OWNERSHIP)
    assert kinds(fleet, "b") == []
    assert kinds(fleet, "a") == [(f"tx-{granted.id}/adopt", InstructionKind.TRANSFER_OWNERSHIP)]
    overrides = [tables.overrides.get(machine) for machine in granted.machine_ids]
    assert [(row.shard, row.home, row.transfer) for row in overrides if row is not None] == [
        ("a", "b", granted.id)
    ] * 2
    assert fleet.book.revision == revision + 1
    assert [row.scope for row in tables.cooldowns.rows.values()] == ["direction b a sim:9000 "]
    (told,) = quotas.quotas(fleet.book)
    assert told.per_shard == {"a": 5, "b": 28}


def test_slots_come_when_no_shard_has_idle_machines_and_their_quota_comes_with_them() -> None:
    fleet = Fleet(EASY, a=3, b=0)
    fleet.add("b", 20, speculative=True)
    fleet.transact(lambda book, draft: quotas.set_quota(book, draft, NAME, REGION, 10))
    fleet.shards["b"].wanted_slots = 7
    fleet.demand("a", 6)
    fleet.settle()
    fleet.shards["b"].wanted_slots = 0
    assert quotas.quotas(fleet.book)[0].per_shard == {"a": 3, "b": 7}
    released = fleet.run_until(TransferState.RELEASING)
    assert kinds(fleet, "b") == [
        (f"tx-{released.id}/release", InstructionKind.REASSIGN_SPECULATIVE)
    ]
    done = fleet.run_until(TransferState.DONE)
    assert (done.tier, len(done.machine_ids)) == (TransferTier.SPECULATIVE, 3)
    assert quotas.quotas(fleet.book)[0].per_shard == {"a": 6, "b": 4}


def test_machines_in_use_are_drained_for_higher_priority_and_only_then_released() -> None:
    fleet = Fleet(EASY, a=3, b=10)
    fleet.demand("a", 5, priority=1000)
    fleet.demand("b", 10, "batch", priority=10)
    fleet.settle()
    draining = fleet.run_until(TransferState.DRAINING)
    assert draining.tier is TransferTier.DRAIN
    fleet.run(25, every=5)
    assert [each.state for each in fleet.all() if each.tier is TransferTier.DRAIN] == [
        TransferState.DRAINING
    ]
    assert fleet.shards["b"].short("batch") == 0, "its victims serve until they are drained"
    done = fleet.run_until(TransferState.DONE)
    assert (done.id, done.machine_ids) == (draining.id, draining.machine_ids)
    fleet.run(1)
    assert fleet.shards["a"].short("web") == 0
    assert fleet.shards["b"].short("batch") == 2


def test_no_machine_is_drained_for_equal_priority() -> None:
    fleet = Fleet(EASY, a=3, b=10)
    fleet.demand("a", 5, priority=10)
    fleet.demand("b", 10, "batch", priority=10)
    fleet.settle()
    fleet.run(120)
    assert fleet.moves == []
    assert {each.state for each in fleet.all()} == {TransferState.CANCELLED}


def test_a_machine_goes_home_after_it_has_been_idle_for_long() -> None:
    fleet = Fleet(EASY, a=3, b=30)
    fleet.demand("a", 5)
    fleet.settle()
    moved = fleet.run_until(TransferState.DONE).machine_ids
    fleet.demand("a", 0)
    fleet.run(1700)
    assert [fleet.owners(machine) for machine in moved] == [["a"], ["a"]]
    fleet.run(300)
    returned = fleet.newest()
    assert returned is not None
    assert (returned.tier, returned.state) == (TransferTier.RETURN, TransferState.DONE)
    assert returned.reason.startswith("2 machines of b have been idle at a for 30 min")
    assert [fleet.owners(machine) for machine in moved] == [["b"], ["b"]]


def test_a_machine_that_is_used_meanwhile_stays() -> None:
    fleet = Fleet(EASY, a=3, b=30)
    fleet.demand("a", 5)
    fleet.settle()
    fleet.run_until(TransferState.DONE)
    fleet.demand("a", 0)
    fleet.run(1700)
    fleet.demand("a", 5)
    fleet.run(30)
    fleet.demand("a", 0)
    fleet.run(1000)
    assert len(fleet.moves) == 2


def test_the_row_of_a_machine_that_is_home_again_goes_after_its_stay() -> None:
    fleet = Fleet(EASY, a=3, b=30)
    fleet.demand("a", 5)
    fleet.settle()
    fleet.run_until(TransferState.DONE)
    fleet.demand("a", 0)
    fleet.run(2000)
    rows = fleet.book.tables.overrides.rows
    assert {(row.shard, row.home) for row in rows.values()} == {("b", "b")}
    fleet.run(1500)
    assert len(rows) == 2, "the stay begins anew with the return"
    revision = fleet.book.revision
    fleet.run(300)
    assert len(rows) == 0
    assert fleet.book.revision > revision


def test_a_machine_that_moves_on_keeps_its_first_home() -> None:
    rules = rules_of(donor_rate=1.0, min_stay=60.0)
    fleet = Fleet(rules, a=3, b=30, c=0)
    fleet.demand("a", 30)
    fleet.settle()
    fleet.run_until(TransferState.DONE)
    fleet.demand("a", 0)
    fleet.demand("b", 3)
    fleet.run(700)
    fleet.demand("c", 8)
    fleet.run(120)
    rows = fleet.book.tables.overrides.rows.values()
    homes = {row.machine: row.home for row in rows if row.shard == "c"}
    assert {machine[0] for machine in homes} == {"a", "b"}, "its own, and what it had from b"
    assert all(machine[0] == home for machine, home in homes.items())


def test_two_large_releases_in_one_report_are_granted_one_after_the_other() -> None:
    fleet = Fleet(EASY, a=0, b=200, c=0)
    fleet.demand("a", 64)
    fleet.demand("c", 64)
    fleet.settle()
    fleet.run(20)
    b = fleet.shards["b"]
    fleet.talk(b, rounds=3)
    fleet.report(b)
    assert [len(each.machine_ids) for each in fleet.all()] == [64, 64]
    assert sorted(each.state for each in fleet.all()) == [
        TransferState.RELEASING,
        TransferState.GRANTED,
    ], "one transaction does not hold both"
    waiting = [each for each in fleet.all() if each.state is TransferState.RELEASING]
    assert [fleet.owners(machine) for machine in waiting[0].machine_ids[:1]] == [[]]
    fleet.sweep()
    assert {each.state for each in fleet.all()} == {TransferState.GRANTED}
    fleet.run(30)
    assert {each.state for each in fleet.all()} == {TransferState.DONE}
    assert len(fleet.moves) == 128
