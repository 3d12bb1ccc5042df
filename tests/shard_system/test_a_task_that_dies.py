"""A shard exits if one of its tasks ends, and says so."""

import asyncio
from pathlib import Path

import pytest

from bigfleet.model.machines import Instant
from bigfleet.process import CoreTaskDied
from bigfleet.shard.reconciling.list_schedule import ListPlan
from tests.shard_system.rig import offered, provided, sharded
from tests.shard_system.waiting import PATIENCE


async def test_the_end_of_a_core_task_is_the_end_of_the_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(provider: str, at: Instant) -> ListPlan:
        raise ZeroDivisionError(provider)

    async with (
        provided(tmp_path, [offered("bare_metal", 1)]) as provider,
        sharded(tmp_path / "data", [provider.address]) as shard,
        asyncio.timeout(PATIENCE),
    ):
        monkeypatch.setattr(shard.process.state, "next_list", broken)
        with pytest.raises(CoreTaskDied, match="reconcile p0"):
            await shard.process.until_dead()
