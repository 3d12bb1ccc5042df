"""The chaos buttons on a living fleet: each does what it says, and is undone at its end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from bigfleet.edge.logs import NullLog
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.up.fleet_watch import FleetWatch
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.scenario import Scenario
from tests.up.fleets import FAST, PATIENCE_SECONDS, is_served, running, seen
from tests.up.unhurried_clock import UnhurriedClock

#: Longer than any wait here.
LONG = {"seconds": 600}


class Tried:
    def __init__(self, fleet: LocalFleet) -> None:
        self.fleet = fleet
        self.scenario = Scenario(fleet, UnhurriedClock(), NullLog(), FleetWatch())

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds():
                await self.fleet.clock.sleep(0.5)

    async def end(self, number: int) -> None:
        await self.scenario.do({"end": number})
        await self.until(lambda: number not in self.scenario.chaos.running)

    async def refusal(self, given: dict[str, object]) -> Rejected:
        before = dict(self.scenario.chaos.running)
        with pytest.raises(Rejected) as refused:
            await self.scenario.do(given)
        assert self.scenario.chaos.running == before
        return refused.value


@asynccontextmanager
async def tried() -> AsyncIterator[Tried]:
    async with running(FAST) as fleet:
        found = Tried(fleet)
        lines = fleet.clusters.lines.values()
        await found.until(lambda: all(line.operator.connected for line in lines))
        yield found
        await found.scenario.close()


async def test_a_killed_shard_comes_back_and_its_clusters_are_served_again() -> None:
    async with tried() as has:
        fleet = has.fleet
        await seen(fleet, is_served)
        epoch = fleet.shards["shard-0"].state.epoch
        begun = await has.scenario.do({"do": "kill-shard", **LONG})
        assert has.scenario.document()["down"] == ["shard-0"]
        lines = fleet.clusters.lines.values()
        await has.until(lambda: not any(line.operator.connected for line in lines))
        assert all(line.operator.cluster.running for line in lines)
        await has.end(begun["number"])
        assert fleet.down == frozenset()
        assert fleet.shards["shard-0"].state.epoch == epoch + 1
        await seen(fleet, is_served)


async def test_parts_and_clusters_that_were_cut_off_are_there_again() -> None:
    async with tried() as has:
        fleet, scenario = has.fleet, has.scenario
        shop = fleet.clusters.lines["shop"].operator
        begun = await scenario.do({"do": "partition", "cluster": "shop", **LONG})
        await has.until(lambda: not shop.connected)
        assert fleet.clusters.lines["ml"].operator.connected
        await has.end(begun["number"])
        await has.until(lambda: shop.connected)
        # It ends by itself when its time is up.
        await scenario.do({"do": "kill-coordinator", "seconds": 1})
        await has.until(lambda: not scenario.chaos.running)
        assert fleet.down == frozenset()


async def test_wrong_answers_of_provider_and_clusters_are_seen_by_the_shard() -> None:
    async with tried() as has:
        state = has.fleet.shards["shard-0"].state

        def last_error() -> str:
            return state.status().providers[0].last_error

        begun = await has.scenario.do({"do": "outage", **LONG})
        await has.until(lambda: "UNAVAILABLE" in last_error())
        again = await has.refusal({"do": "outage", "seconds": 20})
        assert again.code is Code.ALREADY_EXISTS
        await has.end(begun["number"])
        await has.until(lambda: not last_error())
        await has.until(lambda: bool(state.parts.machines.bound_to("batch")))
        await has.scenario.do({"do": "list-empty", "seconds": 20})
        await has.until(lambda: any(q.subject == "sim" for q in state.quarantines()))
        assert not (await has.refusal({"end": 99})).text.startswith("list-empty")
        [number] = has.scenario.chaos.running
        assert "ends with the Lists" in (await has.refusal({"end": number})).text
        assert (await has.refusal({"do": "stock", "select": "planet=mars"})).code is (
            Code.INVALID_ARGUMENT
        )
