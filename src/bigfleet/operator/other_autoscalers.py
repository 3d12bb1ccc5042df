"""Another autoscaler in the cluster: it and BigFleet would fight over Nodes.

Seen by its own pods, as far as they run, or by what it writes on Nodes of the fleet. Annotations by
which people keep an autoscaler away from a pod or a Node are no such sign.
"""

from bigfleet.kube.objects import Node, Pod

CLUSTER_AUTOSCALER = "cluster-autoscaler"
KARPENTER = "karpenter"
_NAMES = (CLUSTER_AUTOSCALER, KARPENTER)
_NAMING_LABELS = ("app.kubernetes.io/name", "app", "k8s-app")
#: Taints by which each takes a Node out of use.
_TAINTS = {
    "ToBeDeletedByClusterAutoscaler": CLUSTER_AUTOSCALER,
    "DeletionCandidateOfClusterAutoscaler": CLUSTER_AUTOSCALER,
    "karpenter.sh/disrupted": KARPENTER,
    "karpenter.sh/disruption": KARPENTER,
}
#: Labels Karpenter gives to Nodes that it counts as its own.
_KARPENTER_LABELS = ("karpenter.sh/nodepool", "karpenter.sh/provisioner-name")


def autoscaler_of_pod(pod: Pod) -> str:
    """Which one the pod is part of; empty: none. A pod that has ended does not count."""
    if pod.is_terminal:
        return ""
    labels = pod.metadata.labels
    for label in _NAMING_LABELS:
        if (name := labels.get(label, "")) in _NAMES:
            return name
    for container in pod.spec.containers:
        parts = container.image.partition("@")[0].split("/")
        parts[-1] = parts[-1].partition(":")[0]
        for name in _NAMES:
            if name in parts:
                return name
    return ""


def autoscaler_of_node(node: Node) -> str:
    """Which one takes the Node for its own; empty: none."""
    if any(label in node.metadata.labels for label in _KARPENTER_LABELS):
        return KARPENTER
    return next((_TAINTS[t.key] for t in node.spec.taints if t.key in _TAINTS), "")


def warning(name: str, where: str) -> str:
    return (
        f"{name} is at work in this cluster ({where}): it and BigFleet would give and take the "
        f"same Nodes. Remove one of them, or keep {name} to Nodes that are not the fleet's"
    )
