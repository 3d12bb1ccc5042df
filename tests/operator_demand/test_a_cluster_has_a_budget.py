"""One user asks for very much: what is beyond the cluster's budget is left out, and no more."""

import random
from collections.abc import Iterable

import pytest

from bigfleet.kube.objects import ObjectKey
from bigfleet.operator.demand_budget import USUAL, BudgetLimits
from bigfleet.operator.rollup import ACKNOWLEDGED, DemandBook
from bigfleet.wire.rollups import RollupReader
from tests.cluster_demand.requests import key, spec, term

SMALL = BudgetLimits(names=4, profiles=8, bytes=4_000)


def odd(number: int) -> bytes:
    return spec(resources={"cpu": "1", f"evil.example/r{number}": "1"})


def put(book: DemandBook, name: str, content: bytes, phase: str = "Pending") -> None:
    book.put(key(name), name, content, phase)


def told(book: DemandBook) -> set[str]:
    """Resource names in the roll-up, as a shard reads them."""
    needs = RollupReader().read(book.rollup(7), "shop", 200_000).needs
    return {name for need in needs for name in need.aggregate}


def names(keys: Iterable[ObjectKey]) -> set[str]:
    return {each.name for each in keys}


def test_many_odd_names_cost_no_other_request_the_roll_up() -> None:
    book = DemandBook("shop")
    for number in range(200):
        put(book, f"evil-{number}", odd(number))
    put(book, "web", spec(resources={"cpu": "2", "memory": "4Gi"}, priority=7))
    put(book, "gpu", spec(resources={"nvidia.com/gpu": "1"}))
    assert len(told(book)) == 62, "cpu, memory, and sixty others"
    assert "memory" in told(book), "what every pod may ask for is told, in any order"
    assert "gpu" in names(book.skipped)
    for number in range(190):
        book.remove(key(f"evil-{number}"))
    assert "nvidia.com/gpu" in told(book)
    assert dict(book.skipped) == {}


def test_what_was_taken_before_comes_first_also_after_a_restart() -> None:
    book = DemandBook("shop", limits=SMALL)
    for number in range(9):
        put(book, f"a-{number}", odd(number))
    put(book, "web", spec(resources={"nvidia.com/gpu": "1"}), ACKNOWLEDGED)
    assert "nvidia.com/gpu" in told(book)
    assert len(names(book.skipped)) == 9 - 3
    assert all(wrong.reason == "too_heavy" for wrong in book.skipped.values())


def test_a_request_that_is_changed_into_a_heavy_one_is_as_new() -> None:
    book = DemandBook("shop", limits=SMALL)
    put(book, "evil", spec(), ACKNOWLEDGED)
    for number in range(4):
        put(book, f"b-{number}", odd(number))
    put(book, "evil", odd(99), ACKNOWLEDGED)
    told(book)
    assert names(book.skipped) == {"evil"}


def test_what_is_left_out_is_not_acknowledged_until_it_is_told() -> None:
    book = DemandBook("shop", limits=SMALL)
    for number in range(6):
        put(book, f"r-{number}", odd(number))
    told(book)
    assert names(book.skipped) == {"r-4", "r-5"}
    assert names(book.take_held()) == {"r-4", "r-5"}
    assert book.take_held() == {}, "each once"
    assert book.need_of(key("r-4")) is None
    before = book.mark
    assert names(book.take_waiting(before)) == {"r-0", "r-1", "r-2", "r-3"}
    book.remove(key("r-0"))
    told(book)
    assert names(book.skipped) == {"r-5"}
    assert book.take_waiting(before) == [], "that roll-up did not have it"
    assert names(book.take_waiting(book.mark)) == {"r-4"}


@pytest.mark.parametrize(
    "contents",
    [
        [spec(priority=number) for number in range(20)],
        [spec(requirements=[term("In", [f"{n}-{v}" for v in range(60)])]) for n in range(20)],
    ],
    ids=["many profiles", "many bytes"],
)
def test_profiles_and_bytes_have_a_budget_too(contents: list[bytes]) -> None:
    book = DemandBook("shop", limits=SMALL)
    for number, content in enumerate(contents):
        put(book, f"r-{number:02}", content)
    size = sum(len(row) for row in book.rows())
    assert 0 < len(book.rows()) <= SMALL.profiles
    assert size <= SMALL.bytes
    assert len(book.rows()) + len(book.skipped) == 20
    assert min(names(book.skipped)) > "r-02", "the first ones are told"


@pytest.mark.parametrize("seed", range(20))
def test_after_any_changes_the_rows_are_those_of_what_is_told(seed: int) -> None:
    chance = random.Random(seed)
    book = DemandBook("shop", limits=SMALL)
    there: dict[str, bytes] = {}
    for _ in range(120):
        name = f"r-{chance.randrange(15)}"
        if name in there and chance.random() < 0.5:
            del there[name]
            book.remove(key(name))
        else:
            there[name] = chance.choice([odd(chance.randrange(9)), spec(priority=len(there))])
            put(book, name, there[name], chance.choice(["Pending", ACKNOWLEDGED]))
        if chance.random() < 0.5:
            continue
        rows = book.rows()
        fresh = DemandBook("shop")
        for name in there.keys() - names(book.skipped):
            put(fresh, name, there[name])
        assert rows == fresh.rows()
        assert len(told(book) - USUAL) <= SMALL.names
        assert len(rows) <= SMALL.profiles
    for name in there:
        book.remove(key(name))
    assert (book.rows(), dict(book.skipped), book.take_held()) == ([], {}, {})
