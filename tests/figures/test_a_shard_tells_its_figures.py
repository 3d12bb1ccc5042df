"""Figures of a living shard: of its last cycle, and the same as its machines one by one."""

from collections import Counter

from bigfleet.model.figures import SPENDING_AXES, CostAxis
from bigfleet.model.machines import MachineState
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.up.fleets import FAST, is_served, running, seen


async def test_figures_are_those_of_the_machines_and_of_the_cycles() -> None:
    async with running(FAST) as fleet:
        await seen(fleet, is_served)
        (address,) = [fleet.addresses[name] for name in fleet.shards]
        async with ShardAdminClient(address) as shard:
            found = await shard.figures()
            again = await shard.figures()
        (process,) = fleet.shards.values()
        finished = process.state.decision_loop.finished
    assert finished is not None
    assert found.cycle > 0
    assert again.cycle >= found.cycle
    assert found.machines == sum(each.machines for each in found.sorts) == FAST.machines
    real = sum(s.machines for s in found.sorts if s.state is not MachineState.SPECULATIVE)
    by_axis = Counter[CostAxis]()
    for row in found.spending:
        by_axis[row.axis] += row.machines
    assert by_axis == dict.fromkeys(SPENDING_AXES, real)
    assert {"shop", "ml", "batch"} <= {row.name for row in found.spending}
    assert sum(found.demand_by_bucket.values()) == sum(
        c.met + c.arriving + c.blocked + c.short for c in found.classes
    )
    assert found.actions["Bootstrap"] > 0
    whole = next(each for each in found.durations if not each.phase)
    assert sum(whole.counts) >= found.cycle
    assert len(whole.counts) == len(found.edges) + 1
