"""`bigfleet podwatch`: run one replica of the pod controller until it is told to stop."""

import asyncio
import os
import random
import secrets
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING

import click

from bigfleet import __version__
from bigfleet.cli.reloading import Reloading
from bigfleet.cli.settings.loading import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import LOG, PODWATCH, LogSettings
from bigfleet.cli.terminal import refuse
from bigfleet.podwatch.settings import PodwatchSettings

if TYPE_CHECKING:
    from bigfleet.edge.logs import Log


@click.command()
@configured(PODWATCH, LOG)
def podwatch(configuration: Configuration) -> None:
    """Run the pod controller of a cluster: one CapacityRequest for every live pod.

    Runs beside the operator in a managed cluster; two replicas are safe, one of them writes
    (Lease bigfleet-podwatch). CapacityBuffers become demand where the cluster has them. Settings
    come from flags, then BIGFLEET_PODWATCH_... variables, then --config FILE, then defaults;
    --print-config shows what is in force and where it comes from. SIGHUP reads the file again,
    SIGTERM and Ctrl-C stop in order.

    \b
    Example, from outside of the cluster:
      bigfleet operator crds | kubectl apply -f -
      bigfleet podwatch --kubeconfig ~/.kube/config --exclude-namespaces kube-system

    \b
    Example of a --priority-class-defaults file, penalties in dollars:
      critical:
        interruptionPenalty: 500
        reclamationPenalty: 2.50
    """
    from bigfleet.edge.driver import RealClock
    from bigfleet.edge.log_lines import open_log
    from bigfleet.podwatch.driving.process import StartRefused

    clock = RealClock()
    lines = configuration.of(LogSettings)
    log = open_log(
        sys.stderr, "podwatch", clock.now, text=lines.format == "text", level=lines.level
    )
    try:
        asyncio.run(_served(configuration, log))
    except (StartRefused, OSError) as problem:
        raise refuse(str(problem).splitlines()) from None


async def _served(configuration: Configuration, log: "Log") -> None:
    """Never returns: it ends the process, or raises where that must not start."""
    from bigfleet.edge.collecting import collect_rarely
    from bigfleet.edge.driver import RealClock
    from bigfleet.podwatch.driving.process import CoreTaskDied, PodwatchProcess, World

    clock = RealClock()
    collecting = asyncio.create_task(collect_rarely(clock))
    identity = f"{socket.gethostname()}_{secrets.token_hex(4)}"
    draw = random.Random(secrets.randbits(64)).random
    world = World(clock, time.perf_counter, draw, log, identity, __version__)
    process = PodwatchProcess(configuration.of(PodwatchSettings), world)
    # Before the start says that it is up: whoever waits for that may ask for the end at once.
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    reloading = Reloading(configuration, lambda read: None, log)
    loop.add_signal_handler(signal.SIGHUP, reloading.reload)
    await process.start()
    stopping = asyncio.ensure_future(asked.wait())
    living = asyncio.ensure_future(process.until_dead())
    await asyncio.wait({stopping, living}, return_when=asyncio.FIRST_COMPLETED)
    code = 0
    if living.done() and isinstance(problem := living.exception(), CoreTaskDied):
        log.error("podwatch.died", msg=str(problem))
        code = 1
    collecting.cancel()
    await process.stop()
    # To return would be to wait for every thread, and one may hang on a disk.
    sys.stderr.flush()
    os._exit(code)
