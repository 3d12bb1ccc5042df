"""kill -9 of the shard or the provider, at any moment: what clusters have they keep.

Real processes, restarted on their data. The operators live in the test and see every frame. Truth
is what the provider says: of each machine one cluster, which is also who believes to have it.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import ListCall, Rejected
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from bigfleet.wire.provider_client import ProviderClient
from tests.held_ports import held_port
from tests.nightly import IS_NIGHTLY
from tests.shard_processes.process import Running, provider_words, serving, shard_words
from tests.shard_system.demand import HIGH, LOW
from tests.shard_system.operators import Operator, operating
from tests.shard_system.rig import offered
from tests.shard_system.waiting import until, until_told

S = MachineState
MACHINES = 6
#: A process takes seconds to come up: a few moments by day, many by night.
SEEDS = range(20) if IS_NIGHTLY else range(1)


@dataclass(slots=True)
class Fleet:
    """A provider, a shard and two operators, of which all but the operators can be killed."""

    folder: Path
    closing: AsyncExitStack
    provider_address: str
    provider: Running = field(init=False)
    shard: Running = field(init=False)
    batch: Operator = field(init=False)
    web: Operator = field(init=False)

    async def start_provider(self) -> None:
        words = provider_words(
            self.folder, [offered("bare_metal", MACHINES)], self.provider_address
        )
        self.provider = await self.closing.enter_async_context(serving(*words))

    async def start_shard(self) -> None:
        words = shard_words(
            self.data_dir, self.provider_address, "--journal-audit-log", "audit.jsonl"
        )
        self.shard = await self.closing.enter_async_context(serving(*words))

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    async def truth(self) -> dict[str, tuple[MachineState, str]]:
        """Of every machine its state and its cluster, by the provider's own word."""
        async with ProviderClient(self.provider_address) as client:
            records, _ = await client.list(ListCall())
        return {record.id: (record.state, record.cluster) for record in records}

    async def settled(self, of_batch: int, of_web: int) -> None:
        """Everybody has what it wants, and knows of exactly what it has."""
        wanted = {self.batch: of_batch, self.web: of_web}
        truth: dict[str, tuple[MachineState, str]] = {}

        async def so() -> bool:
            nonlocal truth
            try:
                truth = await self.truth()
            except Rejected:
                return False
            true = [
                {m for m, found in truth.items() if found == (S.CONFIGURED, o.cluster)}
                for o in wanted
            ]
            return true == [o.configured() for o in wanted] and [
                len(each) for each in true
            ] == list(wanted.values())

        await until_told(
            so, lambda: ([(o.cluster, o.nodes) for o in wanted], truth, self.shard.lines)
        )

    def configured(self) -> dict[Operator, set[str]]:
        """By who has them, as it was told."""
        return {operator: operator.configured() for operator in (self.batch, self.web)}

    async def want(self, of_batch: int, of_web: int) -> None:
        await self.batch.wants(of_batch, LOW)
        await self.web.wants(of_web, HIGH)


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[Fleet]:
    async with AsyncExitStack() as closing_all:
        port = closing_all.enter_context(held_port())
        fleet = Fleet(folder, closing_all, f"127.0.0.1:{port}")
        await fleet.start_provider()
        await fleet.start_shard()
        address: Callable[[], str] = lambda: fleet.shard.address  # noqa: E731
        fleet.batch = await closing_all.enter_async_context(operating("batch", address))
        fleet.web = await closing_all.enter_async_context(operating("web", address))
        yield fleet


