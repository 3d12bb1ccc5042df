"""What is downloaded (tables for spreadsheets, the fleet file), costs over time, and sweeps."""

import csv
from io import StringIO

import httpx2
import pytest

from bigfleet.fleetfile import load_fleet
from bigfleet.web import further_schemas as shapes
from bigfleet.web.csv_answers import cell
from bigfleet.web.schemas import problems_in
from bigfleet.whatif.sweep_axes import MOST_POINTS
from tests.rest.living_fleet import PATIENCE_SECONDS, LivingFleet


def downloaded(fleet: LivingFleet, path: str, port: int = 0, **headers: str) -> httpx2.Response:
    url = f"http://127.0.0.1:{port or fleet.port}/api/v1{path}"
    return httpx2.get(url, headers=headers, timeout=PATIENCE_SECONDS)


def rows_of(answer: httpx2.Response) -> list[list[str]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"].startswith("attachment; filename=")
    return list(csv.reader(StringIO(answer.text)))


def test_costs_are_a_table_for_spreadsheets(fleet: LivingFleet) -> None:
    [kept] = fleet.get("/status")["journal"].values()
    # Of one cycle: the last one is another a moment later.
    at = f"{kept['epoch']}:{(kept['firstCycle'] + kept['lastCycle']) // 2}"
    head, *rows = rows_of(downloaded(fleet, f"/costs?by=zone&at={at}&format=csv"))
    told = fleet.get(f"/costs?by=zone&at={at}")
    assert head[:4] == ["zone", "machines", "committedMachines", "dollarsPerHour"]
    assert [row[0] for row in rows] == [row["name"] for row in told["rows"]]
    assert sum(int(row[1]) for row in rows) == told["totals"]["machines"] > 0


def test_statements_are_a_table_for_spreadsheets(fleet: LivingFleet) -> None:
    head, *rows = rows_of(downloaded(fleet, "/invoices?format=csv"))
    assert head[:4] == ["statement", "completed", "kind", "machine"]
    assert {len(row) for row in rows} <= {len(head)}
    shown = fleet.get("/invoices?limit=2000")["statements"]
    assert {each["id"] for each in shown} >= {row[0] for row in rows[-5:]}


def test_months_of_statements_are_a_table_too(fleet: LivingFleet) -> None:
    path = "/invoices?format=csv&table=months&by=team&teams=shop=retail,batch=%3Draw"
    head, *rows = rows_of(downloaded(fleet, path))
    amounts = ["causedDollars", "borneDollars", "netDollars", "ownDollars"]
    assert head == ["month", "team", *amounts, "count", "pinned", "unknown"]
    assert {row[1] for row in rows} <= {"", "retail", "'=raw", "no team"}
    assert fleet.get("/invoices?table=years", 400)["field"] == "table"


def test_huge_limits_of_statements_are_cut_and_said_so(fleet: LivingFleet) -> None:
    found = fleet.get("/invoices?limit=999999999")
    assert (found["clamped"], found["limit"]) == (True, 2_000)


def test_a_table_comes_to_one_that_accepts_no_json(fleet: LivingFleet) -> None:
    assert rows_of(downloaded(fleet, "/costs", accept="text/csv"))[0][0] == "cluster"
    both = downloaded(fleet, "/costs", accept="text/csv, application/json")
    assert both.headers["content-type"] == "application/json"
    assert fleet.get("/costs?format=xls", 400)["field"] == "format"


def test_hours_come_in_the_columns_of_cost_tools(fleet: LivingFleet) -> None:
    told = downloaded(fleet, "/costs/focus?from=2026-01-01T00:00:00Z")
    head, *rows = rows_of(told)
    assert {"BilledCost", "ChargePeriodStart", "SubAccountId", "x_ImputedCost"} <= {*head}
    billed, period = head.index("BilledCost"), head.index("ChargePeriodStart")
    assert rows
    assert all(float(row[billed]) >= 0 and row[period].endswith(":00:00Z") for row in rows)
    assert fleet.get("/costs/focus", 400)["field"] == "from"


def test_a_table_that_would_not_be_whole_is_refused(fleet: LivingFleet) -> None:
    answer = downloaded(fleet, "/costs?format=csv", fleet.partial_port)
    assert answer.status_code == 502
    assert "shard-9 gave no answer" in answer.json()["error"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd", "'+cmd"),
        ("-1", "'-1"),
        ("@sum", "'@sum"),
        ("\tx", "'\tx"),
        ("shop=1", "shop=1"),
        ("", ""),
        (-1.5, "-1.5"),
        (None, ""),
    ],
)
def test_a_name_does_not_become_a_formula(value: str | float | None, shown: str) -> None:
    assert cell(value) == shown


