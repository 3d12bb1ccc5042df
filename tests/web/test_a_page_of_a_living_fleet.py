"""The page of a whole fleet over real HTTP and real gRPC: overview, map, decisions, a past map."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx2

from bigfleet.cli.up_page import served_page
from bigfleet.up.local_fleet import LocalFleet
from tests.up.fleets import FAST, is_served, running, seen
from tests.web.maps import read_body
from tests.web.pages import LinesKept, Served
from tests.web.test_the_stream import listening

PATIENCE_SECONDS = 60.0


@asynccontextmanager
async def page_of(fleet: LocalFleet) -> AsyncIterator[Served]:
    log = LinesKept()
    async with served_page(fleet, 0, log) as page:
        assert page is not None
        address = f"http://127.0.0.1:{page.port}"
        async with httpx2.AsyncClient(base_url=address, timeout=PATIENCE_SECONDS) as client:
            yield Served(page.port, log, page.live, client)
    assert log.said == []


async def test_a_page_is_told_of_every_cycle_and_sees_every_machine() -> None:
    async with running(FAST) as fleet, page_of(fleet) as page:
        path = "/api/v1/stream?topics=overview,decisions,map,needs,costs"
        async with listening(page, path) as listener:
            hello = await listener.next("hello")
            assert hello["data"]["simulated"] is True
            first = (await listener.next("overview"))["data"]
            later = first
            while later["cycle"] <= first["cycle"] or not sum(later["needs"].values()):
                later = (await listener.next("overview"))["data"]
            assert later["machines"] == 300
            assert sum(later["machinesByState"].values()) == 300
            decided = (await listener.next("decisions"))["data"]["rows"]
            assert {"Bootstrap"} <= {row["kind"] for row in decided}
            assert all(row["sentence"] for row in decided)
        answer = await page.client.get("/api/v1/fleet/map?by=zone")
        header, columns, ids = read_body(answer.content)
        assert sorted(ids) == sorted(fleet.owned()["shard-0"])
        assert {group["name"][0] for group in header["groups"]} == {"a", "b", "c"}
        names = [header["legend"]["state"][number] for number in columns["state"]]
        assert {"Speculative", "Idle"} <= set(names)
        prices = {name[:2]: price for name, price in zip(ids, columns["priceMicros"], strict=True)}
        assert (prices["bm"], prices["od"]) == (0, 380_000)


async def test_a_change_of_the_map_is_told_with_the_layout_it_is_about() -> None:
    async with running(FAST) as fleet, page_of(fleet) as page:
        path = "/api/v1/stream?topics=map&by=type"
        async with listening(page, path) as listener, asyncio.timeout(PATIENCE_SECONDS):
            body = (await page.client.get("/api/v1/fleet/map?by=type")).content
            header, _, ids = read_body(body)
            told = (await listener.next("map"))["data"]
            while told["reset"] or not told["changes"]:
                told = (await listener.next("map"))["data"]
            assert told["layout"] == header["layout"]
            assert all(0 <= index < len(ids) for index, _, _ in told["changes"])


async def test_a_past_cycle_has_its_map_and_an_unknown_one_is_told_as_such() -> None:
    async with running(FAST) as fleet, page_of(fleet) as page:
        await seen(fleet, is_served)
        past = fleet.shards["shard-0"].state.decision_loop.number
        await seen(fleet, lambda report: report.cycle > past + 3)
        answer = await page.client.get(f"/api/v1/fleet/map?by=cluster&at={past}")
        header, _, ids = read_body(answer.content)
        assert (header["cycle"], len(ids)) == (past, 300)
        missing = await page.client.get("/api/v1/fleet/map?at=999999")
        assert missing.status_code in (404, 502)
        assert "999999" in missing.json()["error"]


async def test_several_shards_are_one_fleet() -> None:
    plan = replace(FAST, shards=3, machines=600)
    async with running(plan) as fleet, page_of(fleet) as page:
        async with listening(page, "/api/v1/stream?topics=overview") as listener:
            told = (await listener.next("overview"))["data"]
            while told["machines"] < 600:
                told = (await listener.next("overview"))["data"]
        assert told["shards"] == 3
        header, _, ids = read_body((await page.client.get("/api/v1/fleet/map")).content)
        assert header["shards"] == ["shard-0", "shard-1", "shard-2"]
        assert len(ids) == 600
