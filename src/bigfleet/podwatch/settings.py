"""Everything about the pod controller that may be set, with its default.

Durations are seconds; the field's type says how text is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bigfleet.model.errors import BadInput
from bigfleet.model.settings import Seconds, setting
from bigfleet.model.syntax import is_address, why_not_cluster_id

_PRIORITY_LEAST, _PRIORITY_MOST = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class PodwatchSettings:
    kubeconfig: str = setting("", "a kubeconfig file; empty: in-cluster, then KUBECONFIG, then ~")
    cluster_id: str = setting("", "the cluster's name in the fleet, for ProvisioningRequests")
    shard_addr: str = setting("", "host:port of the shard, for ProvisioningRequests")
    metrics_addr: str = setting("127.0.0.1:8080", "HTTP for metrics and probes; 0 turns it off")
    buffers: str = setting(
        "auto",
        "CapacityBuffers as demand; auto: where the cluster has them",
        choices=("auto", "true", "false"),
    )
    provisioning_requests: str = setting(
        "auto",
        "ProvisioningRequests as demand; auto: where the cluster has them and a shard is named",
        choices=("auto", "true", "false"),
    )
    buffer_priority: int = setting(
        -10,
        "priority of a buffer whose template has none",
        least=_PRIORITY_LEAST,
        most=_PRIORITY_MOST,
    )
    priority_class_defaults: str = setting(
        "", "YAML file of penalties by PriorityClass, read again when it changes"
    )
    exclude_namespaces: tuple[str, ...] = setting((), "namespaces left alone, may be repeated")
    include_daemonsets: bool = setting(
        False, "also request for pods that belong to one node: DaemonSets, static pods"
    )
    unjudged_grace: Seconds = setting(
        3.0, "time a new pod has to find room before it asks, unless the scheduler says no sooner"
    )
    taints: tuple[Mapping[str, Any], ...] = setting(
        (), "taints machines join with: {key, value, effect, where: label selector}"
    )
    qps: float = setting(50.0, "calls to the API server per second", least=0.1)
    burst: int = setting(100, "calls at once before that counts", least=1)
    sync_timeout: Seconds = setting(
        600.0, "time in which the cluster must have been read, or the process ends", least=0.001
    )
    debug_endpoints: bool = setting(False, "serve /debug/ on the metrics address")


def needed_for_provisioning(settings: PodwatchSettings) -> dict[str, str]:
    """Settings that are missing before a shard can be asked, and what each must say."""
    wanted = {
        "shard_addr": "the shard answers them, so name its host:port",
        "cluster_id": "name the cluster as its operator does",
    }
    return {name: what for name, what in wanted.items() if not getattr(settings, name)}


def contradictions_of(settings: PodwatchSettings) -> list[tuple[str, str]]:
    """What does not go together: (key, sentence)."""
    # Every verb reads settings, and none of the others needs the records of Kubernetes.
    from bigfleet.podwatch.taints import taints_of

    found = []
    if settings.provisioning_requests == "true":
        found += [
            (name, f"is empty, but provisioning_requests is true: {what}")
            for name, what in needed_for_provisioning(settings).items()
        ]
    if settings.cluster_id and (wrong := why_not_cluster_id(settings.cluster_id)):
        found.append(("cluster_id", wrong))
    try:
        taints_of(settings.taints)
    except BadInput as problem:
        found += [("taints", str(each)) for each in problem.problems]
    for name, address in (
        ("metrics_addr", settings.metrics_addr if settings.metrics_addr != "0" else ""),
        ("shard_addr", settings.shard_addr),
    ):
        if address and not is_address(address):
            found.append((name, f"{address!r} is not host:port"))
    return found
