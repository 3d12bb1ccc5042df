"""What a kubelet would write: the Node of a machine, its lease, the status of a pod. Pure."""

import hashlib
from collections.abc import Callable, Mapping

from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.requirements import HOSTNAME_KEY, INSTANCE_TYPE_KEY, ZONE_KEY
from tests.e2e.pins import KUBERNETES
from tests.e2e.rig.api import Object

MACHINE_ID_KEY = "bigfleet.lucy.sh/machine-id"
#: Says on a Node that an actor made it, and for which cluster.
ACTOR_KEY = "e2e.bigfleet.lucy.sh/actor"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 40
_PODS = "110"

#: How a machine's Node is called.
Naming = Callable[[MachineRecord], str]


def named_by_host(machine: MachineRecord) -> str:
    """As the machine's hostname label says: the ordinary case. Never the machine's id."""
    return machine.labels.get(HOSTNAME_KEY) or named_apart(machine)


def named_apart(machine: MachineRecord) -> str:
    """A name from which nothing about the machine can be told: only spec.providerID leads to it."""
    return f"ip-{hashlib.sha256(machine.id.encode()).hexdigest()[:10]}"


def named_by_machine(machine: MachineRecord) -> str:
    return machine.id


def node_of(machine: MachineRecord, name: str, cluster: str, at: str, tells_id: bool) -> Object:
    """Ready from its first moment, without taints."""
    ref = machine.host.ref if machine.host else ""
    provider = machine.host.provider if machine.host else ""
    capacity = {"pods": _PODS, **machine.resources}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": _labels_of(machine, name, cluster, tells_id)},
        "spec": {"providerID": f"{provider or 'sim'}://{machine.zone}/{ref}"} if ref else {},
        "status": {
            "capacity": capacity,
            "allocatable": {**capacity, **machine.allocatable},
            "conditions": conditions_at(at),
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": _node_info(machine.id),
        },
    }


def conditions_at(at: str) -> list[Object]:
    times = {"lastHeartbeatTime": at, "lastTransitionTime": at}
    quiet = {"status": "False", "reason": "Sufficient", **times}
    return [
        {"type": "Ready", "status": "True", "reason": "KubeletReady", **times},
        *({"type": kind, **quiet} for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")),
    ]


def lease_of(node: str, at: str) -> Object:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": at},
    }


def running_status(pod: Object, at: str, address: str) -> Object:
    """Every container runs and is ready."""
    containers = [
        {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": at}},
        }
        for container in pod["spec"]["containers"]
    ]
    kinds = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    return {
        "phase": "Running",
        "startTime": at,
        "podIP": address,
        # It replaces what it had before: one address, not one more.
        "podIPs": [{"$patch": "replace"}, {"ip": address}],
        "hostIP": "127.0.0.1",
        "conditions": [{"type": k, "status": "True", "lastTransitionTime": at} for k in kinds],
        "containerStatuses": containers,
    }


def address_of(number: int) -> str:
    """The n-th address of 10.0.0.0/8, for the n-th pod."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _labels_of(
    machine: MachineRecord, name: str, cluster: str, tells_id: bool
) -> Mapping[str, str]:
    return {
        **machine.labels,
        INSTANCE_TYPE_KEY: machine.instance_type,
        ZONE_KEY: machine.zone,
        HOSTNAME_KEY: name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        ACTOR_KEY: cluster,
        **({MACHINE_ID_KEY: machine.id} if tells_id else {}),
    }


def _node_info(machine: str) -> Object:
    empty = ("bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeProxyVersion")
    return {
        **dict.fromkeys(empty, ""),
        "machineID": machine,
        "systemUUID": machine,
        "kubeletVersion": KUBERNETES.version,
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
