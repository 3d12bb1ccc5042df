"""What was frozen can be sorted elsewhere, while the table changes."""

from random import Random

import pytest

from bigfleet.engine import needs_table
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources

PROFILES = [Profile.of(priority=p) for p in (100, 500, 1000)]


def row(cluster: str, place: int, cpu: int, group: str = "") -> Need:
    return Need(cluster, PROFILES[place % 3], Resources.of({"cpu": cpu}), group=group or str(place))


def rows(cluster: str, *amounts: int) -> list[Need]:
    return [row(cluster, place, cpu) for place, cpu in enumerate(amounts)]


def asked(needs: list[Need]) -> list[tuple[str, str, int]]:
    return [(n.cluster, n.group, n.aggregate["cpu"]) for n in needs]


def table_of(demands: dict[str, list[Need]]) -> NeedsTable:
    table = NeedsTable()
    for cluster, needs in demands.items():
        table.replace(cluster, needs)
    return table


@pytest.fixture
def soon_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs_table, "_GARBAGE_FACTOR", 1)
    monkeypatch.setattr(needs_table, "_GARBAGE_BYTES", 0)


def test_what_was_frozen_is_sorted_as_it_was() -> None:
    table = table_of({"a": rows("a", 1, 2), "b": rows("b", 3)})
    frozen = table.freeze()
    table.replace("a", rows("a", 7, 8, 9))
    table.replace("c", rows("c", 5))
    assert sorted(asked(frozen.demand.needs)) == [("a", "0", 1), ("a", "1", 2), ("b", "0", 3)]
    assert len(table.snapshot()) == 5


def test_nothing_changed_and_nothing_is_sorted_again() -> None:
    table = table_of({"a": rows("a", 1, 2)})
    assert table.freeze() is table.freeze()
    assert table.freeze().demand is table.snapshot()


def test_a_profile_that_comes_later_does_not_disturb_what_was_frozen() -> None:
    table = table_of({"a": rows("a", 1)})
    frozen = table.freeze()
    table.replace("b", [Need("b", Profile.of(priority=7), Resources.of({"cpu": 1}))])
    assert len(frozen.demand.profiles.priority) == 1
    assert len(table.snapshot().profiles.priority) == 2


@pytest.mark.parametrize("seed", range(20))
def test_many_roll_ups_later_the_demand_is_that_of_a_new_table(seed: int) -> None:
    chance, table, latest = Random(seed), NeedsTable(), dict[str, list[Need]]()
    for _ in range(40):
        for _ in range(chance.randrange(4)):
            cluster = f"c{chance.randrange(6)}"
            latest[cluster] = rows(cluster, *chance.choices(range(1, 9), k=chance.randrange(4)))
            table.replace(cluster, latest[cluster])
        fresh = table_of(latest)
        assert table.freeze().demand.needs == fresh.snapshot().needs


@pytest.mark.usefixtures("soon_garbage")
def test_tables_start_anew_without_what_no_need_asks_for() -> None:
    table = table_of({"a": rows("a", 1, 2), "b": rows("b", 3)})
    for cpu in range(10, 30):
        table.replace("b", rows("b", cpu))
    before = table.freeze()
    assert before.mostly_garbage
    table.take_over(before.renumbered())
    after = table.freeze()
    assert after.demand.needs == before.demand.needs
    assert (len(after.tables.vectors), len(before.tables.vectors)) == (4, 24)


def test_what_was_replaced_meanwhile_stays_replaced() -> None:
    table = table_of({"a": rows("a", 1, 2), "b": rows("b", 3), "c": rows("c", 4)})
    renumbered = table.freeze().renumbered()
    table.replace("a", rows("a", 9, 9, 9))
    table.replace("c", [])
    table.replace("d", rows("d", 6))
    before = table.snapshot().needs
    table.take_over(renumbered)
    assert table.snapshot().needs == before
    assert len(table) == 5


def test_new_tables_are_taken_over_once() -> None:
    table = table_of({"a": rows("a", 1)})
    first, second = table.freeze().renumbered(), table.freeze().renumbered()
    table.take_over(first)
    table.replace("a", rows("a", 5))
    table.take_over(second)
    assert asked(table.snapshot().needs) == [("a", "0", 5)]


@pytest.mark.usefixtures("soon_garbage")
def test_a_snapshot_drops_the_garbage_itself() -> None:
    table = table_of({"a": rows("a", 1)})
    for cpu in range(2, 40):
        table.replace("a", rows("a", cpu))
    assert asked(table.snapshot().needs) == [("a", "0", 39)]
    assert len(table.freeze().tables.vectors) <= 2
