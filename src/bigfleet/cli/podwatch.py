"""`bigfleet podwatch`: run one replica of the pod controller until it is told to stop."""

import random
import secrets
import socket
import sys
import time
from typing import TYPE_CHECKING

import click

from bigfleet import __version__
from bigfleet.cli.daemons import run_daemon
from bigfleet.cli.reload import SettingsReload
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import LOG, PODWATCH, LogSettings
from bigfleet.cli.terminal import refuse
from bigfleet.podwatch.settings import PodwatchSettings

if TYPE_CHECKING:
    from bigfleet.edge.logs import Log


@click.command()
@configured(PODWATCH, LOG)
def podwatch(configuration: Configuration) -> None:
    """Run the pod controller of a cluster: one CapacityRequest for every pod.

    Pods that wait, or run on machines of the fleet, ask; pods on other nodes do not. Runs beside
    the operator in a managed cluster; two replicas are safe, one of them writes
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
    import asyncio

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
    from bigfleet.edge.driver import RealClock
    from bigfleet.podwatch.driving.process import PodwatchProcess, World

    identity = f"{socket.gethostname()}_{secrets.token_hex(4)}"
    world = World(RealClock(), time.perf_counter, random.random, log, identity, __version__)
    process = PodwatchProcess(configuration.of(PodwatchSettings), world)
    await run_daemon(
        process, "podwatch", SettingsReload(configuration, lambda read: None, log), log
    )