def test_costs_over_time_are_told_by_an_axis(fleet: LivingFleet) -> None:
    found = fleet.get("/costs/series?by=capacity&duration=15m&step=1m")
    assert problems_in(found, shapes.CostSeriesShape) == ""
    assert found["stepSeconds"] == 60
    assert [each["name"] for each in found["series"]] == ["", "=1+1 of capacity"]
    assert found["dollarsPerHour"] == [1.5, None, 5.5]
    assert found["idleDollarsPerHour"][-1] == 900.0


def test_a_step_is_never_so_small_that_an_answer_becomes_huge(fleet: LivingFleet) -> None:
    assert fleet.get("/costs/series?duration=24h&step=1s")["stepSeconds"] == 120


def test_a_day_is_kept_and_asking_for_more_is_cut_and_said(fleet: LivingFleet) -> None:
    found = fleet.get("/costs/series?from=2020-01-01T00:00:00Z")
    assert found["clamped"] is True
    assert found["idleDollarsPerHour"][-1] == found["keptSeconds"] == found["limit"]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("by=need", "by"),
        ("from=yesterday", "from"),
        ("to=1234", "to"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from"),
        ("from=2999-01-01T00:00:00Z", "from"),
    ],
)
def test_a_time_or_an_axis_that_cannot_be_read_is_named(
    fleet: LivingFleet, asked: str, field: str
) -> None:
    assert fleet.get(f"/costs/series?{asked}", 400)["field"] == field


def test_costs_over_time_are_a_table_too(fleet: LivingFleet) -> None:
    head, *rows = rows_of(downloaded(fleet, "/costs/series?by=zone&format=csv"))
    assert head == ["time", "dollarsPerHour", "idleDollarsPerHour", "", "'=1+1 of zone"]
    assert [row[1] for row in rows] == ["1.5", "", "5.5"]


def test_the_fleet_file_is_what_plan_reads(fleet: LivingFleet) -> None:
    answer = downloaded(fleet, "/fleet/file?shard=shard-0")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="shard-0.jsonl"'
    found = load_fleet(answer.content, "shard-0.jsonl")
    assert found.provenance.shard == "shard-0"
    assert len(found.machines) == fleet.get("/fleet/overview")["machines"]


def test_a_fleet_file_is_of_one_shard_that_answers(fleet: LivingFleet) -> None:
    found = downloaded(fleet, "/fleet/file", fleet.partial_port)
    assert found.status_code == 400
    assert found.json()["field"] == "shard"
    assert fleet.get("/fleet/file?shard=shard-7", 404)["remedy"] == "nearest are shard-0"
    silent = downloaded(fleet, "/fleet/file?shard=shard-9", fleet.partial_port)
    assert silent.status_code == 502
    assert "shard-9" in silent.json()["error"]


def test_a_sweep_has_a_point_for_each_value(fleet: LivingFleet) -> None:
    body = {"edits": ["price x2"], "sweep": ["demand.shop=1:2:0.5"], "machines": True}
    found = fleet.post("/whatif", body)
    assert problems_in(found, shapes.WhatIfShape) == ""
    sweep = found["sweep"]
    assert sweep["axes"] == [{"name": "demand.shop", "values": [1.0, 1.5, 2.0]}]
    assert sweep["complete"] is True
    assert [each["values"] for each in sweep["points"]] == [
        {"demand.shop": value} for value in (1.0, 1.5, 2.0)
    ]
    assert sweep["points"][0]["overlay"] == [*found["overlay"], "demand cluster=shop x1"]
    assert isinstance(found["fates"], list)


def test_too_many_points_are_thinned_out_and_it_is_said(fleet: LivingFleet) -> None:
    body = {"edits": [], "sweep": ["demand.shop=1:1.5:0.001"]}
    found = fleet.post("/whatif", body)
    assert found["clamped"] is True
    assert found["limit"] == MOST_POINTS
    assert found["sweep"]["pointCount"] == 251
    assert "at most 400 points: asked for as demand.shop=1:1.5:0.002" in found["warnings"]


@pytest.mark.parametrize(
    ("sweep", "told"),
    [(["moon=1:2:1"], "cannot be swept"), (["demand=1:2"], "FROM:TO:STEP"), (["a"] * 3, "length")],
)
def test_an_axis_that_cannot_be_swept_is_named(
    fleet: LivingFleet, sweep: list[str], told: str
) -> None:
    found = fleet.post("/whatif", {"edits": [], "sweep": sweep}, 400)
    assert found["field"] == "sweep"
    assert told in found["error"]
