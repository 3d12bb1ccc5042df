"""`bigfleet bench web` measures a map and open pages of a real shard, and ends."""

import asyncio

import pytest

from bigfleet.bench.measures import Measure
from bigfleet.cli.web_bench import WebScale, measured

SMALL = WebScale(machines=500, shard_machines=200, clients=3, seconds=1.0)


@pytest.fixture(scope="module")
def run() -> dict[str, Measure]:
    return {m.name: m for m in asyncio.run(measured(SMALL))}


def test_every_row_of_the_budget_is_measured(run: dict[str, Measure]) -> None:
    assert {name: m.budget for name, m in run.items() if m.budget} == {
        "cycle p99 with pages, times that without": "<= 1.05",
        "a core's share for all pages": "<= 5",
    }


def test_open_pages_were_told_something(run: dict[str, Measure]) -> None:
    assert run["received by a page"].value > 1
    assert run["cycle p99, 3 pages open"].value > 0
    assert run["size of body of /fleet/map"].value > 0
