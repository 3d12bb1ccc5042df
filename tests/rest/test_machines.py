"""Machines: filters, pages, one of them, its story."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.web import further_schemas as shapes
from bigfleet.web.schemas import problems_in
from tests.rest.living_fleet import LivingFleet


def every_page(fleet: LivingFleet, asked: str) -> list[str]:
    """Ids of all machines, in the order in which pages tell them."""
    seen: list[str] = []
    after = ""
    while True:
        page = fleet.get(f"/machines?{asked}&after={quote(after)}")
        assert problems_in(page, shapes.Machines) == ""
        assert page["total"] == fleet.local.machines
        seen += [row["id"] for row in page["machines"]]
        if "next" not in page:
            return seen
        after = page["next"]


def test_machines_come_by_id_in_pages_that_leave_none_out(fleet: LivingFleet) -> None:
    seen = every_page(fleet, "limit=70")
    assert seen == sorted(set(seen))
    assert len(seen) == fleet.local.machines


@pytest.mark.parametrize(
    ("terms", "field", "value"),
    [
        ("state=Speculative", "state", "MACHINE_STATE_SPECULATIVE"),
        ("capacity=OnDemand", "capacityType", "CAPACITY_TYPE_ON_DEMAND"),
        ("capacity=on-demand zone=a", "zone", "a"),
        ("cluster=shop", "cluster", "shop"),
    ],
    ids=["state", "capacity", "two terms", "cluster"],
)
def test_a_filter_is_the_selector_of_the_command_line(
    fleet: LivingFleet, terms: str, field: str, value: str
) -> None:
    zones = fleet.get("/costs?by=zone")["rows"]
    value = sorted(row["name"] for row in zones)[0] if field == "zone" else value
    terms = terms.replace("zone=a", f"zone={value}")
    page = fleet.get(f"/machines?filter={terms.replace(' ', '%20')}&limit=5")
    assert page["machines"]
    assert {row["machine"][field] for row in page["machines"]} == {value}


def test_a_bad_filter_says_what_to_write(fleet: LivingFleet) -> None:
    found = fleet.get("/machines?filter=stat=idle", 400)
    assert found["field"] == "filter"
    assert "state=" in found["error"]
    assert "did you mean idle" in fleet.get("/machines?filter=state=idel", 400)["error"]


def test_a_huge_page_is_cut_and_said_to_be(fleet: LivingFleet) -> None:
    found = fleet.get("/machines?limit=1000000")
    assert (found["clamped"], found["limit"]) == (True, 2_000)


def test_a_machine_has_its_cost_and_its_need(fleet: LivingFleet) -> None:
    (row,) = fleet.get("/machines?filter=state=configured&limit=1")["machines"]
    found = fleet.get(f"/machines/{row['id']}")
    assert problems_in(found, shapes.MachineDetail) == ""
    assert found["hourlyCost"] == found["machine"]["pricePerHour"]
    assert found["shardId"] == "shard-0"


def test_an_unknown_machine_is_told_with_the_nearest_names(fleet: LivingFleet) -> None:
    (row,) = fleet.get("/machines?limit=1")["machines"]
    found = fleet.get(f"/machines/{row['id']}x", 404)
    assert found["error"] == f"no machine {row['id']}x"
    assert row["id"] in found["remedy"]
    assert fleet.get("/machines/%00%3Cimg%3E", 404)["error"] == "no machine \x00<img>"


def test_a_story_tells_what_touched_a_machine(fleet: LivingFleet) -> None:
    (row,) = fleet.get("/machines?filter=state=configured&limit=1")["machines"]
    found = fleet.get(f"/machines/{row['id']}/story")
    assert problems_in(found, shapes.MachineStoryShape) == ""
    assert found["events"]
    assert found["shards"] == ["shard-0"]
    assert fleet.get("/machines/absent/story", 404)["error"] == "no machine absent"


def test_a_shard_that_is_down_is_named_and_the_others_answer(fleet: LivingFleet) -> None:
    found = fleet.get("/machines?limit=1", port=fleet.partial_port)
    assert len(found["machines"]) == 1
    assert found["warnings"][0].startswith("shard-9 gave no answer")
    alone = fleet.get("/machines?limit=1&shard=shard-9", 502, fleet.partial_port)
    assert alone["error"].startswith("shard shard-9: ")


def test_an_id_may_hold_slashes(fleet: LivingFleet) -> None:
    assert fleet.get("/machines/rack%2F7%20a", 404)["error"] == "no machine rack/7 a"
    assert fleet.get("/machines/rack%2F7%20a/story", 404)["error"] == "no machine rack/7 a"


NUMBER_OF_STATE = {f"MACHINE_STATE_{each.name}": int(each) for each in MachineState}
IN_ORDER: dict[str, Callable[[dict[str, Any]], Any]] = {
    "name": lambda row: "",
    "state": lambda row: NUMBER_OF_STATE[row["machine"]["state"]],
    "cluster": lambda row: row["machine"]["cluster"],
    "type": lambda row: row["machine"]["instanceType"],
    "zone": lambda row: row["machine"]["zone"],
    "price": lambda row: row["hourlyCost"],
    "since": lambda row: row["sinceUnixNanos"],
}


@pytest.mark.parametrize("sign", ["", "-"], ids=["ascending", "descending"])
@pytest.mark.parametrize("key", IN_ORDER)
def test_machines_come_in_the_order_that_is_asked_for(
    fleet: LivingFleet, key: str, sign: str
) -> None:
    page = fleet.get(f"/machines?sort={sign}{key}&limit=2000&filter=capacity=reserved,spot")
    found = [(IN_ORDER[key](row), row["id"]) for row in page["machines"]]
    assert len(found) == page["total"] > 20
    # The fleet lives: a machine may have changed after it was placed.
    out_of_order = sum(a > b for a, b in pairwise(reversed(found) if sign else found))
    assert out_of_order <= (4 if key in ("state", "cluster", "since") else 0)


@pytest.mark.parametrize("sort", ["-price", "zone", "type", "-name"])
def test_pages_in_any_order_leave_none_out(fleet: LivingFleet, sort: str) -> None:
    seen = every_page(fleet, f"sort={sort}&limit=300")
    assert len(seen) == len(set(seen)) == fleet.local.machines


def test_an_order_that_does_not_exist_is_told_with_the_nearest(fleet: LivingFleet) -> None:
    found = fleet.get("/machines?sort=-pric", 400)
    assert found["field"] == "sort"
    assert "'-pric' is not one of name, state" in found["error"]
    assert found["remedy"] == "nearest is price"


def test_a_page_cannot_begin_at_what_no_page_ended_with(fleet: LivingFleet) -> None:
    assert fleet.get("/machines?sort=price&after=od-1", 400)["field"] == "after"
    place = quote('["dear","od-1"]')
    assert "'dear' is not a price" in fleet.get(f"/machines?sort=price&after={place}", 400)["error"]
