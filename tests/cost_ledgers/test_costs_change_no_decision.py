"""Costs are beside the decisions: with or without a ledger a shard does the same."""

import asyncio
from dataclasses import replace
from pathlib import Path

from bigfleet.model.shard_views import ActionView
from bigfleet.shard.driving.costs import FILE_NAME
from bigfleet.shard.settings import CostSettings
from tests.cost_ledgers.simulated_day import SimulatedDay
from tests.shard_system.rig import QUICK, sharded
from tests.shard_system.waiting import until


async def lived(folder: Path, *, kept: bool) -> list[list[ActionView]]:
    day = SimulatedDay(folder, kept=kept)
    try:
        await day.run(2)
        return [list(shard.state.decision_loop.actions) for shard in day.shards]
    finally:
        await day.close()


def test_without_a_ledger_every_action_is_the_same(tmp_path: Path) -> None:
    with_it = asyncio.run(lived(tmp_path, kept=True))
    assert asyncio.run(lived(tmp_path, kept=False)) == with_it
    assert min(map(len, with_it)) > 20


async def test_a_shard_keeps_costs_unless_it_is_told_not_to(tmp_path: Path) -> None:
    async with sharded(tmp_path, ()):
        await until((tmp_path / FILE_NAME).exists)
    (tmp_path / FILE_NAME).unlink()
    async with sharded(tmp_path, (), replace(QUICK, costs=CostSettings(enabled=False))) as rig:
        await until(lambda: rig.cycles > 2)
    assert not (tmp_path / FILE_NAME).exists()
