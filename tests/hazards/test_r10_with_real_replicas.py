"""R10 with three real replicas over a real etcd: a dead leader is left for the next one, by shards
and by people, and an address that swallows everything costs one deadline.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import cycle

import pytest
import pytest_asyncio
from click.testing import CliRunner

from bigfleet.bench.coordinator.metrics_pages import page
from bigfleet.cli.main import cli
from tests.coordinator_processes.fleet import Fleet, Shard, real_fleet
from tests.etcd_cluster import needs_etcd
from tests.shard_system.demand import LOW
from tests.shard_system.operators import Operator
from tests.shard_system.waiting import until_told

pytestmark = [needs_etcd, pytest.mark.asyncio(loop_scope="module")]
CYCLES = 5


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Fleet]:
    async with real_fleet(tmp_path_factory.mktemp("fleet")) as whole:
        yield whole


@pytest.fixture
def black_hole() -> Iterator[str]:
    """Connections are taken and nothing is ever answered."""
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(16)
        yield f"127.0.0.1:{hole.getsockname()[1]}"


async def cycle_of(shard: Shard) -> int:
    status = await shard.status()
    assert status is not None
    return status.cycle


async def until_decided(shard: Shard, cycles: int) -> None:
    async def so() -> bool:
        return await cycle_of(shard) >= cycles

    await until_told(so, lambda: f"{shard.name} decides nothing")


async def reports_of(shard: Shard, result: str) -> float:
    name = f'bigfleet_shard_coordinator_reports_total{{result="{result}"}}'
    return (await page(shard.metrics_port)).get(name, 0.0)


async def until_reports_to(fleet: Fleet, address: str, term: int) -> None:
    async def so() -> bool:
        links = [status.coordinator for s in fleet.shards if (status := await s.status())]
        return all(
            link is not None and (link.address, link.term, link.connected) == (address, term, True)
            for link in links
        )

    await until_told(so, lambda: (address, term))


async def shards_listed(addresses: list[str]) -> dict[str, str]:
    """As `bigfleet shards list` tells them, with their states."""
    words = ["shards", "list", "-o", "json", "--timeout", "20s"]
    words += [word for address in addresses for word in ("--coordinator", address)]
    done = await asyncio.to_thread(CliRunner().invoke, cli, words)
    assert done.exit_code == 0, done.output
    return {each["shardId"]: each["state"] for each in json.loads(done.stdout)["items"]}


@asynccontextmanager
async def loaded(operators: list[Operator]) -> AsyncIterator[None]:
    """Their demand rises and falls for as long as the block lasts."""
    over = asyncio.Event()

    async def want(operator: Operator) -> None:
        for machines in cycle((6, 1)):
            await operator.wants(machines, LOW)
            if over.is_set():
                return

    async with asyncio.TaskGroup() as group:
        for operator in operators:
            group.create_task(want(operator))
        try:
            yield
        finally:
            over.set()


async def test_r10_under_load_a_killed_leader_is_left_for_the_next_one(fleet: Fleet) -> None:
    old = await fleet.some_leader()
    before = await fleet.status(old)
    assert before is not None
    await until_reports_to(fleet, old.link.address, before.term)
    addresses = [replica.address for replica in fleet.replicas]
    try:
        async with loaded(fleet.operators):
            await fleet.kill_replica(old)
            for shard in fleet.shards:
                await until_decided(shard, await cycle_of(shard) + CYCLES)
            new = await fleet.some_leader()
            after = await fleet.status(new)
            assert after is not None
            assert after.term > before.term
            await until_reports_to(fleet, new.link.address, after.term)
            # The dead one is asked first.
            addresses.remove(old.address)
            listed = await shards_listed([old.address, *addresses])
            assert listed == {"shard-0": "live", "shard-1": "live"}
    finally:
        await fleet.start_replica(old)


async def test_r10_a_black_hole_among_the_addresses_costs_one_deadline(
    fleet: Fleet, black_hole: str
) -> None:
    shard = fleet.shards[1]
    first = shard.words.index("--coordinator-addr")
    # Longer than a busy machine makes any answer wait: what fails is the black hole.
    more = ["--coordinator-addr", black_hole, "--report-call-timeout", "5s"]
    patient = [*shard.words[:first], *more[:2], *shard.words[first:], *more[2:]]
    await fleet.kill_shard(shard)
    shard.words = patient
    await fleet.start_shard(shard)
    cycles = await cycle_of(shard)

    async def reports() -> bool:
        return await reports_of(shard, "ok") >= CYCLES

    await until_told(reports, lambda: shard.words)
    assert await reports_of(shard, "error") == 1
    assert await cycle_of(shard) > cycles
    addresses = [black_hole, *(replica.address for replica in fleet.replicas)]
    assert await shards_listed(addresses) == {"shard-0": "live", "shard-1": "live"}
