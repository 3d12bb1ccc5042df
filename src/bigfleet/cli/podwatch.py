"""`bigfleet podwatch`: run one replica of the pod controller until it is told to stop."""

import click

from bigfleet.cli.daemons import run_daemon
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import LOG, PODWATCH, TLS
from bigfleet.podwatch.settings import PodwatchSettings


@click.command()
@configured(PODWATCH, TLS, LOG)
def podwatch(configuration: Configuration) -> None:
    """Run the pod controller of a cluster: one CapacityRequest for every pod.

    Pods that wait, or run on machines of the fleet, ask; pods on other nodes do not. Runs beside
    the operator in a managed cluster; two replicas are safe, one of them writes
    (Lease bigfleet-podwatch). CapacityBuffers become demand where the cluster has them, and so do
    ProvisioningRequests where --shard-addr and --cluster-id name the shard that answers them, with
    the certificate of the cluster. Settings come from flags, then BIGFLEET_PODWATCH_... variables,
    then --config FILE, then defaults; --print-config shows what is in force and where it comes
    from. SIGHUP reads the file again, SIGTERM and Ctrl-C stop in order.

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
    from bigfleet.podwatch.driving.process import PodwatchProcess

    dials = bool(configuration.of(PodwatchSettings).shard_addr)
    run_daemon("podwatch", configuration, PodwatchSettings, PodwatchProcess, dials=dials)
