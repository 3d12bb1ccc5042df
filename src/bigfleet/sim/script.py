"""What people do to the clusters, written down beforehand: deploys, waves, gangs, surges.

Pure and endless: one seed gives one script. Sizes are in nodes of the small fleet (1,200 machines)
and grow with the fleet; the checkout surge need not, where its machines have to come from another
shard, since what moves at a time does not grow either. The sum of everything stays below what the
fleet has, and the checkout surge below the machines with a security module, so that supply can
always meet demand.

| who | when | nodes |
|---|---|---|
| shop: web, api, search | from 1 s; up at 20 s and 35 s, then a tide of four minutes | 115-225 |
| shop: a deploy of one of them | every 45-75 s, for 20-30 s | a quarter of it more |
| ml: gangs of 16 in one rack | at 0, 18 and 36 s, then every 40-70 s, each for 90-240 s | 0-96 |
| batch: etl | from 1 s | 90 |
| batch: waves of jobs | at 12 s, then every 45-80 s, each for 60-110 s | 40-100 each |
| shop: checkout, class critical | at 48 s, then every 150-210 s, for 40-60 s | 36-44 |
"""

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from bigfleet.sim.workloads import BATCH, ML, SHOP, Workload, checkout, gang, job, web

GANG_NODES = 16
#: The first gangs by number: one after the other, so that each finds the nodes that came for it.
_GANG_STARTS = {1: 18.0, 2: 36.0}
_WEB_PODS_PER_NODE = 5
_JOB_PODS_PER_NODE = 3
#: After the first gang, which so finds a whole rack of machines that cost nothing.
_FIRST_SECONDS = 1.0
_TIDE_STEP_SECONDS = 20.0
#: The first minute has its own steps.
_NEXT_SECONDS = {_FIRST_SECONDS: 20.0, 20.0: 35.0}
_TIDE_SECONDS = 240.0
#: Shares of the shop's demand.
_DEPLOYMENTS = {"web": 0.5, "api": 0.3, "search": 0.2}


@dataclass(frozen=True, slots=True)
class Scale:
    """From then on the workload has this many pods; none: it is gone."""

    at_seconds: float
    cluster: str
    workload: Workload
    replicas: int

    @property
    def order(self) -> tuple[float, str, str]:
        return (self.at_seconds, self.cluster, self.workload.name)


def living_script(
    seed: int, size: float = 1.0, *, secure: bool = True, surge_size: float | None = None
) -> Iterator[Scale]:
    """`size`: the fleet as a multiple of the small one; `secure`: it has security modules;
    `surge_size`: that of the checkout surge, if it is another one."""
    streams = (
        _shop(Random(f"{seed}/shop"), size),
        _gangs(Random(f"{seed}/gangs"), size),
        _etl(size),
        _waves(Random(f"{seed}/waves"), size),
        _surges(
            Random(f"{seed}/surges"), size if surge_size is None else surge_size, secure=secure
        ),
    )
    return heapq.merge(*streams, key=lambda scale: scale.order)


def _shop(chance: Random, size: float) -> Iterator[Scale]:
    """Each deployment follows the tide; a rollout holds old and new pods side by side."""
    streams = [
        _deployment(Random(chance.random()), name, share, size)
        for name, share in _DEPLOYMENTS.items()
    ]
    return heapq.merge(*streams, key=lambda scale: scale.order)


def _deployment(chance: Random, name: str, share: float, size: float) -> Iterator[Scale]:
    workload = web(name)

    def pods(nodes: float) -> int:
        return max(1, round(nodes * share * size * _WEB_PODS_PER_NODE))

    at, next_deploy = _FIRST_SECONDS, chance.uniform(45, 75) * len(_DEPLOYMENTS)
    while True:
        nodes = _tide(at, chance)
        yield Scale(at, SHOP, workload, pods(nodes))
        after = _NEXT_SECONDS.get(at, at + _TIDE_STEP_SECONDS)
        if at <= next_deploy < after:
            began = max(at + 1.0, next_deploy)
            ends = min(began + chance.uniform(20, 30), after + _TIDE_STEP_SECONDS)
            yield Scale(began, SHOP, workload, pods(nodes * 1.25))
            yield Scale(ends, SHOP, workload, pods(nodes))
            next_deploy = began + chance.uniform(45, 75) * len(_DEPLOYMENTS)
            after = max(after, ends + 1.0)
        at = after


def _tide(at: float, chance: Random) -> float:
    """Nodes of the whole shop."""
    if at < 20.0:
        return 120.0
    if at < 35.0:
        return 170.0
    phase = (at - 35.0) / _TIDE_SECONDS
    return 165.0 + 45.0 * math.cos(2 * math.pi * phase) + chance.uniform(-5.0, 5.0)


def _gangs(chance: Random, size: float) -> Iterator[Scale]:
    """A larger fleet trains more runs at a time, each of the same size."""
    twins = max(1, round(size))
    number, start = 0, 0.0
    ends: list[tuple[float, str]] = []
    while True:
        for twin in range(twins):
            name = f"train-{number}" + (f"-{twin}" if twin else "")
            yield Scale(start, ML, gang(name), GANG_NODES)
            heapq.heappush(ends, (start + chance.uniform(90, 240), name))
        next_start = _GANG_STARTS.get(number + 1, start + chance.uniform(40, 70))
        while ends and ends[0][0] <= next_start:
            at, name = heapq.heappop(ends)
            yield Scale(at, ML, gang(name), 0)
        number, start = number + 1, next_start


def _etl(size: float) -> Iterator[Scale]:
    yield Scale(_FIRST_SECONDS, BATCH, job("etl"), round(90 * size) * _JOB_PODS_PER_NODE)


def _waves(chance: Random, size: float) -> Iterator[Scale]:
    number, start = 0, 12.0
    ends: list[tuple[float, str]] = []
    while True:
        while ends and ends[0][0] <= start:
            at, name = heapq.heappop(ends)
            yield Scale(at, BATCH, job(name), 0)
        name = f"wave-{number}"
        nodes = 80 if number == 0 else chance.randint(40, 100)
        yield Scale(start, BATCH, job(name), round(nodes * size) * _JOB_PODS_PER_NODE)
        heapq.heappush(ends, (start + chance.uniform(60, 110), name))
        number, start = number + 1, start + chance.uniform(45, 80)


def _surges(chance: Random, size: float, *, secure: bool) -> Iterator[Scale]:
    number, start = 0, 48.0
    while True:
        workload = checkout(f"checkout-{number}", secure=secure)
        nodes = chance.randint(36, 44)
        yield Scale(start, SHOP, workload, round(nodes * size) * _WEB_PODS_PER_NODE)
        yield Scale(start + chance.uniform(40, 60), SHOP, workload, 0)
        number, start = number + 1, start + chance.uniform(150, 210)
