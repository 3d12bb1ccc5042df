"""The shortfall report: the most important and the oldest first, and never more than fits."""

from bigfleet.engine.ledgers import reported_shortfalls
from bigfleet.model.memory import Shortfall
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources

ONE_CPU = Resources.parse({"cpu": "1"})


def entry(priority: int, age: int, group: str = "") -> tuple[NeedKey, Shortfall]:
    key = NeedKey("shop", f"p={priority}|ipb=0|rpb=0|reqs=|spr=", group)
    return key, Shortfall(ONE_CPU, age)


def test_priority_goes_before_age() -> None:
    ledger = dict([entry(100, 50), entry(-5, 90), entry(1000, 1)])
    ages = [shortfall.age for _, shortfall in reported_shortfalls(ledger)]
    assert ages == [1, 50, 90]


def test_the_older_of_two_goes_first() -> None:
    ledger = dict([entry(100, 2, "young"), entry(100, 7, "old")])
    assert [key.group for key, _ in reported_shortfalls(ledger)] == ["old", "young"]


def test_a_hundred_entries_are_reported_and_no_more() -> None:
    ledger = dict(entry(100, age, f"g{age}") for age in range(1, 251))
    reported = reported_shortfalls(ledger)
    assert [shortfall.age for _, shortfall in reported] == list(range(250, 150, -1))
