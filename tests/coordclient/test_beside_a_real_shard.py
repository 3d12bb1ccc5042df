"""The client beside a shard: what it reports, what `status` shows, what the shard does alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import ReportSettings
from tests.coordclient.coordinators import assign, coordinators
from tests.shard_system.demand import whole_nodes
from tests.shard_system.operators import operating
from tests.shard_system.rig import QUICK, ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until

OFTEN = ReportSettings(interval=Seconds(0.05), backoff_min=Seconds(0.01), backoff_max=Seconds(0.05))


@asynccontextmanager
async def reporting(folder: Path, provider: str, *addresses: str) -> AsyncIterator[ShardRig]:
    """A shard that owns everything and reports to these coordinators."""
    settings = replace(QUICK, ownership="all", coordinator_addr=addresses, report=OFTEN)
    async with sharded(folder, [provider], settings) as rig:
        yield rig


async def test_a_shard_reports_its_machines_and_shows_its_link(tmp_path: Path) -> None:
    async with (
        coordinators(1) as [leader],
        provided(tmp_path, [offered("on_demand", 3)]) as provider,
        reporting(tmp_path, provider.address, leader.address) as rig,
    ):
        await until(lambda: leader.heard and leader.heard[-1].summary.total_machines == 3)
        report = leader.heard[-1]
        assert report.summary.free_machines == 3
        assert dict(report.summary.per_zone_counts) == {"sim-1a": 3}
        assert report.summary.provider_address == provider.address
        assert report.shard_epoch == rig.process.state.epoch
        # Not as it was set: with port 0 the kernel has chosen one.
        assert report.shard_address == rig.address
        await until(
            lambda: (
                rig.counted("coordinator_reports_total", result="ok") > 0
                and rig.process.state.status().coordinator
            )
        )
        link = rig.process.state.status().coordinator
        assert link is not None
        assert (link.address, link.term) == (leader.address, 1)


async def test_the_term_outlives_the_shard(tmp_path: Path) -> None:
    async with (
        coordinators(1) as [leader],
        provided(tmp_path, [offered("on_demand", 1)]) as provider,
    ):
        leader.asks(assign("i-1", 1, term=9), term=9)
        async with reporting(tmp_path, provider.address, leader.address):
            await until(lambda: leader.heard and leader.acks)
        leader.asks(term=8)
        async with reporting(tmp_path, provider.address, leader.address) as again:
            await until(lambda: again.counted("coordinator_reports_total", result="stale_term"))
            link = again.process.state.status().coordinator
            assert link is not None
            assert (link.term, link.connected) == (9, False)


async def test_a_shard_whose_coordinator_is_gone_serves_its_clusters(tmp_path: Path) -> None:
    async with (
        coordinators(1) as [gone],
        provided(tmp_path, [offered("on_demand", 2)]) as provider,
        reporting(tmp_path, provider.address, gone.address) as rig,
    ):
        gone.broken = True
        async with operating("shop", rig.address) as operator:
            await operator.report(whole_nodes("shop", 1))
            await until(lambda: len(operator.configured()) == 1)
        await until(lambda: rig.counted("coordinator_reports_total", result="error") > 2)
        assert rig.process.state.why_not_ready() == ""
        assert len(rig.log.events("coordinator.trouble")) == 1


async def test_without_an_address_the_shard_does_not_report(tmp_path: Path) -> None:
    async with (
        provided(tmp_path, [offered("on_demand", 1)]) as provider,
        sharded(tmp_path, [provider.address]) as rig,
    ):
        assert "coordinator" not in rig.process.side_tasks
        assert rig.process.state.status().coordinator is None
