"""`bigfleet shard`: run one shard until it is told to stop."""

import secrets
import sys
import time
from typing import TYPE_CHECKING

import click

from bigfleet import __version__
from bigfleet.cli.daemons import run_daemon
from bigfleet.cli.reload import SettingsReload
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import LOG, SHARD, TLS, LogSettings, TlsSettings
from bigfleet.cli.terminal import refuse
from bigfleet.shard.settings import ShardSettings

if TYPE_CHECKING:
    import asyncio

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
    import asyncio

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
    from bigfleet.edge.driver import RealClock
    from bigfleet.shard.driving.process import ShardProcess, World

    settings, tls = configuration.of(ShardSettings), configuration.of(TlsSettings).files()
    if tls is None:
        text = "no certificates: every connection is plaintext and no identity is checked"
        log.warning("tls.off", msg=text)
    world = World(RealClock(), time.perf_counter, _new_id, log, tls, __version__)
    process = ShardProcess(settings, world)

    def apply(read: Configuration) -> None:
        process.apply_settings(read.of(ShardSettings))

    reload = SettingsReload(configuration, apply, log)
    await run_daemon(process, "shard", reload, log, lambda: _reporting(process, world))


def _reporting(process: "ShardProcess", world: "World") -> "asyncio.Task[None] | None":
    """The shard lives on without it, whatever ends it."""
    import asyncio

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
