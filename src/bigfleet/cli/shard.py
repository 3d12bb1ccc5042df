"""`bigfleet shard`: run one shard until it is told to stop."""

import asyncio
import os
import secrets
import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from bigfleet import __version__
from bigfleet.cli.reloading import Reloading
from bigfleet.cli.settings.loading import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import LOG, SHARD, TLS, LogSettings, TlsSettings
from bigfleet.cli.terminal import refuse
from bigfleet.shard.settings import ShardSettings

if TYPE_CHECKING:
    from bigfleet.edge.logs import Log
    from bigfleet.shard.driving.process import ShardProcess, World


@click.command()
@configured(SHARD, TLS, LOG)
def shard(configuration: Configuration) -> None:
    """Run a shard: one inventory, one engine, the sessions of its clusters.

    Settings come from flags, then BIGFLEET_SHARD_... variables, then --config FILE, then defaults;
    --print-config shows what is in force and where it comes from. SIGHUP reads the file again,
    SIGTERM and Ctrl-C stop in order.

    \b
    Example, with a simulated provider on its default port:
      bigfleet provider run sim --preset demo &
      bigfleet shard --provider-addr sim=127.0.0.1:9000 --data-dir ./data
    """
    from bigfleet.edge.driver import RealClock
    from bigfleet.edge.log_lines import open_log
    from bigfleet.shard.epoch import StartRefused

    clock = RealClock()
    lines = configuration.of(LogSettings)
    log = open_log(sys.stderr, "shard", clock.now, text=lines.format == "text", level=lines.level)
    try:
        asyncio.run(_served(configuration, log))
    except (StartRefused, OSError) as problem:
        raise refuse([str(problem)]) from None


async def _served(configuration: Configuration, log: "Log") -> None:
    """Never returns: it ends the process, or raises where that must not start."""
    from bigfleet.edge.collecting import collect_rarely
    from bigfleet.edge.driver import RealClock
    from bigfleet.shard.driving.process import CoreTaskDied, ShardProcess, World

    settings, tls = configuration.of(ShardSettings), configuration.of(TlsSettings).files()
    if tls is None:
        text = "no certificates: every line is plaintext and nobody's identity is checked"
        log.warning("tls.off", msg=text)
    clock = RealClock()
    collecting = asyncio.create_task(collect_rarely(clock))
    world = World(clock, time.perf_counter, _new_id, log, tls, __version__)
    process = ShardProcess(settings, world)
    # Before the start says that it is up: whoever waits for that may ask for the end at once.
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)

    def apply(read: Configuration) -> None:
        process.apply_settings(read.of(ShardSettings))

    loop.add_signal_handler(signal.SIGHUP, Reloading(configuration, apply, log).reload)
    await process.start()
    reporting = _reporting(process, world)
    stopping = asyncio.ensure_future(asked.wait())
    living = asyncio.ensure_future(process.until_dead())
    await asyncio.wait({stopping, living}, return_when=asyncio.FIRST_COMPLETED)
    code = 0
    if living.done() and isinstance(problem := living.exception(), CoreTaskDied):
        log.error("shard.died", msg=str(problem))
        code = 1
    if reporting is not None:
        reporting.cancel()
    collecting.cancel()
    await process.stop()
    # Everything is durable and closed. To return would be to wait for every thread, and one may
    # hang on a disk.
    sys.stderr.flush()
    os._exit(code)


def _reporting(process: "ShardProcess", world: "World") -> "asyncio.Task[None] | None":
    """The shard lives on without it, whatever ends it."""
    from bigfleet.cli.coordinator_reports import reporting_of

    client = reporting_of(process, world)
    if client is None:
        return None

    def ended(task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (problem := task.exception()) is not None:
            text = f"no more reports to the coordinator until a restart: {problem!r}"
            world.log.error("coordinator.client", msg=text)

    task = asyncio.create_task(client.run(), name="coordinator")
    task.add_done_callback(ended)
    return task


def _new_id() -> str:
    return secrets.token_hex(8)
