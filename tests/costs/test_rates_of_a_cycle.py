"""What a decided cycle costs per hour, and that each axis tells all of it."""

import math
from dataclasses import replace

import pytest
from hypothesis import given

from bigfleet.model.costs import AMOUNTS, SHARED, Amounts, CostRow, shared_by_use, team_rows
from bigfleet.model.figures import OTHERS, CostAxis
from bigfleet.model.fleet import Costs, Fleet
from tests.costs.bills import (
    dollars_by_cluster,
    example,
    interruption_dollars,
    is_billed,
    rows_by_name,
    sheet_of,
)
from tests.generated.fleets import fleets


@given(fleets())
def test_the_rows_of_every_axis_add_up_to_the_total(fleet: Fleet) -> None:
    sheet = sheet_of(fleet, Costs({"OnDemand": 1.0}, {"c0": "one"}))
    total = sheet.total()
    for axis in CostAxis:
        for few in (sheet.by(axis), sheet.by(axis, most=2)):
            for name in AMOUNTS:
                told = math.fsum(getattr(row.amounts, name) for row in few)
                assert math.isclose(told, getattr(total, name), rel_tol=1e-9, abs_tol=1e-9)


@given(fleets())
def test_the_rate_is_the_sum_of_the_prices_of_its_machines(fleet: Fleet) -> None:
    sheet = sheet_of(fleet)
    machines = [entry.machine for entry in fleet.machines if is_billed(entry.machine)]
    assert sheet.total().machines == len(machines)
    assert sheet.total().committed == sum(m.price_per_hour == 0 for m in machines)
    assert math.isclose(sheet.total().interruption, interruption_dollars(fleet), abs_tol=1e-9)
    told = {row.name: row.amounts.billed for row in sheet.by(CostAxis.CLUSTER)}
    assert told == pytest.approx(dict(dollars_by_cluster(fleet)))


@given(fleets())
def test_what_is_not_used_is_never_more_than_what_is_billed(fleet: Fleet) -> None:
    for row in sheet_of(fleet).by(CostAxis.NEED):
        amounts = row.amounts
        unused = amounts.waste + amounts.idle + amounts.stranded
        assert -1e-9 <= unused <= amounts.billed + 1e-9


@given(fleets())
def test_sharing_the_idle_bill_changes_no_total(fleet: Fleet) -> None:
    rows = sheet_of(fleet).by(CostAxis.CLUSTER)
    shared = shared_by_use(rows)
    assert math.isclose(
        math.fsum(row.attributed for row in shared),
        math.fsum(row.amounts.billed for row in rows),
        abs_tol=1e-9,
    )
    if any(row.name != SHARED for row in rows):
        assert all(row.attributed == 0 for row in shared if row.name == SHARED)


def test_the_example_costs_what_its_page_says() -> None:
    sheet = sheet_of(example())
    teams = rows_by_name(sheet.by(CostAxis.TEAM))
    retail, research, shared = teams["retail"], teams["research"], teams[SHARED]
    assert retail.amounts.billed == pytest.approx(0.80)
    # 12 of 16 CPUs are wanted.
    assert retail.amounts.waste == pytest.approx(0.80 * 4 / 16)
    assert research.amounts.billed == pytest.approx(0.12)
    assert (research.amounts.committed, research.amounts.imputed) == (1, 3.0)
    assert research.amounts.interruption == pytest.approx(0.30 * 2)
    assert (shared.amounts.idle, shared.amounts.stranded) == pytest.approx((0.40, 0.40))
    assert sheet.total().billed == pytest.approx(1.72)


def test_committed_machines_are_valued_by_type_before_capacity_and_else_counted() -> None:
    by_type = sheet_of(example(), Costs({"metal.8": 3.0, "BareMetal": 1.0})).total()
    assert (by_type.imputed, by_type.unvalued) == (3.0, 0)
    by_capacity = sheet_of(example(), Costs({"BareMetal": 1.0})).total()
    assert (by_capacity.imputed, by_capacity.unvalued) == (1.0, 0)
    unknown = sheet_of(example(), Costs()).total()
    assert (unknown.imputed, unknown.unvalued, unknown.committed) == (0.0, 1, 1)


def test_the_idle_bill_is_divided_by_what_each_is_billed() -> None:
    rows = rows_by_name(shared_by_use(sheet_of(example()).by(CostAxis.CLUSTER)))
    assert rows["shop"].shared == pytest.approx(0.80 * 0.80 / 0.92)
    assert rows["ml"].shared == pytest.approx(0.80 * 0.12 / 0.92)
    assert rows[SHARED].shared == pytest.approx(-0.80)


def test_without_a_bill_the_idle_machines_are_divided_by_machines() -> None:
    free = CostRow("a", Amounts(machines=3, committed=3))
    more = CostRow("b", Amounts(machines=1, committed=1))
    pool = CostRow(SHARED, Amounts(machines=1, billed=8.0))
    told = {row.name: row.shared for row in shared_by_use([free, more, pool])}
    assert told == {"a": 6.0, "b": 2.0, SHARED: -8.0}


def test_with_no_machine_in_use_the_idle_bill_stays_where_it_is() -> None:
    pool = CostRow(SHARED, Amounts(machines=1, billed=8.0))
    assert shared_by_use([pool]) == (pool,)


def test_names_beyond_the_most_are_one_row_and_it_is_last() -> None:
    rows = sheet_of(example()).by(CostAxis.CLUSTER, most=1)
    assert [row.name for row in rows] == ["shop", OTHERS]
    assert sum(row.amounts.machines for row in rows) == 6


def test_a_machine_that_no_need_claims_is_told_with_its_cluster() -> None:
    rows = rows_by_name(sheet_of(fleet_without_demand()).by(CostAxis.NEED))
    assert set(rows) == {"unclaimed/shop", "unclaimed/ml", SHARED}
    assert rows["unclaimed/shop"].amounts.stranded == pytest.approx(0.80)


def fleet_without_demand() -> Fleet:
    return replace(example(), needs=())


def test_teams_of_clusters_are_those_of_the_settings() -> None:
    rows = sheet_of(example()).by(CostAxis.CLUSTER)
    told = {row.name for row in team_rows(rows, {"shop": "retail"})}
    assert told == {"retail", "no team", SHARED}
