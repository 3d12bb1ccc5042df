"""Forecasts and how good they have been, as messages and back."""

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.forecasts import (
    Forecast,
    ForecastCall,
    ForecastReport,
    ForecastStep,
    Reliability,
)
from bigfleet.wire.machine_views import NEED_KEY
from bigfleet.wire.record_codecs import Conversion, Derived, RecordCodec

#: Zero seconds, and a share of none, are told; what is not known is absent.
_TOLD = Conversion(read=float)
RELIABILITY = RecordCodec(
    Reliability,
    pb.Reliability,
    Derived("poorly_calibrated", "is_poor"),
    by_p50=_TOLD,
    by_p80=_TOLD,
    by_p95=_TOLD,
)
FORECAST_STEP = RecordCodec(ForecastStep, pb.ForecastStep)
FORECAST = RecordCodec(
    Forecast,
    pb.Forecast,
    need=NEED_KEY,
    p50=_TOLD,
    p80=_TOLD,
    p95=_TOLD,
    steps=FORECAST_STEP,
    of_kind=RELIABILITY,
)
FORECAST_CALL = RecordCodec(ForecastCall, pb.GetForecastsRequest)
FORECASTS = RecordCodec(
    ForecastReport,
    pb.GetForecastsResponse,
    forecasts=FORECAST,
    reliability=RELIABILITY,
)