async def in_the_middle(fleet: Fleet, chance: Random, of_batch: int, of_web: int) -> None:
    """Demand changes, and this returns somewhere in the middle of what that sets off."""

    def frames() -> int:
        return len(fleet.batch.frames) + len(fleet.web.frames)

    # Two acknowledgements, and for a machine that moves at least four frames.
    enough = frames() + chance.randint(1, 6)
    await fleet.want(of_batch, of_web)
    await until(lambda: frames() >= enough)


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_shard_killed_while_demand_moves_loses_nothing(tmp_path: Path, seed: int) -> None:
    chance, of_web = Random(seed), 0
    async with started(tmp_path) as fleet:
        for life in range(1, 4):
            of_web = (of_web + chance.randint(1, 4)) % 5
            await in_the_middle(fleet, chance, MACHINES - of_web, of_web)
            await fleet.shard.kill()
            await fleet.start_shard()
            assert fleet.shard.epoch == life + 1
            await fleet.settled(MACHINES - of_web, of_web)
        await fleet.want(MACHINES, 0)
        await fleet.settled(MACHINES, 0)


async def test_a_killed_shard_comes_back_and_asks_for_the_same_drain(tmp_path: Path) -> None:
    async with started(tmp_path) as fleet:
        web = fleet.web
        await fleet.want(0, 3)
        await fleet.settled(0, 3)
        web.evicts = False
        await fleet.want(0, 2)
        await until(lambda: web.seen(ReclaimInstruction))
        await until(lambda: drains_in(fleet.data_dir))
        before, told = await fleet.truth(), len(web.seen(NodeStateUpdate))
        await fleet.shard.kill()
        assert await fleet.truth() == before
        await fleet.start_shard()
        await until(lambda: len(web.seen(ReclaimInstruction)) == 2, lambda: web.frames[-5:])
        first, again = web.seen(ReclaimInstruction)
        assert (again.instruction_id, again.nodes) == (first.instruction_id, first.nodes)
        assert again.grace_period_seconds <= first.grace_period_seconds
        replayed = web.seen(NodeStateUpdate)[told:]
        assert {update.state for update in replayed} == {S.CONFIGURED}
        assert await fleet.truth() == before
        await web.finish(again)
        await fleet.settled(0, 2)


def drains_in(data_dir: Path) -> list[str]:
    """Machines whose drain is on disk."""
    with closing(sqlite3.connect(f"file:{data_dir}/state.db?mode=ro", uri=True)) as kept:
        return [key for (key,) in kept.execute("SELECT key FROM kept WHERE part = 'drains'")]


async def at_rest(fleet: Fleet) -> None:
    """Returns when five decisions in a row have changed nothing.

    Without its provider a shard still asks for machines, and what is then given up it takes: how
    much of that was told when the provider went is a matter of luck.
    """

    async def unchanged() -> bool:
        before, cycles = fleet.configured(), await fleet.shard.metric("cycles_total")

        async def decided_on() -> bool:
            return await fleet.shard.metric("cycles_total") > cycles + 5

        await until_told(decided_on)
        return fleet.configured() == before

    await until_told(unchanged, fleet.configured)


def asked_for(operator: Operator) -> set[str]:
    """Machines it was asked to give up."""
    nodes = {node for asked in operator.seen(ReclaimInstruction) for node in asked.nodes}
    return {told.machine_id for told in operator.seen(NodeStateUpdate) if told.node_name in nodes}


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_provider_killed_while_demand_moves_loses_nothing(
    tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    async with started(tmp_path) as fleet:
        await fleet.want(4, 0)
        await fleet.settled(4, 0)
        of_web = chance.randint(3, 5)
        await in_the_middle(fleet, chance, MACHINES - of_web, of_web)
        await fleet.provider.kill()
        had = fleet.configured()

        async def given_up() -> bool:
            return await fleet.shard.metric("provider_breaker_open") == 1

        await until_told(given_up)
        # Acknowledged behind all that was told before.
        await fleet.want(MACHINES - of_web, of_web)
        most = fleet.configured()
        await at_rest(fleet)
        for operator, has in fleet.configured().items():
            assert had[operator] - asked_for(operator) <= has <= most[operator], operator.frames
        await fleet.start_provider()
        await fleet.settled(MACHINES - of_web, of_web)
