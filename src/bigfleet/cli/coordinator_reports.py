"""Puts the coordinator's client beside a shard: whom it asks, how often, and with whose hands."""

import random
from functools import partial

from bigfleet.coordclient.driver import ClientContext, CoordinatorClient
from bigfleet.coordclient.report_schedule import Pace
from bigfleet.shard.driving.process import ShardProcess, World
from bigfleet.wire.coordinator_client import CoordinatorLines


def reporting_of(process: ShardProcess, world: World) -> CoordinatorClient | None:
    """None where no coordinator is named."""
    settings, state, side = process.state.settings, process.state, process.coordinating
    if not settings.coordinator_addr:
        return None
    client = CoordinatorClient(
        settings.coordinator_addr,
        CoordinatorLines(world.tls, world.times),
        ClientContext(
            clock=world.clock,
            chance=random.random,
            log=world.log,
            report=side.report,
            sync_request=side.sync_request,
            take_sync=side.take_sync,
            obey=side.obey,
            keep=side.keep,
            count=state.effects.counts.add,
            pace=partial(_pace_of, process),
            call_timeout_seconds=settings.report.call_timeout,
            kept=side.marks(),
        ),
    )
    state.coordination.attach(client)
    return client


def _pace_of(process: ShardProcess) -> Pace:
    report = process.state.settings.report
    return Pace(report.interval, report.backoff_min, report.backoff_max)
