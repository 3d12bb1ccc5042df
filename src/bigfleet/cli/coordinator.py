"""`bigfleet coordinator`: run one replica of the coordinator until it is told to stop."""

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
from bigfleet.cli.settings.sections import COORDINATOR, LOG, TLS, LogSettings, TlsSettings
from bigfleet.cli.terminal import refuse
from bigfleet.coordinator.settings import CoordinatorSettings

if TYPE_CHECKING:
    from bigfleet.edge.logs import Log


@click.command()
@configured(COORDINATOR, TLS, LOG)
def coordinator(configuration: Configuration) -> None:
    """Run a coordinator: who owns what among several shards, and moves between them.

    A fleet of one shard needs none, and no shard ever waits for one. Its rows lie in one file
    (--store sqlite, one process) or in an etcd cluster (--store etcd, several replicas, of which
    one leads). Settings come from flags, then BIGFLEET_COORDINATOR_... variables, then --config
    FILE, then defaults; --print-config shows what is in force and where it comes from. SIGHUP reads
    the file again, SIGTERM and Ctrl-C stop in order.

    \b
    Example, one process with its file in ./coord-data:
      bigfleet coordinator --data-dir ./coord-data
      bigfleet shard --id shard-0 --coordinator-addr 127.0.0.1:7790 --provider-addr ...

    \b
    Example, one of three replicas over etcd; the others differ in --id and --advertise-addr:
      bigfleet coordinator --id node-1 --listen 0.0.0.0:7790 --advertise-addr coord-1:7790 \\
        --store etcd --etcd-endpoints etcd-1:2379 --etcd-endpoints etcd-2:2379
    """
    import asyncio

    from bigfleet.coordinator.driving.process import StartRefused
    from bigfleet.edge.driver import RealClock
    from bigfleet.edge.log_lines import open_log

    clock = RealClock()
    lines = configuration.of(LogSettings)
    log = open_log(
        sys.stderr, "coordinator", clock.now, text=lines.format == "text", level=lines.level
    )
    try:
        asyncio.run(_served(configuration, log))
    except (StartRefused, OSError) as problem:
        raise refuse([str(problem)]) from None


async def _served(configuration: Configuration, log: "Log") -> None:
    """Never returns: it ends the process, or raises where that must not start."""
    from bigfleet.coordinator.driving.process import CoordinatorProcess, World
    from bigfleet.edge.driver import RealClock

    settings, tls = configuration.of(CoordinatorSettings), configuration.of(TlsSettings).files()
    if tls is None:
        text = "no certificates: every connection is plaintext and no identity is checked"
        log.warning("tls.off", msg=text)
    world = World(RealClock(), time.perf_counter, _new_id, log, tls, __version__)
    process = CoordinatorProcess(settings, world)

    def apply(read: Configuration) -> None:
        process.apply_settings(read.of(CoordinatorSettings))

    await run_daemon(process, "coordinator", SettingsReload(configuration, apply, log), log)


def _new_id() -> str:
    return secrets.token_hex(8)
