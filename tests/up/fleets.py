"""Whole fleets for tests: on free ports, many times as fast as life, watched cycle by cycle."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import NullLog
from bigfleet.model.coordination import Transfer, TransferState
from bigfleet.process import ProcessContext
from bigfleet.sim.script import Change
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.plans import FleetPlan
from bigfleet.up.reports import ClusterReport, CycleReport
from tests.up.unhurried_clock import UnhurriedClock

PATIENCE_SECONDS = 60.0
#: A quarter of the small fleet, on any free ports, and a minute in six seconds.
FAST = FleetPlan(
    machines=300,
    speed=10,
    shard_port=0,
    provider_port=0,
    metrics_port=0,
    coordinator_port=0,
    coordinator_metrics_port=0,
)


def context(clock: Clock | None = None) -> ProcessContext:
    numbers = count(1)
    return ProcessContext(
        clock or UnhurriedClock(),
        NullLog(),
        new_id=lambda: f"id-{next(numbers)}",
        version="test",
    )


@asynccontextmanager
async def running(
    plan: FleetPlan, changed: Callable[[Change], None] | None = None
) -> AsyncIterator[LocalFleet]:
    fleet = LocalFleet(plan, context(), changed)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await fleet.start()
    try:
        yield fleet
    finally:
        await fleet.stop()


async def seen(fleet: LocalFleet, wanted: Callable[[CycleReport], bool]) -> CycleReport:
    """The first report of which `wanted` holds."""
    found: asyncio.Future[CycleReport] = asyncio.get_running_loop().create_future()

    def heard(report: CycleReport) -> None:
        if not found.done() and wanted(report):
            found.set_result(report)

    following = asyncio.create_task(fleet.follow(heard))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await found
    finally:
        following.cancel()
        await asyncio.wait({following})


async def moved(fleet: LocalFleet, state: TransferState) -> Transfer:
    """The first transfer that comes into this state."""
    found: asyncio.Future[Transfer] = asyncio.get_running_loop().create_future()

    def heard(transfer: Transfer) -> None:
        if not found.done() and transfer.state is state:
            found.set_result(transfer)

    following = asyncio.create_task(fleet.follow_moves(heard))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await found
    finally:
        following.cancel()
        await asyncio.wait({following})


def is_served(report: CycleReport) -> bool:
    """Every cluster has demand and all of its pods run."""
    return all(map(has_all_it_wants, report.clusters))


def has_all_it_wants(cluster: ClusterReport) -> bool:
    return 0 < cluster.pods == cluster.running
