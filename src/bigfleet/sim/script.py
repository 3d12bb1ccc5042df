"""What happens to the clusters, written down beforehand: deploys, waves, gangs, surges, losses.

Pure and endless: one seed gives one script. Sizes are in nodes of the small fleet (1,200 machines)
and grow with the fleet; the checkout surge need not, where its machines have to come from another
shard, since what moves at a time does not grow either. The sum of everything stays below what the
fleet has, and the checkout surge below the machines with a security module, so that supply can
always meet demand.

| who | when | nodes |
|---|---|---|
| shop: web, api, search, cache | from 1 s; up at 20 s and 35 s, then tides of 4 min | 115-225 |
| shop: exporter, tiny pods | from 1 s | 1 |
| shop: a deploy of one of them | every 45-75 s, for 20-30 s | a quarter of it more |
| ml: gangs of 16 in one rack | at 0, 18 and 36 s, then every 40-70 s, each for 90-240 s | 0-96 |
| batch: etl | from 1 s | 90 |
| batch: waves of jobs | at 12 s, then every 45-80 s, each for 60-110 s | 40-100 each |
| shop: checkout, class critical | at 48 s, then every 150-210 s, for 40-60 s | 36-44 |
| shop: a Node is deleted | at 75 s, then every 120-240 s | 1 less |

Nodes are counted by what fits on one without the others; pods that share nodes need fewer.
"""

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from bigfleet.sim.workloads import (
    BATCH,
    CACHE,
    HUNGRY_JOB,
    LARGE_JOB,
    LARGE_WEB,
    ML,
    SHOP,
    SMALL_JOB,
    SMALL_WEB,
    TINY,
    Workload,
    checkout,
    gang,
    job,
    web,
)

GANG_NODES = 16
#: The first gangs by number: one after the other, so that each finds the nodes that came for it.
_GANG_STARTS = {1: 18.0, 2: 36.0}
PODS_PER_NODE = {SMALL_WEB: 5, LARGE_WEB: 1, CACHE: 2, SMALL_JOB: 3, LARGE_JOB: 1, HUNGRY_JOB: 3}
#: After the first gang, which so finds a whole rack of machines that cost nothing.
_FIRST_SECONDS = 1.0
_TIDE_STEP_SECONDS = 20.0
#: The first minute has its own steps.
_NEXT_SECONDS = {_FIRST_SECONDS: 20.0, 20.0: 35.0}
_TIDE_SECONDS = 240.0
#: Shares of the shop's demand, and the pods of each.
_DEPLOYMENTS = {
    "web": (0.4, SMALL_WEB),
    "api": (0.3, SMALL_WEB),
    "search": (0.2, LARGE_WEB),
    "cache": (0.1, CACHE),
}
_EXPORTERS = 130
#: Of one wave after the other.
_JOBS = (LARGE_JOB, SMALL_JOB, HUNGRY_JOB)


@dataclass(frozen=True, slots=True)
class WorkloadScale:
    """From then on the workload has this many pods; none: it is gone."""

    at_seconds: float
    cluster: str
    workload: Workload
    replicas: int

    @property
    def order(self) -> tuple[float, str, str]:
        return (self.at_seconds, self.cluster, self.workload.name)


@dataclass(frozen=True, slots=True)
class NodeLoss:
    """A Node object is deleted while its machine runs."""

    at_seconds: float
    cluster: str
    #: Which one: how far along the cluster's nodes, from 0 to 1.
    place: float

    @property
    def order(self) -> tuple[float, str, str]:
        return (self.at_seconds, self.cluster, "")


Change = WorkloadScale | NodeLoss


def living_script(
    seed: int, size: float = 1.0, *, own: bool = True, surge_size: float | None = None
) -> Iterator[Change]:
    """`size`: the fleet as a multiple of the small one; `own`: it is the demo fleet, with security
    modules and machines of 8 cpu; `surge_size`: that of the checkout surge, if it is another one.

    Machines of another's provider may be small: a Need whose largest pod fits on none gets none, so
    there all pods of a deployment or job are small ones.
    """
    streams: tuple[Iterator[Change], ...] = (
        _shop(Random(f"{seed}/shop"), size, mixed=own),
        _gangs(Random(f"{seed}/gangs"), size),
        _etl(size),
        _waves(Random(f"{seed}/waves"), size, mixed=own),
        _surges(Random(f"{seed}/surges"), size if surge_size is None else surge_size, secure=own),
        _losses(Random(f"{seed}/losses")),
    )
    return heapq.merge(*streams, key=lambda scale: scale.order)


