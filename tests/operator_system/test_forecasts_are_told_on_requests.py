"""The shard tells when a Need is expected to be met: an Event on the first of its requests says so,
at most once in five minutes."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from bigfleet.kube.kinds import CAPACITY_REQUESTS
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply, NeedStanding
from bigfleet.model.forecasts import Forecast, ForecastPath, Reliability
from bigfleet.model.needs import NeedKey
from bigfleet.operator.driving.forecast_events import text_of
from tests.kube_api import FakeApiServer
from tests.operator_system.reports import ReportDesk
from tests.operator_system.rig import AttentiveShard, JumpingClock, Rig, operating

TIMED = Forecast(
    NeedKey("shop", "", ""),
    7,
    0,
    ForecastPath.CREATE,
    "3 machines to create",
    360.0,
    660.0,
    900.0,
    of_kind=Reliability("create", 212, 0.5, 0.79, 0.95),
)
UNTIMED = Forecast(
    NeedKey("shop", "", ""), 7, 0, ForecastPath.CAPACITY_NEEDED, "lacks cpu 1: no machine fits"
)


@dataclass
class ForecastingDesk(ReportDesk):
    forecast: Forecast = TIMED
    needs: list[NeedKey] = field(default_factory=list)

    async def report_cluster(self, report: ClusterReport) -> ClusterReportReply:
        self.taken.append(report)
        standings = tuple(
            NeedStanding(need.fingerprint, need.group, False, forecast=self.forecast)
            for need in self.needs
        )
        return ClusterReportReply(standings, 7, 1, len(standings))


def request(name: str, cpu: str = "1") -> dict[str, Any]:
    spec = {"priority": 0, "resources": {"cpu": cpu}}
    return {"metadata": {"name": name, "namespace": "team"}, "spec": spec}


def needs_of(rig: Rig) -> list[NeedKey]:
    return sorted({need.key for need in rig.operator.cluster_cache.book.needs()})


def test_a_sentence_tells_the_times_or_what_is_waited_for() -> None:
    assert text_of(TIMED) == (
        "capacity is expected in p50 6 min, p80 11 min (3 machines to create); "
        "forecasts of this kind: 79 % by p80 (n=212)"
    )
    assert text_of(UNTIMED) == ("when capacity comes cannot be told: lacks cpu 1: no machine fits")


async def test_the_first_request_of_a_need_gets_one_event_in_five_minutes(tmp_path: Path) -> None:
    clock, shard, desk = JumpingClock(), AttentiveShard(), ForecastingDesk()
    async with FakeApiServer(clock) as server:
        for name in ("web-2", "web-1", "web-3"):
            server.put(CAPACITY_REQUESTS, request(name))
        async with operating(tmp_path, server, clock, shard, desk=desk) as rig:
            await rig.until(lambda: needs_of(rig))
            desk.needs = needs_of(rig)
            await rig.until(lambda: rig.events("Forecast"))
            began = clock.now()
            (event,) = rig.events("Forecast")
            assert event["involvedObject"]["name"] == "web-1"
            assert "p50 6 min, p80 11 min" in event["message"]
            desk.forecast = replace(TIMED, p80=500.0)
            await rig.until(lambda: len(rig.events("Forecast")) > 1)
            assert clock.now() - began >= 290 * 10**9
            assert all(each["involvedObject"]["name"] == "web-1" for each in rig.events("Forecast"))


@pytest.mark.parametrize("forecast", [TIMED, UNTIMED], ids=["a time", "no time"])
async def test_each_need_is_told_of(tmp_path: Path, forecast: Forecast) -> None:
    clock, shard, desk = JumpingClock(), AttentiveShard(), ForecastingDesk(forecast=forecast)
    async with FakeApiServer(clock) as server:
        server.put(CAPACITY_REQUESTS, request("web"))
        other = request("batch")
        other["spec"]["priority"] = 5
        server.put(CAPACITY_REQUESTS, other)
        async with operating(tmp_path, server, clock, shard, desk=desk) as rig:
            await rig.until(lambda: len(needs_of(rig)) == 2)
            desk.needs = needs_of(rig)
            await rig.until(lambda: len(rig.events("Forecast")) >= 2)
            told = {event["involvedObject"]["name"] for event in rig.events("Forecast")}
            assert told == {"web", "batch"}
            assert all(forecast.basis in event["message"] for event in rig.events("Forecast"))
