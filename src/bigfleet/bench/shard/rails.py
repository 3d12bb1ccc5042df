"""What the verifier and the watch for thrash cost the cycles of a loaded shard.

Both are on the cycle's path. Roll-ups come and clusters ask for machines meanwhile, so that there
is something to verify and to watch; blocks with it on and off take turns (`bench/paired.py`).
"""

import asyncio
from itertools import cycle, islice
from typing import Any

from bigfleet.bench.measures import Measure
from bigfleet.bench.paired import Round, measures_of, turns
from bigfleet.bench.processes import Child
from bigfleet.bench.shard.fleet import ShardScale
from bigfleet.bench.shard.operators import Operators

ROUNDS = 6
#: What is switched, as the shard is told, and as people are.
RAILS = {"verifier": "verifier", "thrash": "thrash watch"}
#: Blocks in the time of a phase.
_BLOCKS_A_PHASE = 5
_HURRY_SECONDS = 0.05


async def rail_rows(shard: Child, operators: Operators, scale: ShardScale) -> list[Measure]:
    found: list[Measure] = []
    asking = cycle(range(scale.sessions))
    for word, name in RAILS.items():
        cpu = [Round() for _ in range(ROUNDS)]
        clock = [Round() for _ in range(ROUNDS)]
        for number, is_on in turns(ROUNDS):
            await shard.ask(f"{word} {'on' if is_on else 'off'}")
            for cost in await _block(shard, operators, scale, asking):
                clock[number].of(is_on=is_on).append(cost[0])
                cpu[number].of(is_on=is_on).append(cost[1])
        await shard.ask(f"{word} on")
        found += measures_of(name, "CPU", cpu)
        found += measures_of(name, "by the clock", clock)
    return found


async def _block(
    shard: Child, operators: Operators, scale: ShardScale, asking: "cycle[int]"
) -> list[Any]:
    """Costs of its cycles but for the first, on which the block before still weighs."""
    seconds = scale.seconds / _BLOCKS_A_PHASE
    clusters = list(islice(asking, max(1, scale.probes // _BLOCKS_A_PHASE)))
    await asyncio.gather(
        operators.report_for(seconds, scale.rollups_per_second), operators.probe(seconds, clusters)
    )
    costs: list[Any] = []
    while len(costs) < 2:
        costs += (await shard.ask())["costs"]
        await asyncio.sleep(_HURRY_SECONDS)
    return costs[1:]
