"""Two shards with one id on different data dirs: the older life is fenced out and gives in."""

from pathlib import Path

from bigfleet.model.machines import MachineState
from tests.shard_system.demand import LOW
from tests.shard_system.operators import operating
from tests.shard_system.rig import offered, provided, sharded
from tests.shard_system.waiting import until, until_told


async def test_the_lower_epoch_is_fenced_and_does_not_try_again(tmp_path: Path) -> None:
    newer_dir = tmp_path / "newer"
    newer_dir.mkdir()
    (newer_dir / "epoch").write_text("41\n")
    async with (
        provided(tmp_path, [offered("bare_metal", 1)]) as provider,
        sharded(tmp_path / "older", [provider.address]) as older,
        sharded(newer_dir, [provider.address]) as newer,
        operating("bank", newer.address) as bank,
        operating("shop", older.address) as shop,
    ):
        await bank.wants(1, LOW)
        await until(lambda: bank.configured(), lambda: bank.nodes)
        await bank.wants(0, LOW)

        async def free() -> bool:
            return await provider.states() == {MachineState.IDLE: 1}

        await until_told(free)
        await shop.wants(1, LOW)
        await until(lambda: older.counted("machine_failures_total", cause="fenced"))
        assert older.counted("action_execute_outcomes_total", kind="Bootstrap", outcome="fenced")
        cycles = older.cycles
        await until(lambda: older.cycles > cycles + 10)
        assert (
            older.counted("action_execute_outcomes_total", kind="Bootstrap", outcome="fenced") == 1
        )
        assert older.process.state.effects.counts.of("failed_machines", cause="fenced") == 1
        assert [f["outcome"] for f in older.log.events("action_failed")] == ["fenced"]
        assert await provider.states() == {MachineState.IDLE: 1}
        assert shop.configured() == set()
        assert (older.process.state.epoch, newer.process.state.epoch) == (1, 42)
        await bank.wants(1, LOW)
        await until(lambda: bank.configured(), lambda: bank.nodes)
