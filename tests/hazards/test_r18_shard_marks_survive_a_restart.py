"""R18, the shard's half: terms and done instructions are remembered, after every restart."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bigfleet.model.coordinator_calls import AckOutcome
from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import ReportSettings
from tests.coordclient.coordinators import Coordinator, assign, coordinators
from tests.shard_system.rig import QUICK, ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until

OFTEN = ReportSettings(interval=Seconds(0.05), backoff_min=Seconds(0.01), backoff_max=Seconds(0.05))


@asynccontextmanager
async def living(folder: Path, provider: str, coordinator: Coordinator) -> AsyncIterator[ShardRig]:
    """One life of a shard that reports."""
    settings = replace(
        QUICK, ownership="all", coordinator_addr=(coordinator.address,), report=OFTEN
    )
    async with sharded(folder, [provider], settings) as rig:
        yield rig


async def test_r18_a_done_instruction_is_not_done_again_after_a_restart(tmp_path: Path) -> None:
    async with (
        coordinators(1) as [leader],
        provided(tmp_path, [offered("on_demand", 1)]) as provider,
    ):
        leader.asks(assign("i-1", 1))
        async with living(tmp_path, provider.address, leader):
            await until(lambda: leader.heard and leader.acks)
        assert leader.acks[0] == ("i-1", AckOutcome.ACCEPTED, "")
        heard = len(leader.heard)
        async with living(tmp_path, provider.address, leader):
            await until(lambda: len(leader.heard) > heard and leader.acks)
        assert leader.acks == [("i-1", AckOutcome.ACCEPTED, "duplicate-redelivery")]


async def test_r18_a_stale_leader_is_ignored_after_a_restart(tmp_path: Path) -> None:
    async with (
        coordinators(1) as [leader],
        provided(tmp_path, [offered("on_demand", 1)]) as provider,
    ):
        leader.asks(term=9)
        async with living(tmp_path, provider.address, leader) as rig:
            await until(lambda: rig.counted("coordinator_reports_total", result="ok"))
        leader.asks(assign("i-1", 1, term=8), term=8)
        async with living(tmp_path, provider.address, leader) as again:
            await until(lambda: again.counted("coordinator_reports_total", result="stale_term"))
            assert (
                again.counted("instructions_total", kind="assign_domain", outcome="accepted") == 0
            )


async def test_r18_an_instruction_of_an_old_term_is_rejected_as_stale_after_a_restart(
    tmp_path: Path,
) -> None:
    async with (
        coordinators(1) as [leader],
        provided(tmp_path, [offered("on_demand", 1)]) as provider,
    ):
        leader.asks(term=9)
        async with living(tmp_path, provider.address, leader) as rig:
            await until(lambda: rig.counted("coordinator_reports_total", result="ok"))
        leader.asks(assign("i-1", 1, term=8), term=9)
        async with living(tmp_path, provider.address, leader):
            await until(lambda: leader.acks)
        assert leader.acks[0][:2] == ("i-1", AckOutcome.REJECTED_STALE)
