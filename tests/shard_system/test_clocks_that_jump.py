"""A wall clock that is set anew moves no deadline: time is read once and then counted."""

import time
from pathlib import Path

import pytest

from bigfleet.edge.driver import RealClock
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import ReclaimInstruction
from tests.shard_system.demand import LOW
from tests.shard_system.operators import operating
from tests.shard_system.rig import ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until

DAY = 24 * 3600 * 10**9
S = MachineState


async def seconds_pass(shard: ShardRig) -> None:
    """Ticks and cycles have looked at every deadline."""
    cycles, at = shard.cycles, RealClock().now()
    await until(lambda: shard.cycles > cycles + 5 and RealClock().now() - at > 2.2e9)


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["a day ahead", "a day back"])
async def test_deadlines_and_holds_do_not_see_the_wall_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    # A bought machine is kept for ten minutes, one that is given back has ten minutes of grace.
    async with (
        provided(tmp_path, [offered("on_demand", 2)]) as provider,
        sharded(tmp_path / "data", [provider.address]) as shard,
        operating("shop", shard.address) as shop,
    ):
        shop.evicts = False
        await shop.wants(2, LOW)
        await until(lambda: len(shop.configured()) == 2, lambda: shop.nodes)
        await shop.wants(1, LOW)
        await until(lambda: shop.seen(ReclaimInstruction))
        before = shard.process.state.decision_loop.last_at
        true = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: true() + jump)
        await seconds_pass(shard)
        after = shard.process.state.decision_loop.last_at
        assert before is not None
        assert after is not None
        assert before < after < before + DAY // 2
        assert len(shop.configured()) == 2
        assert shard.counted("drains_aborted_total", reason="pdb") == 0
        [instruction] = shop.seen(ReclaimInstruction)
        await shop.finish(instruction)
        await until(lambda: len(shop.nodes) == 1, lambda: shop.nodes)
        await seconds_pass(shard)
        assert await provider.states() == {S.CONFIGURED: 1, S.IDLE: 1}
