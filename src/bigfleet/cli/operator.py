"""`bigfleet operator`: run a cluster's end of the fleet; `operator crds` prints what it needs."""

import click

from bigfleet.cli.daemons import run_daemon
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import LOG, OPERATOR, TLS
from bigfleet.cli.terminal import write_out
from bigfleet.operator.settings import OperatorSettings


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
    from bigfleet.kube.kinds import crd_documents

    write_out(crd_documents().encode())


@operator.command()
@configured(OPERATOR, TLS, LOG)
def run(configuration: Configuration) -> None:
    """Run it until it is told to stop (the default).

    Settings come from flags, then BIGFLEET_OPERATOR_... variables, then --config FILE, then
    defaults; --print-config shows what is in force and where it comes from. SIGHUP reads the file
    again, SIGTERM and Ctrl-C stop in order.
    """
    from bigfleet.operator.driving.process import OperatorProcess

    run_daemon("operator", configuration, OperatorSettings, OperatorProcess)
