"""Bad input of costs: prices that cannot be or never rest, clocks that jump, clusters that go."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.costs.meter import HOUR, Meter
from bigfleet.costs.rates import CostSheet
from bigfleet.costs.red_flags import red_flags
from bigfleet.model.costs import CostCall
from bigfleet.model.figures import CostAxis
from bigfleet.model.fleet import Costs, Fleet
from bigfleet.model.machines import CapacityType, Instant
from bigfleet.model.options import SECOND
from bigfleet.shard.cost_file import CostFile
from tests.costs.bills import EXAMPLE, example, sheet_of
from tests.transfers.shards import S, Shard, machine, need

START: Instant = 500_000 * HOUR
SPOT = "m5.2xlarge/b/Spot"
IDLE = "machine-1"


def sheet_of_shard(shard: Shard) -> CostSheet:
    finished = shard.state.decision_loop.finished
    assert finished is not None
    return CostSheet(finished.decision.outcome, Costs())


def reprice(shard: Shard, name: str, price: float) -> None:
    """By its provider; the next cycle sees it."""
    shard.shelf[name] = replace(shard.shelf[name], price_per_hour=price)
    shard.run(1)


def with_price(price: float) -> Fleet:
    """The example, with another price of its Spot machine."""
    fleet = example()
    machines = tuple(
        replace(e, machine=replace(e.machine, price_per_hour=price))
        if e.machine.capacity_type is CapacityType.SPOT
        else e
        for e in fleet.machines
    )
    return replace(fleet, machines=machines)


def without_needs(fleet: Fleet) -> Fleet:
    """Both clusters have gone; their machines are Idle."""
    machines = tuple(
        replace(e, machine=replace(e.machine, state=S.IDLE, cluster="")) if e.machine.cluster else e
        for e in fleet.machines
    )
    return replace(fleet, machines=machines, needs=())


@pytest.mark.parametrize("price", [math.nan, -1.0, math.inf])
def test_a_price_that_cannot_be_leaves_the_last_good_one_in_the_bill(price: float) -> None:
    shard = Shard([machine(IDLE, price=0.4)])
    reprice(shard, IDLE, price)
    assert sheet_of_shard(shard).total().billed == 0.4
    assert shard.counted("machines_rejected_total", reason="price") == 1


def test_a_machine_without_a_price_is_counted_and_not_valued() -> None:
    shard = Shard([machine(IDLE, price=0.0), machine("machine-2", price=0.4)])
    shard.run(1)
    total = sheet_of_shard(shard).total()
    assert (total.machines, total.committed, total.unvalued) == (2, 1, 1)
    assert (total.billed, total.imputed) == (0.4, 0.0)


@pytest.mark.parametrize(("text", "said"), [("-0.40", "-0.4"), (".nan", "NaN"), ("cheap", "cheap")])
def test_a_fleet_file_with_a_price_that_cannot_be_is_refused(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(EXAMPLE.read_text().replace("pricePerHour: 0.12", f"pricePerHour: {text}"))
    answer = CliRunner().invoke(cli, ["reports", "cost", "--fleet", str(path)])
    assert answer.exit_code == 2
    assert "machines[2].pricePerHour" in answer.stderr
    assert said in answer.stderr


def test_a_price_that_changes_with_every_list_is_that_of_each_cycle() -> None:
    shard = Shard([machine(IDLE, price=0.4)])
    for price in (0.5, 0.3, 0.7):
        reprice(shard, IDLE, price)
        assert sheet_of_shard(shard).total().billed == price


def test_a_machine_is_billed_at_its_own_price_and_not_that_of_its_slot() -> None:
    slot = machine("slot", S.SPECULATIVE, price=0.5, capacity_type=CapacityType.ON_DEMAND)
    shard = Shard([slot])
    shard.run(1)
    assert sheet_of_shard(shard).total().billed == 0
    shard.report("shop", need("shop", 1, 100))
    shard.run(6)
    assert sheet_of_shard(shard).total().billed == 0.5
    reprice(shard, "slot", 0.7)
    assert sheet_of_shard(shard).total().billed == 0.7


def test_a_price_that_never_rests_is_flagged(tmp_path: Path) -> None:
    meter, file = Meter(), CostFile(tmp_path / "costs.db")
    for number, price in enumerate((0.12, 0.20, 0.11, 0.19)):
        meter.observe(sheet_of(with_price(price)), START + 60 * number * SECOND, [])
    file.add(meter.taken())
    days = file.days(START + 300 * SECOND)
    flags, _ = red_flags(sheet_of(example()), {}, None, days)
    [moved] = [flag for flag in flags if flag.code == "price-moved"]
    assert moved.subject == SPOT
    assert "between $0.1100 and $0.2000" in moved.text


def test_hours_a_clock_jumped_over_are_named_and_cost_nothing(tmp_path: Path) -> None:
    meter, file = Meter(), CostFile(tmp_path / "costs.db")
    for seconds in (0, 60, 6 * 3600, 6 * 3600 + 60):
        meter.observe(sheet_of(example()), START + seconds * SECOND, [])
    file.add(meter.taken())
    call = CostCall(CostAxis.CLUSTER, START, START + 7 * HOUR)
    _, total = file.rows(call, {})
    period = file.period(START, START + 7 * HOUR, START + 7 * HOUR)
    assert total.billed == pytest.approx(1.72 * 120 / 3600)
    assert period.unobserved == tuple(START + hour * HOUR for hour in range(1, 6))
    assert (period.observed_seconds, period.partial_count) == (120.0, 2)


def test_a_cluster_that_came_and_went_keeps_what_it_cost(tmp_path: Path) -> None:
    meter, file = Meter(), CostFile(tmp_path / "costs.db")
    for seconds, fleet in enumerate((example(), without_needs(example()), example(), example())):
        meter.observe(sheet_of(fleet), START + 60 * seconds * SECOND, [])
    file.add(meter.taken())
    rows, total = file.rows(CostCall(CostAxis.CLUSTER, START, START + HOUR), {})
    billed = {row.name: row.amounts.billed * 60 for row in rows}
    assert billed["shop"] == pytest.approx(2 * 0.80)
    assert billed["ml"] == pytest.approx(2 * 0.12)
    assert sum(billed.values()) == pytest.approx(3 * 1.72)
    assert total.billed * 60 == pytest.approx(3 * 1.72)