def _shop(chance: Random, size: float, *, mixed: bool) -> Iterator[WorkloadScale]:
    """Each deployment follows the tide; a rollout holds old and new pods side by side."""
    streams = [
        _deployment(
            Random(chance.random()), web(name, request if mixed else SMALL_WEB), share * size
        )
        for name, (share, request) in _DEPLOYMENTS.items()
    ]
    exporters = WorkloadScale(_FIRST_SECONDS, SHOP, web("exporter", TINY), round(_EXPORTERS * size))
    return heapq.merge([exporters], *streams, key=lambda scale: scale.order)


def shop_of(nodes: float) -> list[tuple[Workload, int]]:
    """The deployments of a shop that needs about so many nodes, and the pods of each."""
    return [
        (web(name, request), max(1, round(nodes * share * PODS_PER_NODE[request])))
        for name, (share, request) in _DEPLOYMENTS.items()
    ]


def _deployment(chance: Random, workload: Workload, share: float) -> Iterator[WorkloadScale]:
    def pods(nodes: float) -> int:
        return max(1, round(nodes * share * PODS_PER_NODE[workload.request]))

    at, next_deploy = _FIRST_SECONDS, chance.uniform(45, 75) * len(_DEPLOYMENTS)
    while True:
        nodes = _tide(at, chance)
        yield WorkloadScale(at, SHOP, workload, pods(nodes))
        after = _NEXT_SECONDS.get(at, at + _TIDE_STEP_SECONDS)
        if at <= next_deploy < after:
            began = max(at + 1.0, next_deploy)
            ends = min(began + chance.uniform(20, 30), after + _TIDE_STEP_SECONDS)
            yield WorkloadScale(began, SHOP, workload, pods(nodes * 1.25))
            yield WorkloadScale(ends, SHOP, workload, pods(nodes))
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


def _gangs(chance: Random, size: float) -> Iterator[WorkloadScale]:
    """A larger fleet trains more runs at a time, each of the same size."""
    twins = max(1, round(size))
    number, start = 0, 0.0
    ends: list[tuple[float, str]] = []
    while True:
        for twin in range(twins):
            name = f"train-{number}" + (f"-{twin}" if twin else "")
            yield WorkloadScale(start, ML, gang(name), GANG_NODES)
            heapq.heappush(ends, (start + chance.uniform(90, 240), name))
        next_start = _GANG_STARTS.get(number + 1, start + chance.uniform(40, 70))
        while ends and ends[0][0] <= next_start:
            at, name = heapq.heappop(ends)
            yield WorkloadScale(at, ML, gang(name), 0)
        number, start = number + 1, next_start


def _etl(size: float) -> Iterator[WorkloadScale]:
    yield WorkloadScale(
        _FIRST_SECONDS, BATCH, job("etl"), round(90 * size) * PODS_PER_NODE[SMALL_JOB]
    )


def _waves(chance: Random, size: float, *, mixed: bool) -> Iterator[WorkloadScale]:
    number, start = 0, 12.0
    ends: list[tuple[float, str]] = []
    while True:
        while ends and ends[0][0] <= start:
            at, name = heapq.heappop(ends)
            yield WorkloadScale(at, BATCH, job(name), 0)
        name = f"wave-{number}"
        nodes = 80 if number == 0 else chance.randint(40, 100)
        request = _JOBS[number % len(_JOBS)] if mixed else SMALL_JOB
        yield WorkloadScale(
            start, BATCH, job(name, request), round(nodes * size) * PODS_PER_NODE[request]
        )
        heapq.heappush(ends, (start + chance.uniform(60, 110), name))
        number, start = number + 1, start + chance.uniform(45, 80)


def _surges(chance: Random, size: float, *, secure: bool) -> Iterator[WorkloadScale]:
    number, start = 0, 48.0
    while True:
        workload = checkout(f"checkout-{number}", secure=secure)
        nodes = chance.randint(36, 44)
        yield WorkloadScale(start, SHOP, workload, round(nodes * size) * PODS_PER_NODE[SMALL_WEB])
        yield WorkloadScale(start + chance.uniform(40, 60), SHOP, workload, 0)
        number, start = number + 1, start + chance.uniform(150, 210)


def _losses(chance: Random) -> Iterator[NodeLoss]:
    at = 75.0
    while True:
        yield NodeLoss(at, SHOP, chance.random())
        at += chance.uniform(120, 240)
