"""Streams that break at any moment: nothing is lost, nothing is done twice, no pod is evicted."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.session_frames import Acknowledgement, NodeStateUpdate, ReclaimInstruction
from bigfleet.wire.session_client import SessionClient
from tests.shard_system.demand import HIGH, LOW
from tests.shard_system.operators import Operator, hello_of, operating
from tests.shard_system.rig import ProviderRig, offered, provided, sharded
from tests.shard_system.waiting import PATIENCE, until, until_told

MACHINES = 6


@dataclass(frozen=True, slots=True)
class Wanted:
    """What each cluster is to have in the end."""

    provider: ProviderRig
    machines: dict[Operator, int]

    async def is_so(self) -> bool:
        """Every cluster has what it wants, and knows of exactly what it has."""
        true = [await self.provider.bound_to(operator.cluster) for operator in self.machines]
        return true == [operator.configured() for operator in self.machines] and [
            len(each) for each in true
        ] == list(self.machines.values())

    async def reached(self) -> None:
        await until_told(self.is_so, lambda: [(o.cluster, o.nodes) for o in self.machines])


async def cut_after(operator: Operator, frames: int, wanted: Wanted) -> None:
    """Cuts its line after so many frames more, or when there is something to lose, or when all is
    done: then no frame may come any more."""
    enough = len(operator.frames) + frames

    async def in_time() -> object:
        return len(operator.frames) >= enough or operator.nodes or await wanted.is_so()

    await until_told(in_time, lambda: operator.frames)
    await operator.drop()
    await until(lambda: operator.is_connected, lambda: operator.ends)


@pytest.mark.parametrize("seed", range(3))
async def test_lines_cut_at_any_moment_while_demand_moves(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    async with (
        provided(tmp_path, [offered("bare_metal", MACHINES)]) as provider,
        sharded(tmp_path / "data", [provider.address]) as shard,
        operating("batch", shard.address) as batch,
        operating("web", shard.address) as web,
    ):
        for _ in range(4):
            of_web = chance.randint(0, 4)
            await web.wants(of_web, HIGH)
            await batch.wants(MACHINES - of_web, LOW)
            wanted = Wanted(provider, {web: of_web, batch: MACHINES - of_web})
            await cut_after(chance.choice((batch, web)), chance.randint(0, 6), wanted)
            await wanted.reached()
        asked = [i.instruction_id for o in (batch, web) for i in o.seen(ReclaimInstruction)]
        assert len(set(asked)) >= 1
        assert shard.counted("cycle_errors_total") == 0


async def test_an_open_drain_is_asked_for_again_under_its_own_name(tmp_path: Path) -> None:
    async with (
        provided(tmp_path, [offered("bare_metal", 2)]) as provider,
        sharded(tmp_path / "data", [provider.address]) as shard,
        operating("shop", shard.address) as shop,
    ):
        shop.evicts = False
        await shop.wants(2, LOW)
        await until(lambda: len(shop.configured()) == 2, lambda: shop.nodes)
        await shop.wants(1, LOW)
        await until(lambda: shop.seen(ReclaimInstruction))
        await shop.drop()
        await until(lambda: len(shop.seen(ReclaimInstruction)) == 2)
        first, again = shop.seen(ReclaimInstruction)
        assert again.instruction_id == first.instruction_id
        assert again.nodes == first.nodes
        assert again.grace_period_seconds <= first.grace_period_seconds
        assert len(shop.configured()) == 2
        await shop.finish(again)
        await Wanted(provider, {shop: 1}).reached()
        assert shard.counted("reclaim_resends_total") == 1


async def test_no_cluster_is_let_in_before_all_machines_are_known(tmp_path: Path) -> None:
    """What the replay of a shard that has just started left out, its operator would give up."""
    async with provided(tmp_path, [offered("bare_metal", 2)]) as provider:
        async with (
            sharded(tmp_path / "data", [provider.address]) as shard,
            operating("shop", shard.address) as shop,
        ):
            await shop.wants(2, LOW)
            await until(lambda: len(shop.configured()) == 2, lambda: shop.nodes)
        await provider.do("outage", "on", "List")
        async with (
            sharded(tmp_path / "data", [provider.address]) as shard,
            SessionClient(shard.address).open(hello_of("shop")) as session,
            asyncio.timeout(PATIENCE),
        ):
            await session.send(hello_of("shop"))
            await until(lambda: shard.counted("provider_breaker_open", provider="p0"))
            assert len(shard.process.state.parts.sessions) == 0
            await provider.do("outage", "off")
            replay = [await session.read() for _ in range(4)]
            kinds = [type(frame) for frame in replay]
            assert kinds == [Acknowledgement, NodeStateUpdate, NodeStateUpdate, Acknowledgement]


async def test_a_shard_that_stops_before_it_knows_its_machines_lets_go_of_who_waits(
    tmp_path: Path,
) -> None:
    async with provided(tmp_path, [offered("bare_metal", 2)]) as provider:
        await provider.do("outage", "on", "List")
        async with asyncio.timeout(PATIENCE), AsyncExitStack() as lines:
            async with sharded(tmp_path / "data", [provider.address]) as shard:
                client = SessionClient(shard.address)
                session = await lines.enter_async_context(client.open(hello_of("shop")))
                await until(lambda: shard.counted("provider_breaker_open", provider="p0"))
            with pytest.raises(Rejected) as end:
                await session.read()
            assert end.value.code is Code.UNAVAILABLE
