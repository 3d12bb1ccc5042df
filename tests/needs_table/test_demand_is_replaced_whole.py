"""A cluster's roll-up replaces all it asked for before; the table orders what is left."""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pytest

from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import ZONE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources

LOW, MIDDLE, HIGH = (Profile.of(priority=p) for p in (100, 500, 1000))


def row(cluster: str, profile: Profile, arrival: int = 0, cpu: int = 1, group: str = "") -> Need:
    return Need(
        cluster, profile, Resources.of({"cpu": cpu}), arrival_unix_nanos=arrival, group=group
    )


def order_of(table: NeedsTable) -> list[tuple[str, int]]:
    return [(need.cluster, need.profile.priority) for need in table.snapshot()]


def test_a_roll_up_replaces_the_one_before_and_an_empty_one_withdraws_everything() -> None:
    """N17."""
    table = NeedsTable()
    sizes = []
    for rows in ([row("a", LOW), row("a", HIGH)], [row("a", LOW)], []):
        table.replace("a", rows)
        sizes.append((len(table), len(table.snapshot()), table.cluster_count))
    assert sizes == [(2, 2, 1), (1, 1, 1), (0, 0, 0)]


def test_one_cluster_does_not_replace_another() -> None:
    table = NeedsTable()
    table.replace("a", [row("a", LOW)])
    table.replace("b", [row("b", LOW)])
    table.replace("a", [])
    assert order_of(table) == [("b", 100)]


def test_demand_goes_by_priority_then_arrival() -> None:
    """N18."""
    table = NeedsTable()
    table.replace("a", [row("a", LOW, 30), row("a", HIGH, 20)])
    table.replace("b", [row("b", MIDDLE, 10), row("b", HIGH, 5)])
    assert order_of(table) == [("b", 1000), ("a", 1000), ("b", 500), ("a", 100)]


def test_at_equal_priority_and_arrival_clusters_go_by_name() -> None:
    """N21."""
    table = NeedsTable()
    for cluster in ("c", "a", "b"):
        table.replace(cluster, [row(cluster, LOW, 7)])
    assert [cluster for cluster, _ in order_of(table)] == ["a", "b", "c"]


def test_last_of_all_a_clusters_own_order_decides() -> None:
    table = NeedsTable()
    table.replace("a", [row("a", LOW, group=g) for g in ("z", "m", "a")])
    assert [need.group for need in table.snapshot()] == ["z", "m", "a"]


def test_two_readings_are_equal_and_spoiling_one_spoils_nothing_else() -> None:
    """N19."""
    table = NeedsTable()
    table.replace("a", [row("a", LOW), row("a", HIGH)])
    first, second = table.snapshot().needs, table.snapshot().needs
    assert first == second
    first.clear()
    assert second == table.snapshot().needs
    assert len(second) == 2


def test_a_snapshot_keeps_what_it_saw() -> None:
    table = NeedsTable()
    table.replace("a", [row("a", LOW)])
    before = table.snapshot()
    table.replace("a", [row("a", HIGH), row("a", MIDDLE)])
    assert [need.profile.priority for need in before] == [100]


def test_a_row_that_persists_keeps_its_first_arrival() -> None:
    """Ruling on arrival: else the order at equal priority would flip with every roll-up."""
    table = NeedsTable()
    table.replace("a", [row("a", LOW, 10)])
    table.replace("b", [row("b", LOW, 20)])
    table.replace("a", [row("a", LOW, 30, cpu=9), row("a", LOW, 30, group="new")])
    assert [(n.cluster, n.group, n.arrival_unix_nanos) for n in table.snapshot()] == [
        ("a", "", 10),
        ("b", "", 20),
        ("a", "new", 30),
    ]


def test_a_row_that_was_away_arrives_anew() -> None:
    table = NeedsTable()
    for rows in ([row("a", LOW, 10)], [], [row("a", LOW, 30)]):
        table.replace("a", rows)
    assert [n.arrival_unix_nanos for n in table.snapshot()] == [30]


@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param(
            [
                Requirement.of(ZONE_KEY, Operator.IN, ["b", "a", "b"]),
                Requirement.of("arch", Operator.EXISTS),
            ],
            id="U7: a value twice",
        ),
        pytest.param(
            [
                Requirement.of("arch", Operator.EXISTS),
                Requirement.of(ZONE_KEY, Operator.IN, ["a", "b"]),
                Requirement.of("arch", Operator.EXISTS),
            ],
            id="U8: another order, a requirement twice",
        ),
    ],
)
def test_a_row_spelled_differently_is_the_same_row(spelling: list[Requirement]) -> None:
    canonical = Profile.of(
        [
            Requirement.of(ZONE_KEY, Operator.IN, ["a", "b"]),
            Requirement.of("arch", Operator.EXISTS),
        ]
    )
    table = NeedsTable()
    table.replace("a", [row("a", canonical, 10)])
    table.replace("a", [row("a", Profile.of(spelling), 20)])
    assert [n.arrival_unix_nanos for n in table.snapshot()] == [10]


def test_readers_never_see_half_a_roll_up() -> None:
    """N20: every version of a cluster has as many rows as each of its rows says."""
    table = NeedsTable(Lock())
    clusters = ("a", "b", "c")

    def write(cluster: str) -> None:
        for version in range(1, 40):
            size = version % 7 + 1
            table.replace(cluster, [row(cluster, LOW, 1, size, f"g{i}") for i in range(size)])

    def read() -> list[str]:
        torn = []
        for _ in range(40):
            needs = table.snapshot().needs
            for cluster in clusters:
                sizes = [need.aggregate["cpu"] for need in needs if need.cluster == cluster]
                if sizes != [len(sizes)] * len(sizes):
                    torn.append(f"{cluster}: {sizes}")
            if not 0 <= len(table) <= 21 or table.cluster_count > len(clusters):
                torn.append(f"{len(table)} rows of {table.cluster_count} clusters")
        return torn

    with ThreadPoolExecutor(6) as threads:
        writers = [threads.submit(write, cluster) for cluster in clusters]
        readers = [threads.submit(read) for _ in range(3)]
        for writer in writers:
            writer.result()
        assert [reader.result() for reader in readers] == [[], [], []]
    assert (len(table), table.cluster_count) == (3 * 5, 3)
