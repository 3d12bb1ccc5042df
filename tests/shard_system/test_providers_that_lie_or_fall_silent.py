"""With every wrong answer of a provider, machines that run go on running."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bigfleet.model.provider_calls import ListCall, Peer
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from tests.shard_system.demand import HIGH, LOW
from tests.shard_system.operators import Operator, operating
from tests.shard_system.rig import ProviderRig, ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until, until_told
from tests.wire.lines import ScriptedProvider, line_to

MACHINES, BOUND = 12, 10


@dataclass(slots=True)
class SettledShard:
    """A shard whose one cluster has what it needs."""

    provider: ProviderRig
    shard: ShardRig
    shop: Operator

    async def told_lies(self, number: int) -> None:
        """Returns when so many Lists were answered wrongly, and a true one after them."""

        async def told() -> bool:
            events = [event["event"] async for event in self.provider.control.events()]
            return events.count("list.wrong") >= number

        await until_told(told)
        cycles = self.shard.cycles
        await until(lambda: self.shard.cycles > cycles + 2)

    def actions(self) -> float:
        counters = self.shard.process.state.effects.counts.counters
        return sum(value for (name, _), value in counters.items() if name == "actions_total")


@asynccontextmanager
async def settled(folder: Path) -> AsyncIterator[SettledShard]:
    async with (
        provided(folder, [offered("bare_metal", MACHINES)]) as provider,
        sharded(folder / "data", [provider.address]) as shard,
        operating("shop", shard.address) as shop,
    ):
        await shop.wants(BOUND, LOW)
        await until(lambda: len(shop.configured()) == BOUND, lambda: shop.nodes)
        yield SettledShard(provider, shard, shop)


WRONG = {
    "empty": ("list-empty", "5"),
    "truncated": ("list-truncate", "0.5", "5"),
    "naming a machine twice": ("list-duplicate", "5"),
    **{
        f"with a bad {field}": ("list-bad-record", field, "5")
        for field in ("id", "state", "price_per_hour", "resources")
    },
}


@pytest.mark.parametrize("lie", WRONG.values(), ids=WRONG)
async def test_lists_that_are_wrong_change_nothing(tmp_path: Path, lie: tuple[str, ...]) -> None:
    async with settled(tmp_path) as fleet:
        before, actions = await fleet.provider.machines(), fleet.actions()
        told = len(fleet.shop.seen(NodeStateUpdate))
        await fleet.provider.do(*lie)
        await fleet.told_lies(5)
        assert fleet.shop.configured() == await fleet.provider.bound_to("shop")
        assert await fleet.provider.machines() == before
        assert fleet.actions() == actions
        assert len(fleet.shop.seen(NodeStateUpdate)) == told
        assert fleet.shop.seen(ReclaimInstruction) == []
        await until(lambda: not fleet.shard.process.state.quarantines())


async def test_lists_of_the_past_bind_no_machine_twice(tmp_path: Path) -> None:
    async with settled(tmp_path) as fleet, operating("bank", fleet.shard.address) as bank:
        before = fleet.actions()
        await fleet.provider.do("list-stale", "2s")
        await bank.wants(4, HIGH)
        await until(lambda: len(bank.configured()) == 4, lambda: bank.nodes)

        async def as_the_provider_has_it() -> bool:
            true = {name: await fleet.provider.bound_to(name) for name in ("shop", "bank")}
            told = {"shop": fleet.shop.configured(), "bank": bank.configured()}
            return true == told and len(told["bank"]) == 4

        await until_told(as_the_provider_has_it, lambda: (bank.nodes, fleet.shop.nodes))
        assert not fleet.shop.configured() & bank.configured()
        preempts = BOUND + 4 - MACHINES
        assert fleet.actions() - before == 4 + preempts
        assert fleet.shard.counted("cycle_errors_total") == 0


class GarblingProvider(ScriptedProvider):
    garbles = False

    async def list(self, call: ListCall, peer: Peer) -> bytes:
        return b"\xff" * 99 if self.garbles else await super().list(call, peer)


async def test_a_provider_that_answers_garbage_is_not_believed(tmp_path: Path) -> None:
    garbling = GarblingProvider()
    async with (
        line_to(garbling) as line,
        sharded(tmp_path, [f"127.0.0.1:{line.endpoint.port}"]) as shard,
    ):
        machines = shard.process.state.parts.machines
        await until(lambda: len(machines) == len(garbling.machines))
        garbling.garbles = True
        await until(lambda: shard.counted("provider_breaker_open", provider="p0"))
        assert len(machines) == len(garbling.machines)
        garbling.garbles = False
        await until(lambda: not shard.counted("provider_breaker_open", provider="p0"))
        assert len(machines) == len(garbling.machines)


async def test_an_outage_leaves_machines_alone_and_ends(tmp_path: Path) -> None:
    async with settled(tmp_path) as fleet:
        shard, shop = fleet.shard, fleet.shop
        await fleet.provider.do("outage", "on")
        await until(lambda: shard.counted("provider_breaker_open", provider="p0"))
        told = len(shop.seen(NodeStateUpdate))
        await shop.wants(MACHINES, LOW)
        cycles = shard.cycles
        await until(lambda: shard.cycles > cycles + 5)
        assert len(shop.configured()) == BOUND
        assert len(shop.seen(NodeStateUpdate)) == told
        assert shard.counted("actions_deferred_total") > 0
        await fleet.provider.do("outage", "off")
        await until(lambda: len(shop.configured()) == MACHINES, lambda: shop.nodes)
        assert not shard.counted("provider_breaker_open", provider="p0")
        assert shop.seen(ReclaimInstruction) == []
