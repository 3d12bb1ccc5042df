"""What is learnt: the newest durations of every offering, and how the last forecasts ended."""

import numpy as np
import pytest

from bigfleet.forecast.calibration import MOST_OPEN, MOST_OUTCOMES, Calibration
from bigfleet.forecast.durations import (
    LEAST_SEEN,
    MOST_KEPT,
    MOST_SERIES,
    Durations,
    Step,
    assumed,
)
from bigfleet.model.forecasts import (
    ALL,
    Forecast,
    ForecastPath,
    Reliability,
    rough_text,
    time_in_words,
)
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND

A, B, SPOT = "sim/std-8/a/OnDemand", "sim/std-8/b/OnDemand", "sim/std-8/a/Spot"
DAY = 86_400 * SECOND


def seen(offering: str, seconds: float, times: int, at: int = 0) -> Durations:
    durations = Durations()
    for _ in range(times):
        durations.add(offering, Step.CREATE, seconds, at)
    return durations


def test_the_newest_durations_of_an_offering_are_kept() -> None:
    durations = seen(A, 10, MOST_KEPT)
    for _ in range(MOST_KEPT):
        durations.add(A, Step.CREATE, 50, 1)
    assert len(durations) == MOST_KEPT
    assert durations.of(A, Step.CREATE, 1).median == 50


def test_offerings_that_were_not_seen_for_long_are_forgotten() -> None:
    durations = Durations()
    for number in range(MOST_SERIES + 10):
        durations.add(f"sim/t-{number}/a/Spot", Step.CREATE, 1, 0)
        durations.count_order(f"sim/t-{number}/a/Spot", refused=False)
    assert durations.series == MOST_SERIES


def test_older_durations_count_less() -> None:
    durations = seen(A, 10, 30)
    for _ in range(20):
        durations.add(A, Step.CREATE, 60, 21 * DAY)
    assert durations.of(A, Step.CREATE, 21 * DAY).median == 60


def test_an_offering_with_few_durations_borrows_from_its_capacity_type() -> None:
    durations = seen(A, 10, LEAST_SEEN)
    assert durations.of(B, Step.CREATE, 0).median == 10
    assert durations.of(SPOT, Step.CREATE, 0).samples == 0


def test_without_durations_they_are_assumed() -> None:
    assert assumed(Step.CREATE, "Spot").median == pytest.approx(30)
    assert assumed(Step.CONFIGURE, "BareMetal").median > 100


@pytest.mark.parametrize("elapsed", [0.0, 5.0, 40.0, 1000.0])
def test_what_is_left_of_a_step_is_never_negative(elapsed: float) -> None:
    chance = np.random.default_rng(1)
    left = seen(A, 30, 50).of(A, Step.CREATE, 0).remaining(chance, 500, elapsed)
    assert (left >= 0).all()
    if elapsed < 30:
        assert np.median(left) == pytest.approx(30 - elapsed, rel=0.1)


def test_orders_without_stock_are_a_share_of_all() -> None:
    durations = Durations()
    for number in range(40):
        durations.count_order(A, refused=number % 4 == 0)
    assert durations.refused_share(A) == pytest.approx(0.25)
    assert durations.refused_share(B) == 0


# -- calibration -----------------------------------------------------------------------------------


def forecast(p50: float = 10, p80: float = 20, p95: float = 40) -> Forecast:
    need = NeedKey("shop", "f", "g")
    return Forecast(need, 1, 0, ForecastPath.CREATE, "because", p50, p80, p95)


@pytest.mark.parametrize(
    ("after", "kept"),
    [(5, (1, 1, 1)), (15, (0, 1, 1)), (30, (0, 0, 1)), (50, (0, 0, 0))],
    ids=["early", "by p80", "by p95", "late"],
)
def test_a_need_that_is_met_is_judged_by_each_quantile(
    after: int, kept: tuple[float, float, float]
) -> None:
    calibration = Calibration()
    calibration.begin(1, forecast(), {"cpu": 8})
    calibration.met(1, after * SECOND)
    assert calibration.reliability() == (
        Reliability(ALL, 1, *kept),
        Reliability("create", 1, *kept),
    )


def test_a_need_that_goes_away_missed_what_had_passed_and_says_nothing_of_the_rest() -> None:
    calibration = Calibration()
    for need, gone in ((1, 5), (2, 15)):
        calibration.begin(need, forecast(), {"cpu": 8})
        calibration.withdrawn(need, gone * SECOND)
    assert calibration.reliability()[0] == Reliability(ALL, 1, 0, None, None)
    assert not calibration.open_needs()


def test_a_need_that_asks_for_more_is_another_question() -> None:
    calibration = Calibration()
    calibration.begin(1, forecast(), {"cpu": 8})
    assert not calibration.changed(1, {"cpu": 4})
    assert calibration.changed(1, {"cpu": 8, "gpu": 1})
    calibration.met(1, SECOND)
    assert calibration.reliability() == (Reliability(ALL, 0),)


def test_only_the_first_forecast_of_a_need_is_judged() -> None:
    calibration = Calibration()
    calibration.begin(1, forecast(), {"cpu": 8})
    calibration.begin(1, forecast(100, 200, 400), {"cpu": 8})
    calibration.met(1, 50 * SECOND)
    assert calibration.reliability()[0].by_p95 == 0


def test_a_forecast_without_a_time_is_not_judged() -> None:
    calibration = Calibration()
    untimed = Forecast(NeedKey("shop", "f", ""), 1, 0, ForecastPath.HELD, "paused")
    calibration.begin(1, untimed, {})
    assert not calibration.is_open(1)


def test_open_forecasts_and_outcomes_are_bounded() -> None:
    calibration = Calibration()
    for need in range(MOST_OPEN + 5):
        calibration.begin(need, forecast(), {})
    assert len(calibration) == MOST_OPEN
    assert calibration.overdue(41 * SECOND) == MOST_OPEN
    for need in range(MOST_OUTCOMES + 5):
        calibration.met(need, 0)
    assert len(calibration.outcomes) == MOST_OUTCOMES


@pytest.mark.parametrize(
    ("reliability", "poor"),
    [
        (Reliability("create", 49, 0.1, 0.2, 0.3), False),
        (Reliability("create", 50, 0.5, 0.69, 0.95), True),
        (Reliability("create", 50, 0.45, 0.75, 0.9), False),
        (Reliability("create", 50, 0.61, None, None), True),
    ],
    ids=["too few", "p80 off", "good", "p50 off"],
)
def test_a_kind_is_poorly_calibrated_from_fifty_outcomes_and_ten_points_on(
    reliability: Reliability, poor: bool
) -> None:
    assert reliability.is_poor is poor
    assert ("poorly calibrated" in reliability.in_full) is poor


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(7.6, "8s"), (201, "3m20s"), (3590, "1h"), (7800, "2h10m"), (0.2, "0s")],
)
def test_times_are_told_as_finely_as_they_are_known(seconds: float, text: str) -> None:
    assert rough_text(seconds) == text


def test_a_sentence_names_both_times_their_basis_and_how_good_such_forecasts_were() -> None:
    told = Forecast(
        NeedKey("shop", "f", "g"),
        1,
        0,
        ForecastPath.CREATE,
        "3 machines to create",
        360,
        660,
        900,
        of_kind=Reliability("create", 212, 0.5, 0.79, 0.95),
    )
    assert told.sentence == (
        "p50 6 min, p80 11 min (3 machines to create); forecasts of this kind: 79 % by p80 (n=212)"
    )
    assert time_in_words(7800) == "2 h 10 min"
