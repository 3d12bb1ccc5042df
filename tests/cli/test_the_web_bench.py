"""`bigfleet bench web` measures a map and open pages of a real shard, and ends."""

import asyncio

import pytest

from bigfleet.bench.measures import Measure
from bigfleet.cli.web_bench import measured
from bigfleet.cli.web_bench.living_page import WebScale

SMALL = WebScale(machines=500, shard_machines=200, needs=40, clients=3, seconds=1.0)


@pytest.fixture(scope="module")
def run() -> dict[str, Measure]:
    return {m.name: m for m in asyncio.run(measured(SMALL))}


def test_every_row_of_the_budget_is_measured(run: dict[str, Measure]) -> None:
    assert {name: m.budget for name, m in run.items() if m.budget} == {
        "GET /fleet/overview, p95": "<= 10",
        "GET /needs, 40 rows, p95": "<= 20",
        "GET /machines, 200 rows, p95": "<= 30",
        "3 pages on beside off, by the clock p99": "<= 5",
        "a core's share for 3 pages": "<= 5",
        "scripts of all pages, compressed": "<= 200",
        "all files of the page, compressed": "<= 300",
    }


def test_what_open_pages_cost_is_told_with_a_range(run: dict[str, Measure]) -> None:
    # What they received depends on the machine: tests/web holds that pages are told.
    assert run["received by a page a second"].value >= 0
    assert run["cycle by the clock p99, 3 pages on"].value > 0
    assert run["a core's share for 3 pages"].interval is not None
    assert run["size of body of /fleet/map"].value > 0


def test_answers_are_those_of_a_fleet_with_needs_that_wait(run: dict[str, Measure]) -> None:
    assert run["GET /needs, 40 rows, size"].value > 10
    assert SMALL.shard.short == 2
