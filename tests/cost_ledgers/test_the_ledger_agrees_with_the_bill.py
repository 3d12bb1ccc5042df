"""A day of two shards that share a provider: what their ledgers say, and what it billed."""

import asyncio
import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bigfleet.costs.focus import focus_csv
from bigfleet.model.costs import AMOUNTS, CostReport, sum_of
from bigfleet.model.figures import CostAxis
from bigfleet.model.machines import CapacityType
from tests.cost_ledgers.simulated_day import BEGIN, STEP_SECONDS, SimulatedDay

#: The day is lived once: 45 s on an idle core, and all of it counts for the first test.
pytestmark = pytest.mark.timeout(1200)

HOURS = 24
#: Half of what the last digit of a bill says.
CENT = 0.005


@dataclass(frozen=True, slots=True)
class Lived:
    bill: float
    by_capacity: Mapping[str, float]
    #: Of each shard, by axis.
    told: Mapping[CostAxis, list[CostReport]]
    seen: Counter[str]
    #: Machines with a price that changed hands.
    moved: int


async def live(folder: Path) -> Lived:
    day = SimulatedDay(folder)
    try:
        await day.run(HOURS)
        pools = day.cloud.substrate.supply.pools.values()
        by_capacity = Counter[str]()
        for pool in pools:
            by_capacity[pool.offering.capacity_type.label] += day.cloud.substrate.billed(pool)  # type: ignore[assignment]
        told = {axis: await day.told(axis) for axis in CostAxis}
        return Lived(day.cloud.bill, by_capacity, told, day.cloud.seen, day.moved)
    finally:
        await day.close()


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    return asyncio.run(live(tmp_path_factory.mktemp("day")))


def test_a_day_is_billed_to_the_cent(day: Lived) -> None:
    total = sum_of(report.total for report in day.told[CostAxis.CLUSTER])
    assert total.billed == pytest.approx(day.bill, abs=CENT)
    assert day.bill > 10


def test_it_was_a_day_with_stock_outs_spot_waves_new_prices_and_transfers(day: Lived) -> None:
    assert day.seen["stockout"] >= 10
    assert day.seen["gone"] >= 10
    assert day.seen["repriced"] >= 100
    assert day.moved >= 3


def test_each_capacity_type_is_billed_to_the_cent(day: Lived) -> None:
    told = Counter[str]()
    for report in day.told[CostAxis.CAPACITY]:
        for row in report.rows:
            told[row.name] += row.amounts.billed  # type: ignore[assignment]
    for kind in (CapacityType.ON_DEMAND.label, CapacityType.SPOT.label):
        assert told[kind] == pytest.approx(day.by_capacity[kind], abs=CENT)
        assert told[kind] > 1
    assert told[CapacityType.BARE_METAL.label] == 0


@pytest.mark.parametrize("axis", CostAxis, ids=str)
def test_the_rows_of_every_axis_add_up_to_the_total(axis: CostAxis, day: Lived) -> None:
    for report, other in zip(day.told[axis], day.told[CostAxis.CLUSTER], strict=True):
        rows = sum_of(row.amounts for row in report.rows)
        for name in AMOUNTS:
            assert getattr(rows, name) == pytest.approx(getattr(report.total, name), abs=1e-6)
            assert getattr(rows, name) == pytest.approx(getattr(other.total, name), abs=1e-6)


def test_both_clusters_and_what_none_of_them_used_have_a_part(day: Lived) -> None:
    for report, cluster in zip(day.told[CostAxis.CLUSTER], ("shop", "ml"), strict=True):
        assert {row.name for row in report.rows} == {cluster, ""}
        assert all(row.amounts.billed > 0 for row in report.rows)


def test_the_whole_day_was_observed(day: Lived) -> None:
    for report in day.told[CostAxis.CLUSTER]:
        assert report.period is not None
        assert report.period.unobserved == ()
        assert report.period.observed_seconds == HOURS * 3600 - STEP_SECONDS
        assert report.period.kept_since == BEGIN


def test_machines_without_a_price_are_counted_apart(day: Lived) -> None:
    hours = sum(report.total.committed for report in day.told[CostAxis.TYPE])
    assert hours == pytest.approx(3 * (HOURS - STEP_SECONDS / 3600))


def test_the_rows_for_a_cost_tool_add_up_to_the_bill(day: Lived) -> None:
    reports = day.told[CostAxis.CLUSTER]
    rows = list(
        csv.DictReader(io.StringIO(focus_csv({str(n): r.charges for n, r in enumerate(reports)})))
    )
    assert sum(float(row["BilledCost"]) for row in rows) == pytest.approx(day.bill, abs=CENT)
    for row in rows:
        priced = float(row["PricingQuantity"]) * float(row["ListUnitPrice"])
        assert priced == pytest.approx(float(row["BilledCost"]), abs=1e-6)
