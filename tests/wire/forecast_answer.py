"""Forecasts as a scripted shard tells them, every field with a value of its own."""

from bigfleet.model.forecasts import (
    Forecast,
    ForecastPath,
    ForecastReport,
    ForecastStep,
    Reliability,
)
from bigfleet.model.needs import NeedKey

KEPT = Reliability("create", 212, 0.52, 0.79, 0.0)
TIMED = Forecast(
    NeedKey("shop", "p=1|x", "train"),
    18,
    19,
    ForecastPath.CREATE,
    "3 machines to create",
    0.0,
    660.5,
    900.0,
    (ForecastStep("create", 3, "sim/std-8/a/OnDemand", 40.5, 12),),
    KEPT,
)
UNTIMED = Forecast(
    NeedKey("ml", "p=1|y", ""), 18, 19, ForecastPath.CAPACITY_NEEDED, "lacks cpu 24: no machine"
)
REPORT = ForecastReport(20, 21, (TIMED, UNTIMED), 2, (Reliability("all", 213), KEPT), 4, 1, 77)
