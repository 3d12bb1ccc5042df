"""A page follows its shards: one that goes away is marked, and comes back; the others go on."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bigfleet.model.figures import ClassCounts
from bigfleet.model.fleet_maps import map_changes
from bigfleet.model.watch_events import DecisionChanges, MapChanges, ShardEvent, Topic
from bigfleet.web.live.hub import KEPT_FOR, Client
from tests.web.maps import changed, read_body, shard_map
from tests.web.shards import FakeShard, Watched, overview
from tests.wire import watch_answers


@asynccontextmanager
async def watched(*shards: FakeShard) -> AsyncIterator[Watched]:
    page = Watched(*shards)
    await page.start()
    try:
        yield page
    finally:
        await page.live.stop()


def events(client: Client, topic: str) -> list[Any]:
    frames = [frame.split("\n") for frame in client.take().decode().split("\n\n") if frame]
    return [
        json.loads(lines[-1].removeprefix("data: "))
        for lines in frames
        if lines[0] == f"event: {topic}"
    ]


MET = (ClassCounts("critical", met=4),)
WAITING = (ClassCounts("critical", met=3, short=1),)


async def test_an_overview_sums_up_the_shards() -> None:
    first, second = FakeShard("shard-0"), FakeShard("shard-1")
    async with watched(first, second) as page:
        first.put(overview(shard="shard-0", classes=MET))
        second.put(overview(12, shard="shard-1", classes=WAITING))
        await page.advance(1)
        told = page.live.overview()
    assert (told["shards"], told["machines"], told["cycle"]) == (2, 8, 12)
    assert told["needs"] == {"met": 7, "arriving": 0, "blocked": 0, "short": 1}
    assert told["sentence"].startswith("1 short of 8 needs; 8 machines")
    assert told["demandMetFraction"] == 7 / 8


async def test_all_demand_is_met_only_if_nobody_waits_and_every_shard_was_heard() -> None:
    first, second = FakeShard("shard-0"), FakeShard("shard-1")
    async with watched(first, second) as page:
        for each in (first, second):
            each.put(overview(shard=each.name, classes=MET))
        await page.advance(1)
        assert page.live.overview()["sentence"].startswith("All demand met")
        second.go()
        await page.advance(0.1)
        told = page.live.overview()
        assert told["shardsDown"] == ["shard-1"]
        assert told["sentence"].startswith("Shard-1 does not answer; ")
        assert "met" not in told["sentence"]
        assert told["machines"] == 8
        assert [each["code"] for each in told["findings"]] == ["shard.silent"]


async def test_what_goes_back_and_forth_is_in_the_sentence_and_ends_the_calm() -> None:
    shard = FakeShard()
    async with watched(shard) as page:
        sentences = []
        for findings in range(3):
            shard.put(overview(classes=MET, thrash=findings))
            await page.advance(1)
            sentences.append(page.live.overview()["sentence"])
    assert all(each.startswith("All demand met") for each in sentences)
    calm, one, two = sentences
    assert "calm for" in calm
    assert "machines went back and forth: 1 finding;" in one
    assert "machines went back and forth: 2 findings;" in two
    assert "calm" not in one + two


async def test_a_shard_that_comes_back_is_followed_again() -> None:
    shard = FakeShard()
    async with watched(shard) as page:
        shard.put(overview(9))
        await page.advance(1)
        shard.go()
        await page.advance(60)
        assert page.live.overview()["shardsDown"] == ["shard-0"]
        shard.is_gone = False
        await page.advance(20)
        assert shard.calls[-1].after_cycle == 9, "decisions it has missed are asked for"
        shard.put(overview(80))
        await page.advance(1)
        told = page.live.overview()
        assert (told["shardsDown"], told["cycle"]) == ([], 80)


async def test_a_finding_is_raised_once_and_cleared_once() -> None:
    shard = FakeShard()
    async with watched(shard) as page:
        client = page.live.join(["alerts"], "", lambda: None)
        shard.put(overview(9))
        await page.advance(1)
        shard.go()
        await page.advance(5)
        raised = events(client, "alerts")
        assert [each["code"] for event in raised for each in event["raised"]] == ["shard.silent"]
        shard.is_gone = False
        await page.advance(20)
        shard.put(overview(10))
        await page.advance(1)
        assert [event["cleared"] for event in events(client, "alerts")] == [["shard.silent"]]


async def test_a_time_without_word_of_a_shard_is_a_gap_of_the_fleets_charts() -> None:
    shard = FakeShard()
    async with watched(shard) as page:
        for cycle in range(3):
            shard.put(overview(cycle + 1))
            await page.advance(1)
        shard.go()
        await page.advance(3)
        now = page.clock.now() // 10**9
        _, found = page.live.rings.series(["dollarsPerHour"], now, 6, 1)
        known = [value is not None for value in found["dollarsPerHour"]]
        assert any(known)
        assert known[-2:] == [False, False]


async def test_the_map_is_followed_only_while_a_page_looks_at_it() -> None:
    shard = FakeShard()
    async with watched(shard) as page:
        await page.advance(1)
        assert not shard.is_watched(Topic.MAP)
        client = page.live.join(["map:zone"], "", lambda: None)
        await page.advance(1)
        assert shard.is_watched(Topic.MAP)
        page.live.leave(client)
        await page.advance(KEPT_FOR / 10**9 + 1)
        assert not shard.is_watched(Topic.MAP)


async def test_changes_of_the_map_reach_a_page_as_places_of_its_order() -> None:
    shard = FakeShard()
    first = shard.map
    async with watched(shard) as page:
        client = page.live.join(["map:zone"], "", lambda: None)
        await page.advance(1)
        shard.put(ShardEvent(3, 9, 10, map=MapChanges(1, reset=True)))
        await _eventually(page, "shard-0")
        header, _, ids = read_body(await page.live.map_body("zone"))
        shard.put(ShardEvent(3, 10, 11, map=map_changes(first, changed(first, state={1: 3}))))
        await page.advance(1)
        [told] = [each for each in events(client, "map") if each["changes"]]
        [[index, column, value]] = told["changes"]
        assert (ids[index], header["columns"][column]["name"], value) == ("m-1", "state", 3)


async def test_a_version_that_was_missed_loads_the_map_anew() -> None:
    shard = FakeShard()
    async with watched(shard) as page:
        client = page.live.join(["map:zone"], "", lambda: None)
        await page.advance(1)
        shard.put(ShardEvent(3, 9, 10, map=MapChanges(1, reset=True)))
        await _eventually(page, "shard-0")
        await page.live.map_body("zone")
        client.take()
        shard.map = shard_map(["m-0", "m-1", "m-2"], version=7)
        shard.put(ShardEvent(3, 10, 11, map=MapChanges(7)))
        while len(read_body(await page.live.map_body("zone"))[2]) != 3:
            await page.advance(0.25)
        assert [each["reset"] for each in events(client, "map")] == [True]


async def test_decisions_come_as_rows_and_their_ends_as_the_same_rows_again() -> None:
    shard = FakeShard()
    async with watched(shard) as page:
        client = page.live.join(["decisions"], "", lambda: None)
        shard.put(ShardEvent(3, 9, 10, decisions=DecisionChanges((watch_answers.STARTED,))))
        await page.advance(1)
        [told] = events(client, "decisions")
    [row] = told["rows"]
    assert (row["machine"], row["kind"], row["outcome"]) == ("m-0", "Bootstrap", "success")
    assert row["sentence"] == "Bootstrap m-0 for shop: cheapest"


async def _eventually(page: Watched, shard: str) -> None:
    """A map is read in a thread, which the clock of a test knows nothing of."""
    while shard not in page.live.maps:
        await page.advance(0.01)
