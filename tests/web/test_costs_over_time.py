"""Which names of an axis have a series of costs, and what it says where nothing was billed."""

from dataclasses import replace

from bigfleet.model.figures import OTHERS, CostAxis, ShardFigures, SpendingRow
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.web.live.cost_series import MOST_NAMES, CostSeries
from bigfleet.web.live.rings import Rings
from tests.wire.figures_answer import FIGURES

T0 = 1_700_000_040


def billed(**dollars: float) -> list[ShardFigures]:
    rows = tuple(
        SpendingRow(
            CostAxis.CLUSTER,
            name,
            MachineState.CONFIGURED,
            CapacityType.SPOT,
            machines=1,
            unpriced=0,
            dollars_per_hour=amount,
            expected_interruption_per_hour=0.0,
            pinned=0,
        )
        for name, amount in dollars.items()
    )
    return [replace(FIGURES, spending=rows)]


def test_a_name_that_was_billed_once_keeps_its_series() -> None:
    series = CostSeries()
    assert series.values(billed(shop=2.0, ml=0.0)) == {"cost/cluster/shop": 2.0}
    assert series.values(billed(ml=1.0)) == {"cost/cluster/shop": 0.0, "cost/cluster/ml": 1.0}


def test_names_beyond_those_that_are_kept_are_summed_up() -> None:
    series = CostSeries()
    many = {f"c-{n:02}": 1.0 + n for n in range(MOST_NAMES + 2)}
    values = series.values(billed(**many))
    assert len(values) == MOST_NAMES + 1
    assert values[f"cost/cluster/{OTHERS}"] == 1.0 + 2.0
    assert sum(values.values()) == sum(many.values())


def test_a_cluster_called_other_is_counted_once() -> None:
    values = CostSeries().values(billed(other=2.0, shop=1.0))
    assert values == {"cost/cluster/other": 2.0, "cost/cluster/shop": 1.0}


def test_before_its_first_bill_a_name_cost_nothing_and_a_gap_stays_a_gap() -> None:
    rings = Rings()
    rings.put(T0, {"dollarsPerHour": 1.0, "cost/cluster/shop": 1.0})
    rings.put(T0 + 2, {"dollarsPerHour": 3.0, "cost/cluster/shop": 1.0, "cost/cluster/ml": 2.0})
    found = rings.costs("cluster", 3, 1, T0 + 2)
    assert found.timestamps == [T0, T0 + 1, T0 + 2]
    assert found.total == [1.0, None, 3.0]
    assert found.by_name == {"shop": [1.0, None, 1.0], "ml": [0.0, None, 2.0]}
    assert rings.costs("zone", 3, 1, None).by_name == {}


def test_an_hour_of_yesterday_is_told_by_minutes() -> None:
    rings = Rings()
    for second in range(0, 3 * 3600, 10):
        rings.put(T0 + second, {"dollarsPerHour": 1.0 if second < 3600 else 3.0})
    found = rings.costs("cluster", 1800, 1, T0 + 3000)
    assert found.step == 60
    assert set(found.total) == {1.0}
