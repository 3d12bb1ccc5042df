"""The ledger on disk: hours that are added up, restarts, unobserved hours, what is forgotten."""

from pathlib import Path

import numpy as np
import pytest

from bigfleet.costs.meter import HOUR, ChargeKey, Hour, OfferingHour
from bigfleet.edge.sqlite_files import FileRefused
from bigfleet.model.costs import AMOUNTS, SHARED, Amounts, CostCall
from bigfleet.model.figures import OTHERS, CostAxis
from bigfleet.shard import cost_file
from bigfleet.shard.cost_file import CostFile

START = 500_000 * HOUR
SHOP = ChargeKey("shop", "m5", "a", "Spot", "100")
ML = ChargeKey("ml", "gpu", "b", "OnDemand", "5")


def hour_of(*charges: tuple[ChargeKey, float], seconds: float = 3600.0) -> Hour:
    hour = Hour(observed_seconds=seconds)
    for key, billed in charges:
        values = np.zeros(len(AMOUNTS))
        values[AMOUNTS.index("machines")] = 1.0
        values[AMOUNTS.index("billed")] = billed
        hour.charges.add(hour.charges.rows_of([key]), values[None])
        hour.needs.add(hour.needs.rows_of([f"need/{key.cluster}/n1"]), values[None])
    return hour


def whole(by: CostAxis = CostAxis.CLUSTER) -> CostCall:
    return CostCall(by, START, START + 24 * HOUR)


def told(file: CostFile, by: CostAxis = CostAxis.CLUSTER) -> dict[str, float]:
    rows, total = file.rows(whole(by), {"shop": "retail"})
    assert sum(row.amounts.billed for row in rows) == pytest.approx(total.billed)
    return {row.name: row.amounts.billed for row in rows}


@pytest.fixture
def file(tmp_path: Path) -> CostFile:
    return CostFile(tmp_path / "costs.db")


def test_hours_are_told_by_every_axis(file: CostFile) -> None:
    file.add({START: hour_of((SHOP, 1.0), (ML, 2.0)), START + HOUR: hour_of((SHOP, 3.0))})
    assert told(file) == {"shop": 4.0, "ml": 2.0}
    assert told(file, CostAxis.TEAM) == {"retail": 4.0, "no team": 2.0}
    assert told(file, CostAxis.TYPE) == {"m5": 4.0, "gpu": 2.0}
    assert told(file, CostAxis.ZONE) == {"a": 4.0, "b": 2.0}
    assert told(file, CostAxis.CAPACITY) == {"Spot": 4.0, "OnDemand": 2.0}
    assert told(file, CostAxis.PRIORITY) == {"100": 4.0, "5": 2.0}
    assert told(file, CostAxis.NEED) == {"need/shop/n1": 4.0, "need/ml/n1": 2.0}


def test_an_hour_goes_on_after_a_restart(file: CostFile, tmp_path: Path) -> None:
    file.add({START: hour_of((SHOP, 1.0), seconds=600.0)})
    file.close()
    again = CostFile(tmp_path / "costs.db")
    again.add({START: hour_of((SHOP, 2.0), seconds=900.0)})
    assert told(again) == {"shop": 3.0}
    assert again.period(START, START + HOUR, START + 9 * HOUR).observed_seconds == 1500.0


def test_hours_without_observation_are_named(file: CostFile) -> None:
    file.add({START: hour_of((SHOP, 1.0)), START + 3 * HOUR: hour_of((SHOP, 1.0), seconds=60.0)})
    period = file.period(START, START + 24 * HOUR, START + 5 * HOUR + 1)
    assert period.unobserved == (START + HOUR, START + 2 * HOUR, START + 4 * HOUR, START + 5 * HOUR)
    assert (period.unobserved_count, period.partial_count) == (4, 1)
    assert (period.kept_since, period.observed_seconds) == (START, 3660.0)


def test_the_hour_that_is_running_is_not_called_partial(file: CostFile) -> None:
    file.add({START: hour_of((SHOP, 1.0), seconds=60.0)})
    assert file.period(START, START + HOUR, START + 60).partial_count == 0


def test_clusters_beyond_the_most_are_other_and_keep_their_type(
    file: CostFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_file, "MOST_CHARGES", 1)
    monkeypatch.setattr(cost_file, "MOST_NEEDS", 1)
    small = [(SHOP._replace(cluster=f"c{number}"), 0.5) for number in range(4)]
    file.add({START: hour_of((ML, 9.0), *small)})
    assert told(file) == {"ml": 9.0, OTHERS: 2.0}
    assert told(file, CostAxis.TYPE) == {"gpu": 9.0, "m5": 2.0}
    assert told(file, CostAxis.NEED) == {"need/ml/n1": 9.0, OTHERS: 2.0}
    assert told(file, CostAxis.TEAM) == {"no team": 9.0, OTHERS: 2.0}


def test_machines_that_no_cluster_has_are_no_team(file: CostFile) -> None:
    file.add({START: hour_of((SHOP._replace(cluster=SHARED), 1.0))})
    assert told(file, CostAxis.TEAM) == {SHARED: 1.0}


def test_old_hours_are_forgotten(file: CostFile) -> None:
    file.add({START: hour_of((SHOP, 1.0)), START + HOUR: hour_of((SHOP, 2.0))})
    file.forget_before(START + HOUR)
    assert told(file) == {"shop": 2.0}
    assert file.period(START, START + HOUR, START + HOUR).kept_since == START + HOUR


def test_a_price_and_interruptions_of_a_day_are_told(file: CostFile) -> None:
    hour = hour_of()
    hour.offerings["m5/a/Spot"] = OfferingHour(0.10, 0.12, 1.5, 2)
    later = hour_of()
    later.offerings["m5/a/Spot"] = OfferingHour(0.13, 0.14, 0.5, 1)
    only_lost = hour_of()
    only_lost.offerings["m5/b/Spot"] = OfferingHour(0.0, 0.0, 0.0, 1)
    file.add({START: hour, START + HOUR: later, START + 2 * HOUR: only_lost})
    day = file.days(START + 3 * HOUR)["m5/a/Spot"]
    assert (day.lowest_price, day.highest_price) == (0.10, 0.14)
    assert (day.expected_interruptions, day.interruptions) == (2.0, 3)
    assert file.days(START + 3 * HOUR)["m5/b/Spot"].interruptions == 1
    assert file.days(START + 24 * HOUR)["m5/a/Spot"].lowest_price == 0.13


def test_charges_are_each_hour_by_cluster_type_zone_and_capacity(file: CostFile) -> None:
    other = SHOP._replace(priority="7")
    file.add({START: hour_of((SHOP, 1.0), (other, 2.0), (ML, 4.0))})
    found = {(c.cluster, c.instance_type): c.amounts for c in file.charges(START, START + HOUR)}
    assert found["shop", "m5"] == Amounts(machines=2.0, billed=3.0)
    assert found["ml", "gpu"].billed == 4.0


def test_more_charges_than_an_answer_holds_are_refused(
    file: CostFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_file, "MOST_TOLD_CHARGES", 1)
    file.add({START: hour_of((SHOP, 1.0), (ML, 4.0))})
    with pytest.raises(ValueError, match="ask for fewer hours"):
        file.charges(START, START + HOUR)


def test_a_file_of_another_program_is_refused_and_left(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    path.write_text("dear diary, today I spent nothing at all\n" * 200)
    with pytest.raises(FileRefused):
        CostFile(path)
    assert path.read_text().startswith("dear diary")
