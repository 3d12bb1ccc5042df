"""Forecasts on the page: a row's ETA with its sentence, and the share of all that was kept."""

import pytest

from bigfleet.model.forecasts import Reliability
from bigfleet.model.watch_events import ShardOverview
from bigfleet.web.live.overview import FleetSeen, overview_of
from bigfleet.wire.forecasts import FORECAST
from bigfleet.wire.need_documents import eta_document
from tests.wire import figures_answer, forecast_answer, watch_answers


def calibration_of(*kept: Reliability | None) -> float | None:
    shards = {
        f"shard-{number}": ShardOverview(
            *(watch_answers.STATUS, (), (), figures_answer.FIGURES, 0, (), ()), calibration=each
        )
        for number, each in enumerate(kept)
    }
    told = overview_of(FleetSeen(shards))["calibration"]
    assert told is None or isinstance(told, float)
    return told


def test_the_share_is_that_of_all_forecasts_that_have_ended() -> None:
    told = calibration_of(Reliability("all", 300, 0.5, 0.8, 0.9), Reliability("all", 100, 0, 0.4))
    assert told == pytest.approx(0.7)


@pytest.mark.parametrize("kept", [None, Reliability("all", 49, 1, 1, 1)], ids=["older", "few"])
def test_of_few_forecasts_nothing_is_said(kept: Reliability | None) -> None:
    assert calibration_of(kept) is None


def test_a_row_has_its_times_and_its_sentence() -> None:
    told = eta_document(FORECAST.message(forecast_answer.TIMED))
    assert (told["path"], told["p50"], told["p80"]) == ("create", 0.0, 660.5)
    assert told["sentence"].startswith("p50 0 s, p80 11 min (3 machines to create)")


def test_a_row_without_a_time_says_what_it_waits_for() -> None:
    told = eta_document(FORECAST.message(forecast_answer.UNTIMED))
    assert told["sentence"] == "none: lacks cpu 24: no machine"
    assert "p50" not in told
