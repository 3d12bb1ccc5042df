"""Machines by any value are those that sorting them one by one gives, page after page."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.engine.inventory import Inventory
from bigfleet.engine.machine_order import BadPlace, page_by_id, page_of, place_of, values_of
from bigfleet.engine.selection import selected_rows
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.machines import Machine
from bigfleet.model.shard_views import MachineSelector, SortBy
from tests.generated.fleets import fleet_of_seed

VALUE_OF = {
    SortBy.CLUSTER: lambda machine: machine.cluster,
    SortBy.TYPE: lambda machine: machine.instance_type,
    SortBy.ZONE: lambda machine: machine.zone,
    SortBy.PRICE: lambda machine: machine.price_per_hour,
}


def fleet(seed: int) -> tuple[list[Machine], Snapshot]:
    machines = [each.machine for each in fleet_of_seed(seed).machines]
    inventory = Inventory()
    for each in machines:
        inventory.insert(each, source="sim")
    return machines, inventory.snapshot()


def pages(
    snapshot: Snapshot, by: SortBy, limit: int, *, descending: bool
) -> list[list[tuple[object, str]]]:
    """All of them, each asked for with where the one before ended."""
    rows = selected_rows(snapshot, MachineSelector())
    values = values_of(snapshot, rows, by)
    found: list[list[tuple[object, str]]] = []
    known = {each: machine_value(snapshot, each, by) for each in rows.tolist()}
    after = None
    while True:
        shown = page_of(snapshot.ids, rows, values, after, limit, descending=descending).tolist()
        if not shown:
            return found
        found.append([(known[row], snapshot.ids[row]) for row in shown])
        value, name = found[-1][-1]
        after = place_of(snapshot, by, str(value)), name


def machine_value(snapshot: Snapshot, row: int, by: SortBy) -> object:
    columns, offering = snapshot.columns, snapshot.columns.offering[row]
    sold = snapshot.tables.offerings.table.rows[offering]
    if by is SortBy.CLUSTER:
        number = int(columns.cluster[row])
        return snapshot.tables.clusters.rows[number] if number >= 0 else ""
    if by is SortBy.PRICE:
        return float(snapshot.offerings.price[offering])
    return sold.zone if by is SortBy.ZONE else sold.instance_type


@given(st.integers(0, 100_000), st.sampled_from(sorted(VALUE_OF)), st.booleans())
def test_pages_are_the_whole_order_cut(seed: int, by: SortBy, descending: bool) -> None:
    machines, snapshot = fleet(seed)
    limit = Random(seed).randint(1, 9)
    found = pages(snapshot, by, limit, descending=descending)
    expected = sorted(((VALUE_OF[by](m), m.id) for m in machines), reverse=descending)
    assert [each for page in found for each in page] == expected
    assert all(len(page) == limit for page in found[:-1])


@given(st.integers(0, 100_000), st.booleans())
def test_pages_by_name_are_those_of_the_ids(seed: int, descending: bool) -> None:
    machines, snapshot = fleet(seed)
    rows = selected_rows(snapshot, MachineSelector())
    order = sorted((m.id for m in machines), reverse=descending)
    after = order[len(order) // 2] if order else ""
    shown = page_by_id(snapshot.ids, rows, after, 4, descending=descending)
    assert [snapshot.ids[row] for row in shown.tolist()] == order[len(order) // 2 + 1 :][:4]


@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
def test_a_page_goes_on_where_the_machine_it_ended_with_is_gone(descending: bool) -> None:
    machines, snapshot = fleet(7)
    rows = selected_rows(snapshot, MachineSelector())
    values = values_of(snapshot, rows, SortBy.ZONE)
    order = sorted(((m.zone, m.id) for m in machines), reverse=descending)
    gone = (f"{order[3][0]}!", "gone")
    after = place_of(snapshot, SortBy.ZONE, gone[0]), gone[1]
    shown = page_of(snapshot.ids, rows, values, after, 0, descending=descending)
    rest = [each for each in order if (each < gone if descending else each > gone)]
    assert [snapshot.ids[row] for row in shown.tolist()] == [name for _, name in rest]


@pytest.mark.parametrize("by", [SortBy.PRICE, SortBy.STATE, SortBy.SINCE])
def test_a_place_that_is_not_one_is_said_to_be(by: SortBy) -> None:
    _, snapshot = fleet(7)
    with pytest.raises(BadPlace, match="'dear' is not a"):
        place_of(snapshot, by, "dear")
