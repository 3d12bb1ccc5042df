"""`bigfleet operator`: run a cluster's end of the fleet; `operator crds` prints what it needs."""

import random
import secrets
import socket
import sys
import time
from typing import TYPE_CHECKING

import click

from bigfleet import __version__
from bigfleet.cli.daemons import run_daemon
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.reload import SettingsReload
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import LOG, OPERATOR, TLS, LogSettings, TlsSettings
from bigfleet.cli.terminal import refuse, write_out
from bigfleet.operator.settings import OperatorSettings

if TYPE_CHECKING:
    from bigfleet.edge.logs import Log


class _Run(DefaultVerb):
    default = "run"


@click.group(cls=_Run)
def operator() -> None:
    """Run the operator of one cluster: what it needs goes out, machines come in.

    It reads CapacityRequests, tells the shard, hands machines what they need to join, and gives
    them back the polite way: cordon, eviction through disruption budgets, acknowledgement. It dials
    out only. While it has no session with the shard it changes nothing in the cluster. Two replicas
    are safe: one holds the lease, the other waits.

    \b
    Example, from outside the cluster, with the certificate of `bigfleet certs`:
      bigfleet operator crds | kubectl apply -f -
      bigfleet operator --cluster-id prod-1 --shard-addr shard-0.fleet:7780 \\
        --kubeconfig ~/.kube/config --bootstrap-template-file join.tmpl \\
        --tls-cert prod-1.crt --tls-key prod-1.key --tls-ca ca.crt
    """


@operator.command()
def crds() -> None:
    """Print the three custom resource definitions as YAML, for kubectl apply -f -."""
    from bigfleet.kube.crd_files import crd_documents

    write_out(crd_documents().encode())


@operator.command()
@configured(OPERATOR, TLS, LOG)
def run(configuration: Configuration) -> None:
    """Run it until it is told to stop (the default).

    Settings come from flags, then BIGFLEET_OPERATOR_... variables, then --config FILE, then
    defaults; --print-config shows what is in force and where it comes from. SIGHUP reads the file
    again, SIGTERM and Ctrl-C stop in order.
    """
    import asyncio

    from bigfleet.edge.driver import RealClock
    from bigfleet.edge.log_lines import open_log
    from bigfleet.kube.connection import BadKubeconfig
    from bigfleet.operator.driving.bootstrap_requests import BadTemplateFile

    clock = RealClock()
    lines = configuration.of(LogSettings)
    log = open_log(
        sys.stderr, "operator", clock.now, text=lines.format == "text", level=lines.level
    )
    try:
        asyncio.run(_served(configuration, log))
    except (BadKubeconfig, BadTemplateFile, OSError) as problem:
        raise refuse([str(problem)]) from None


async def _served(configuration: Configuration, log: "Log") -> None:
    """Never returns: it ends the process, or raises where that must not start."""
    from bigfleet.edge.driver import RealClock
    from bigfleet.operator.driving.process import OperatorProcess
    from bigfleet.operator.driving.world import World

    settings, tls = configuration.of(OperatorSettings), configuration.of(TlsSettings).files()
    if tls is None:
        text = (
            "no certificates: the connection to the shard is plaintext and no identity is checked"
        )
        log.warning("tls.off", msg=text)
    identity = settings.identity or f"{socket.gethostname()}-{secrets.token_hex(3)}"
    world = World(
        RealClock(),
        time.perf_counter,
        random.random,
        secrets.token_bytes,
        log,
        identity,
        tls,
        __version__,
    )
    process = OperatorProcess(settings, world)

    def apply(read: Configuration) -> None:
        process.apply_settings(read.of(OperatorSettings))

    await run_daemon(process, "operator", SettingsReload(configuration, apply, log), log)
