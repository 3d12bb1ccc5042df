"""What `up` alone has, and what is measured: asked of a living fleet as any client does."""

import httpx2
import pytest

from bigfleet.web.further_schemas import HistoryShape
from bigfleet.web.scenario_schemas import DemandRow, DoneShape, ScenarioShape
from bigfleet.web.schemas import problems_in
from tests.rest.living_fleet import PATIENCE_SECONDS, LivingFleet


def test_the_scenario_is_one_object_of_its_shape(fleet: LivingFleet) -> None:
    told = fleet.get("/scenario")
    assert problems_in(told, ScenarioShape) == ""
    assert told["clock"]["speed"] == 10
    same = fleet.post("/scenario", {"do": "present"})
    assert problems_in(same, ScenarioShape) == ""


def test_a_fault_begins_and_is_ended(fleet: LivingFleet) -> None:
    begun = fleet.post("/scenario/do", {"do": "rpc-delay", "delay": 0.1, "seconds": 600})
    assert problems_in(begun, DoneShape) == ""
    ended = fleet.post("/scenario/do", {"end": begun["number"]})
    assert ended == {"ended": begun["number"]}
    refused = fleet.post("/scenario/do", {"do": "meteor"}, 400)
    assert "'meteor' cannot be done here" in refused["error"]


def test_the_demand_of_a_class_of_work_is_set(fleet: LivingFleet) -> None:
    row = fleet.post("/demand", {"cluster": "shop", "class": "web", "factor": 1.0})
    assert problems_in(row, DemandRow) == ""
    assert (row["cluster"], row["class"], row["factor"]) == ("shop", "web", 1.0)
    refused = fleet.post("/demand", {"cluster": "shop", "class": "wob", "factor": 1}, 400)
    assert "there are shop/critical, shop/web" in refused["error"]


@pytest.mark.parametrize("speed", [0, 61, "fast", True, None], ids=str)
def test_a_speed_that_cannot_be_is_refused(fleet: LivingFleet, speed: object) -> None:
    refused = fleet.post("/scenario/do", {"do": "speed", "speed": speed}, 400)
    assert "speed: write a number from 0.1 to 60" in refused["error"]


def test_what_was_measured_has_its_shape(fleet: LivingFleet) -> None:
    told = fleet.get("/fleet/history?duration=5m&step=10s")
    assert problems_in(told, HistoryShape) == ""
    assert fleet.get("/fleet/history?duration=soon") == fleet.get("/fleet/history?duration=1h")


def test_the_map_says_which_grouping_it_does_not_know(fleet: LivingFleet) -> None:
    url = f"{fleet.url}/api/v1/fleet/map"
    found = httpx2.get(url, params={"by": "cluster"}, timeout=PATIENCE_SECONDS)
    assert found.status_code == 200
    assert found.headers["content-type"] == "application/octet-stream"
    assert fleet.get("/fleet/map?by=colour", 400)["field"] == "by"
    assert fleet.get("/fleet/map?at=soon", 400)["field"] == "at"
