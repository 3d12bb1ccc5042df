"""How many slots of a provider in a region each shard may use."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pytest

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing import quotas
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.tables import AllocationRow, ShardRow, Tables
from bigfleet.model.coordination import ProviderEntry, QuotaGrant, QuotaUsage, SyncRequest
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected

T = TypeVar("T")
PAIR = ("acme", "north")


@dataclass
class QuotaRig:
    """A book, and shards that say what they use."""

    shards: tuple[str, ...] = ("a", "b", "c")
    at: int = 1000 * SECOND
    book: Book = field(init=False)

    def __post_init__(self) -> None:
        tables = Tables()
        for name in self.shards:
            tables.shards.apply((name,), ShardRow(name, f"{name}:1", 1, 0))
        self.book = Book(tables, CoordinatorSettings(), 1)

    def do(self, operation: Callable[[Book, Draft], T]) -> T:
        draft = Draft(self.book.tables, self.at)
        result = operation(self.book, draft)
        self.book.committed(draft)
        return result

    def limit(self, total: int) -> None:
        self.do(lambda book, draft: quotas.set_quota(book, draft, *PAIR, total, force=True))

    def tell(self, shard: str, *usages: QuotaUsage) -> tuple[QuotaGrant, ...]:
        """What it syncs, and what it is granted."""
        entries = (ProviderEntry("acme", "acme:9000"),)
        request = SyncRequest(shard, 1, 1, providers=entries, quota_usage=usages)
        memory = self.book.memory(shard)
        memory.sync, memory.synced_at = request, self.at
        return self.do(lambda book, draft: quotas.grants(book, draft, request))

    def sync(
        self, shard: str, in_use: int = 0, wanted: int = 0, priority: int = 0, has: int = -1
    ) -> int:
        """How many slots of the one quota it may use now; `has`: as it was told before."""
        told = self.shares().get(shard, 0) if has < 0 else has
        grants = self.tell(shard, QuotaUsage(*PAIR, told, in_use, wanted, priority))
        (grant,) = grants
        assert not grant.unlimited
        return grant.allocated

    def move(self, giver: str, taker: str, slots: int) -> None:
        self.do(lambda book, draft: quotas.move(draft, giver, taker, [(*PAIR, slots)]))

    def tick(self) -> None:
        self.do(quotas.tick)

    def shares(self) -> dict[str, int]:
        known = quotas.quotas(self.book)
        return dict(known[0].per_shard) if known else {}


def test_a_limit_below_what_is_in_use_is_set_by_force_only() -> None:
    office = QuotaRig()
    office.limit(100)
    office.sync("a", in_use=40)
    office.sync("b", in_use=7)
    with pytest.raises(Rejected, match="47 slots of acme north are in use, 37 more than 10"):
        office.do(lambda book, draft: quotas.set_quota(book, draft, *PAIR, 10))
    assert [each.total for each in quotas.quotas(office.book)] == [100]
    office.do(lambda book, draft: quotas.set_quota(book, draft, *PAIR, 47))
    office.limit(10)
    assert [each.total for each in quotas.quotas(office.book)] == [10]


def test_without_a_record_there_is_no_limit() -> None:
    office = QuotaRig()
    usage = QuotaUsage(*PAIR, in_use=7, wanted=3)
    assert office.tell("a", usage) == (QuotaGrant(*PAIR, unlimited=True),)
    assert office.shares() == {}


def test_a_shard_gets_what_it_wants_from_what_is_free() -> None:
    office = QuotaRig()
    office.limit(10)
    assert office.sync("a", wanted=6) == 6
    assert office.sync("b", wanted=6) == 4
    assert office.sync("c", wanted=6) == 0
    assert office.shares() == {"a": 6, "b": 4}


def test_the_more_urgent_comes_first_then_the_first_by_name() -> None:
    office = QuotaRig()
    office.limit(5)
    office.tell("b", QuotaUsage(*PAIR, 0, 0, 0))
    office.book.memory("b").sync = SyncRequest(
        "b", 1, 1, quota_usage=(QuotaUsage(*PAIR, 0, 0, 4, 1000),)
    )
    assert office.sync("a", wanted=4, priority=10) == 1, "b is more urgent and has not come yet"
    assert office.sync("b", wanted=4, priority=1000) == 4
    equal = QuotaRig()
    equal.limit(5)
    equal.tell("a", QuotaUsage(*PAIR))
    equal.book.memory("a").sync = SyncRequest(
        "a", 1, 1, quota_usage=(QuotaUsage(*PAIR, 0, 0, 4, 7),)
    )
    assert equal.sync("b", wanted=4, priority=7) == 1


def test_a_silent_shard_keeps_no_other_waiting() -> None:
    office = QuotaRig()
    office.limit(5)
    office.tell("b", QuotaUsage(*PAIR, 0, 0, 0))
    office.book.memory("b").sync = SyncRequest(
        "b", 1, 1, quota_usage=(QuotaUsage(*PAIR, 0, 0, 4, 1000),)
    )
    office.at += 100 * SECOND
    assert office.sync("a", wanted=5) == 5


def test_what_is_in_use_comes_before_what_is_wanted() -> None:
    office = QuotaRig()
    office.tell("a", QuotaUsage(*PAIR, in_use=6))
    office.limit(10)
    assert office.sync("b", in_use=1, wanted=9, priority=9999) == 4
    assert office.sync("a", in_use=6) == 6


def test_a_quota_is_told_to_shards_that_use_nothing_of_it_yet() -> None:
    office = QuotaRig()
    office.limit(10)
    assert office.tell("a") == (QuotaGrant(*PAIR, 0),)


def test_what_stays_unused_for_long_is_taken_back_but_for_some_slack() -> None:
    office = QuotaRig()
    office.limit(100)
    office.sync("a", wanted=100)
    for minute in range(11):
        assert office.sync("a", in_use=30) == 100, minute
        office.tick()
        office.at += 60 * SECOND
        office.book.memory("a").synced_at = office.at
    assert office.sync("a", in_use=30, has=100) == 40
    assert office.shares() == {"a": 100}, "it may not have heard of it yet"
    assert office.sync("b", wanted=60) == 0
    assert office.sync("a", in_use=30, has=40) == 40
    assert office.sync("b", wanted=60) == 60


def test_slack_is_a_part_of_what_is_in_use_where_that_is_more() -> None:
    office = QuotaRig()
    office.limit(1000)
    office.sync("a", wanted=1000)
    for _ in range(11):
        office.sync("a", in_use=500)
        office.tick()
        office.at += 60 * SECOND
    assert office.sync("a", in_use=500, has=1000) == 550


def test_only_what_was_unused_all_the_time_is_taken() -> None:
    office = QuotaRig()
    office.limit(100)
    office.sync("a", wanted=100)
    for in_use in (30, 30, 70, 30, 30, 30, 30, 30, 30, 30, 30):
        office.sync("a", in_use=in_use)
        office.tick()
        office.at += 60 * SECOND
    assert office.sync("a", in_use=30, has=100) == 80


def test_a_shard_that_wants_slots_again_keeps_those_it_was_about_to_lose() -> None:
    office = QuotaRig()
    office.limit(100)
    office.sync("a", wanted=100)
    for _ in range(11):
        office.sync("a", in_use=30)
        office.tick()
        office.at += 60 * SECOND
    assert office.sync("a", in_use=30, wanted=5, has=100) == 100


def test_slots_used_before_the_shard_heard_are_not_given_away() -> None:
    office = QuotaRig()
    office.limit(100)
    office.sync("a", wanted=100)
    for _ in range(11):
        office.sync("a", in_use=30)
        office.tick()
        office.at += 60 * SECOND
    assert office.sync("a", in_use=30, has=100) == 40
    assert office.sync("a", in_use=75, has=40) == 75
    assert office.sync("b", wanted=60) == 25


def test_a_silent_shard_keeps_what_it_has() -> None:
    office = QuotaRig()
    office.limit(100)
    office.sync("a", wanted=100)
    office.sync("a", in_use=3)
    for _ in range(40):
        office.tick()
        office.at += 60 * SECOND
    assert office.shares() == {"a": 100}
    assert office.book.tables.allocations.rows["acme", "north", "a"].shrinks_to is None


def test_a_lowered_total_takes_nothing_that_is_in_use() -> None:
    office = QuotaRig()
    office.limit(100)
    office.sync("a", wanted=50, priority=10)
    office.sync("b", wanted=50, priority=1000)
    office.sync("a", in_use=20, priority=10)
    office.sync("b", in_use=45, priority=1000)
    office.limit(60)
    office.tick()
    assert office.sync("a", in_use=20, priority=10, has=50) == 20, "the least urgent loses first"
    assert office.sync("b", in_use=45, priority=1000, has=50) == 45
    assert office.sync("c", wanted=5, priority=9999) == 0
    office.sync("a", in_use=20, has=20)
    office.sync("b", in_use=45, has=45)
    assert office.shares() == {"a": 20, "b": 45}, "more than the total, and all of it in use"


def test_slots_move_with_machines_and_no_more_than_there_are() -> None:
    office = QuotaRig()
    office.limit(10)
    office.sync("a", wanted=6)
    office.move("a", "b", 4)
    assert office.shares() == {"a": 2, "b": 4}
    office.move("a", "b", 4)
    assert office.shares() == {"b": 6}
    office.do(lambda book, draft: quotas.move(draft, "b", "c", [("other", "", 4)]))
    assert office.shares() == {"b": 6}, "what has no quota moves without any"


def test_a_removed_shard_leaves_its_slots_to_the_others() -> None:
    office = QuotaRig()
    office.limit(10)
    office.sync("a", wanted=10)
    office.do(lambda book, draft: quotas.drop_shard(draft, "a"))
    office.book.shards.pop("a")
    assert office.sync("b", wanted=10) == 10


def test_deleting_a_quota_lifts_the_limit() -> None:
    office = QuotaRig()
    office.limit(10)
    office.sync("a", wanted=10)
    office.do(lambda book, draft: quotas.delete_quota(book, draft, *PAIR))
    assert office.book.tables.allocations.rows == {}
    assert office.tell("a", QuotaUsage(*PAIR, 10, 10)) == (QuotaGrant(*PAIR, unlimited=True),)


def test_a_quota_of_many_shards_is_deleted_in_pieces() -> None:
    office = QuotaRig()
    office.limit(1000)
    for n in range(300):
        row = AllocationRow(*PAIR, f"s{n}", 1)
        office.book.tables.allocations.apply((*PAIR, f"s{n}"), row)
    draft = Draft(office.book.tables, office.at)
    quotas.delete_quota(office.book, draft, *PAIR)
    assert len(draft.changes()) <= 128
    office.book.committed(draft)
    for _ in range(3):
        office.tick()
    assert office.book.tables.allocations.rows == {}


@pytest.mark.parametrize(
    ("provider", "total", "text"),
    [("", 5, "name of a provider"), ("acme", -1, "give 0 or more")],
    ids=["no provider", "negative"],
)
def test_a_bad_quota_is_refused(provider: str, total: int, text: str) -> None:
    office = QuotaRig()
    with pytest.raises(Rejected, match=text) as refusal:
        office.do(lambda book, draft: quotas.set_quota(book, draft, provider, "north", total))
    assert refusal.value.code is Code.INVALID_ARGUMENT
    assert office.book.tables.quotas.rows == {}


def test_a_quota_that_is_not_there_cannot_be_deleted() -> None:
    office = QuotaRig()
    with pytest.raises(Rejected, match="there is no quota") as refusal:
        office.do(lambda book, draft: quotas.delete_quota(book, draft, *PAIR))
    assert refusal.value.code is Code.NOT_FOUND


def test_quotas_are_listed_with_who_has_and_who_uses() -> None:
    office = QuotaRig()
    office.limit(10)
    office.sync("a", wanted=4)
    office.sync("a", in_use=3)
    (told,) = quotas.quotas(office.book)
    assert (told.provider, told.region, told.total) == ("acme", "north", 10)
    assert (told.per_shard, told.in_use) == ({"a": 4}, {"a": 3})


def test_after_a_restore_everybody_keeps_what_it_was_granted_since() -> None:
    office = QuotaRig()
    office.limit(100)
    office.sync("a", wanted=30)
    office.do(lambda book, draft: draft.seq.put(replace(draft.numbers, merging=True)))
    assert office.sync("a", in_use=45, wanted=20, has=50) == 50
    assert office.sync("b", in_use=5, has=10) == 10
    office.tick()
    assert office.shares() == {"a": 50, "b": 10}
    lost = QuotaUsage("acme", "south", 7, 3)
    free = QuotaUsage("acme", "west", 0, 3)
    assert office.tell("a", lost, free)[1:] == (
        QuotaGrant("acme", "south", 7),
        QuotaGrant("acme", "west", unlimited=True),
    )
