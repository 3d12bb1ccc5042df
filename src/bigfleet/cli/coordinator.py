"""`bigfleet coordinator`: run one replica of the coordinator until it is told to stop."""

import click

from bigfleet.cli.daemons import run_daemon
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import COORDINATOR, LOG, TLS
from bigfleet.cli.settings.web_section import WEB
from bigfleet.coordinator.settings import CoordinatorSettings


@click.command()
@configured(COORDINATOR, TLS, LOG, WEB)
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
    from bigfleet.coordinator.driving.process import CoordinatorProcess

    run_daemon("coordinator", configuration, CoordinatorSettings, CoordinatorProcess)
