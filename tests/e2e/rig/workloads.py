"""Objects that tests apply: deployments, pods, budgets, priorities. Pure."""

from pathlib import Path

from tests.e2e.rig.api import Object

#: For `Cluster.apply_crds`: the CRD whose original a cluster gets from its own autoscaler.
CAPACITY_BUFFERS = Path(__file__).parents[1] / "crds" / "capacitybuffers.yaml"
IMAGE = "e2e.invalid/never-pulled:1"
_NO_WAIT = 1


def pod_spec(cpu: str = "1", memory: str = "1Gi", grace: int = _NO_WAIT, **spec: object) -> Object:
    """One container that asks for this much; more fields of the PodSpec by name."""
    asked = {"requests": {"cpu": cpu, "memory": memory}}
    container = {"name": "main", "image": IMAGE, "resources": asked}
    return {"containers": [container], "terminationGracePeriodSeconds": grace, **spec}


def pod(name: str, spec: Object | None = None, **metadata: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}, **metadata},
        "spec": spec or pod_spec(),
    }


def deployment(
    name: str,
    replicas: int,
    spec: Object | None = None,
    annotations: dict[str, str] | None = None,
) -> Object:
    """Its pods carry the label app=NAME, and these annotations."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": annotations or {}},
                "spec": spec or pod_spec(),
            },
        },
    }


def daemon_set(name: str, spec: Object) -> Object:
    """A pod on every Node, labelled app=NAME."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def budget(name: str, *, app: str, **limit: int | str) -> Object:
    """A PodDisruptionBudget: `minAvailable=2` or `maxUnavailable=0`."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": app}}, **limit},
    }


def priority_class(name: str, value: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": "Never",
    }


def is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def node_name(pod: Object) -> str:
    """Empty: not bound."""
    return str(pod["spec"].get("nodeName", ""))
