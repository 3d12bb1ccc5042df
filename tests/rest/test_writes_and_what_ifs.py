"""What a person changes from the page, and what a what-if asks without changing anything."""

from typing import Any

import httpx2
import pytest

from bigfleet.web import further_schemas as shapes
from bigfleet.web.schemas import problems_in
from tests.rest.living_fleet import LivingFleet

ADA: dict[str, Any] = {"owner": "ada", "reason": "a drill"}


def test_a_pause_says_who_why_and_until_when_and_is_lifted(fleet: LivingFleet) -> None:
    made = fleet.post("/pause", {**ADA, "ttlSeconds": 300, "clusterIds": ["absent"]})
    assert problems_in(made, shapes.PausedShape) == ""
    pause_id = made["pause"]["pauseId"]
    listed = {each["pauseId"]: each for each in fleet.get("/pauses")["pauses"]}
    assert listed[pause_id]["coordinator"] is True
    assert listed[pause_id]["shardIds"] == ["shard-0"]
    assert listed[pause_id]["audit"] == ADA
    lifted = fleet.post("/resume", {**ADA, "pauseId": pause_id})
    assert problems_in(lifted, shapes.ResumedShape) == ""
    assert [each["pauseId"] for each in lifted["removed"]] == [pause_id]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/pause", {"reason": "x", "ttlSeconds": 1}, "owner"),
        ("/pause", {**ADA}, "ttlSeconds"),
        ("/pause", {**ADA, "ttlSeconds": 1, "noExpiry": True}, "ttlSeconds"),
        ("/pause", {**ADA, "ttlSeconds": 10**9}, "ttlSeconds"),
        ("/pause", {**ADA, "ttlSeconds": 1, "kinds": ["Buy"]}, "kinds"),
        ("/pause", {"owner": " ", "reason": "x", "ttlSeconds": 1}, "owner"),
        ("/resume", {**ADA}, "pauseId"),
        ("/resume", {**ADA, "pauseId": "p", "everything": True}, "pauseId"),
        ("/machines/m/clear", {**ADA, "mode": "burn"}, "mode"),
        ("/offerings/reset", {**ADA}, "offering"),
        ("/whatif", {}, "edits"),
        ("/whatif", {"edits": [{"zone-los": "b"}]}, "edits"),
        ("/whatif", {"edits": [], "latencies": {"create": "40s"}}, "latencies"),
        ("/whatif", {"edits": [], "settle": True, "latencies": {"fly": "40s"}}, "edits"),
    ],
)
def test_a_bad_request_names_its_field(
    fleet: LivingFleet, path: str, body: dict[str, Any], field: str
) -> None:
    found = fleet.post(path, body, 400)
    assert found["error"]
    assert found.get("field", "") == field


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/resume", {**ADA, "pauseId": "p-absent"}, 404),
        ("/pause", {**ADA, "ttlSeconds": 1, "shardIds": ["shard-7"]}, 404),
        ("/machines/absent/clear", {**ADA, "mode": "retry"}, 404),
        ("/offerings/reset", {**ADA, "offering": "sim/std-8/a/Spot"}, 404),
        ("/whatif", {"edits": [], "shard": "shard-7"}, 404),
        ("/whatif", {"edits": [], "at": "99999999"}, 404),
    ],
)
def test_what_is_not_there_cannot_be_changed(
    fleet: LivingFleet, path: str, body: dict[str, Any], status: int
) -> None:
    assert fleet.post(path, body, status)["error"]


def test_a_machine_that_has_not_failed_is_not_cleared(fleet: LivingFleet) -> None:
    (row,) = fleet.get("/machines?filter=state=configured&limit=1")["machines"]
    found = fleet.post(f"/machines/{row['id']}/clear", {**ADA, "mode": "retry"}, 409)
    assert row["id"] in found["error"]


def test_a_body_that_is_not_json_is_refused(fleet: LivingFleet) -> None:
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000):
        answer = httpx2.post(
            f"{fleet.url}/api/v1/pause", content=content, headers={"X-BigFleet": "1"}, timeout=60
        )
        assert answer.status_code == 400, answer.text


def test_a_write_without_our_header_is_refused(fleet: LivingFleet) -> None:
    answer = httpx2.post(f"{fleet.url}/api/v1/pause", json={**ADA, "ttlSeconds": 60}, timeout=60)
    assert answer.status_code == 403


def test_a_what_if_decides_both_sides_and_changes_nothing(fleet: LivingFleet) -> None:
    before = fleet.get("/fleet/overview")["machines"]
    zone = sorted(row["name"] for row in fleet.get("/costs?by=zone")["rows"])[0]
    found = fleet.post("/whatif", {"edits": [{"zone-loss": zone}, "demand cluster=shop x1.5"]})
    assert problems_in(found, shapes.WhatIfShape) == ""
    assert found["removedMachines"] > 0
    assert len(found["overlay"]) == 2
    assert fleet.get("/fleet/overview")["machines"] == before


def test_the_empty_what_if_changes_nothing_at_all(fleet: LivingFleet) -> None:
    found = fleet.post("/whatif", {"edits": []})
    assert found["base"] == found["changed"]
