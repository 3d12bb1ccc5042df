"""A real coordinator, two real shards: what the one lacks comes from the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bigfleet.coordinator.settings import RebalanceSettings
from bigfleet.model.coordination import TransferState, TransferTier
from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import ReportSettings
from tests.coordinator_process.rig import QUICK as COORDINATOR
from tests.coordinator_process.rig import CoordinatorRig, coordinated
from tests.shard_system.demand import whole_nodes
from tests.shard_system.operators import operating
from tests.shard_system.rig import QUICK, ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until, until_told

OFTEN = ReportSettings(interval=Seconds(0.1), backoff_min=Seconds(0.01), backoff_max=Seconds(0.05))
EAGER = replace(
    COORDINATOR,
    rebalance=RebalanceSettings(
        interval=Seconds(0.2), age_cycles=1, drain_age_cycles=2, donor_rate=1.0
    ),
)


@asynccontextmanager
async def reporting(
    name: str, folder: Path, provider: str, coordinator: CoordinatorRig
) -> AsyncIterator[ShardRig]:
    own = folder / name
    own.mkdir()
    settings = replace(QUICK, id=name, coordinator_addr=(coordinator.address,), report=OFTEN)
    async with sharded(own, [provider], settings) as rig:
        yield rig


@asynccontextmanager
async def fleet(
    folder: Path, offers: list[dict[str, Any]]
) -> AsyncIterator[tuple[CoordinatorRig, ShardRig, ShardRig]]:
    """shard-a is the first, so the provider's machines are its own; shard-b has nothing."""
    async with (
        coordinated(folder, EAGER) as coordinator,
        provided(folder, offers) as provider,
        reporting("shard-a", folder, provider.address, coordinator) as first,
    ):
        machines = sum(int(each["count"]) for each in offers)
        await until(lambda: first.process.state.status().machines == machines)
        async with reporting("shard-b", folder, provider.address, coordinator) as second:
            await until(lambda: second.process.state.why_not_ready() == "")
            yield coordinator, first, second


async def test_free_machines_of_one_shard_serve_a_cluster_of_the_other(tmp_path: Path) -> None:
    async with (
        fleet(tmp_path, [offered("bare_metal", 6)]) as (coordinator, donor, receiver),
        operating("shop", receiver.address) as operator,
    ):
        await operator.report(whole_nodes("shop", 2))
        await until(lambda: len(operator.configured()) == 2, lambda: coordinator.log.said)
        assert donor.process.state.status().machines == 4

        async def done() -> bool:
            moved = await coordinator.client.transfers(include_finished=True)
            return [each.state for each in moved] == [TransferState.DONE]

        await until_told(done)


async def test_machines_in_use_make_way_for_what_is_worth_more_elsewhere(tmp_path: Path) -> None:
    async with (
        fleet(tmp_path, [offered("bare_metal", 2)]) as (coordinator, donor, receiver),
        operating("batch", donor.address) as lower,
        operating("shop", receiver.address) as operator,
    ):
        await lower.report(whole_nodes("batch", 2, priority=10))
        await until(lambda: len(lower.configured()) == 2)
        await operator.report(whole_nodes("shop", 1, priority=1_000_000))
        await until(lambda: len(operator.configured()) == 1, lambda: coordinator.log.said)
        moved = await coordinator.client.transfers(include_finished=True)
        assert TransferTier.DRAIN in {each.tier for each in moved}
