"""Puts the coordinator's client beside a shard: what it reports, where it keeps its marks."""

import asyncio
import random
from collections.abc import Callable
from functools import partial

from bigfleet.coordclient.driver import CoordinatorClient, Surroundings
from bigfleet.coordclient.reporting import Pace
from bigfleet.model.coordinator_calls import ShardReport
from bigfleet.shard.driving.process import ShardProcess, World
from bigfleet.shard.effects import MARKS
from bigfleet.shard.ledgers.summaries import summary_of
from bigfleet.wire.coordinator_client import CoordinatorLines


def reporting_of(process: ShardProcess, world: World) -> CoordinatorClient | None:
    """None where no coordinator is named."""
    settings, state = process.state.settings, process.state
    if not settings.coordinator_addr:
        return None
    client = CoordinatorClient(
        settings.coordinator_addr,
        CoordinatorLines(world.tls),
        Surroundings(
            clock=world.clock,
            chance=random.random,
            log=world.log,
            report=partial(report_of, process, world.clock.now),
            keep=partial(process.keep, MARKS),
            count=state.effects.counts.add,
            pace=partial(_pace_of, process),
            call_timeout_seconds=settings.report.call_timeout,
            kept=process.kept(MARKS),
        ),
    )
    state.coordinator_link = client.link
    return client


async def report_of(process: ShardProcess, now: Callable[[], int]) -> ShardReport:
    state = process.state
    settings = state.settings
    at, cycle = now(), state.deciding.number
    provider = next((each.rpartition("=")[2] for each in settings.provider_addr), "")
    summary = summary_of(state.parts.machines.inventory.snapshot(), provider)
    # Every Need that is short is looked at, which may be all of them: not on the event loop.
    shortfalls = await asyncio.to_thread(state.shortfalls.rows, settings.report.shortfall_limit)
    address = settings.advertise_addr or settings.listen
    return ShardReport(settings.id, cycle, at, state.epoch, address, summary, shortfalls)


def _pace_of(process: ShardProcess) -> Pace:
    report = process.state.settings.report
    return Pace(report.interval, report.backoff_min, report.backoff_max)
