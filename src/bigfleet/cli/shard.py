"""`bigfleet shard`: run one shard until it is told to stop."""

import click

from bigfleet.cli.daemons import run_daemon
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import LOG, SHARD, TLS
from bigfleet.cli.settings.web_section import WEB
from bigfleet.shard.settings import ShardSettings


@click.command()
@configured(SHARD, TLS, LOG, WEB)
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
    from bigfleet.shard.driving.process import ShardProcess

    run_daemon("shard", configuration, ShardSettings, ShardProcess)
