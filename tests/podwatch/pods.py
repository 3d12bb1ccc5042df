"""Pods, templates and requests as tests write them: JSON as an API server sends it."""

from typing import Any

import msgspec

from bigfleet.kube.buffers import CapacityBuffer
from bigfleet.kube.names import OWNED_BY_BUFFER, OWNED_BY_POD
from bigfleet.kube.objects import CapacityRequest, ObjectKey, Pod
from bigfleet.podwatch.records import (
    Bodies,
    DemandSource,
    OwnRequest,
    Policy,
    WatchedPod,
    watched_pod,
)
from bigfleet.podwatch.taints import FleetTaint

Json = dict[str, Any]

UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def pod_json(
    name: str = "web-1",
    *,
    uid: str = "",
    cpu: str = "500m",
    namespace: str = "shop",
    phase: str = "Pending",
    annotations: dict[str, str] | None = None,
    owners: list[Json] | None = None,
    labels: dict[str, str] | None = None,
    judged: bool = True,
    **spec: Any,
) -> Json:
    """`judged`: the scheduler has said that it fits nowhere, unless it has a Node."""
    status: Json = {"phase": phase}
    if judged and "nodeName" not in spec and phase == "Pending":
        status["conditions"] = [UNSCHEDULABLE]
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{name}",
            "annotations": annotations or {},
            "labels": labels or {},
            "ownerReferences": owners or [],
        },
        "spec": {"containers": containers, **spec},
        "status": status,
    }


def pod(name: str = "web-1", **words: Any) -> Pod:
    return msgspec.convert(pod_json(name, **words), Pod)


def watched(
    name: str = "web-1", *, taints: tuple[FleetTaint, ...] = (), **words: Any
) -> WatchedPod:
    found = watched_pod(pod(name, **words), Policy(taints=taints), Bodies())
    assert found is not None
    return found


def spec_of(name: str = "web-1", **words: Any) -> Json:
    """The spec of its request, without defaults."""
    spec = watched(name, **words).spec({})
    assert spec is not None
    return msgspec.json.decode(spec, type=Json)


def affinity(*terms: Json) -> Json:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def together(topology_key: str, **selector: Any) -> Json:
    term: Json = {"topologyKey": topology_key}
    if selector:
        term["labelSelector"] = selector
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def expression(key: str, operator: str, *values: str) -> Json:
    found: Json = {"key": key, "operator": operator}
    return found | {"values": list(values)} if values else found


def own(
    name: str,
    *,
    owner: str = "uid-web-1",
    spec: bytes = b"{}",
    created: str = "2026-01-01T00:00:00Z",
    source: DemandSource = DemandSource.POD,
    acknowledged: bool = False,
    deleting: bool = False,
    term: str = "",
) -> OwnRequest:
    return OwnRequest(
        ObjectKey("shop", name),
        f"uid-{name}",
        owner,
        owner.removeprefix("uid-"),
        source,
        Bodies().of(spec),
        acknowledged,
        created,
        deleting,
        term,
    )


def capacity_request(
    name: str, owner: str, spec: Json, *, of_buffer: bool = False, phase: str = "Pending"
) -> CapacityRequest:
    label = OWNED_BY_BUFFER if of_buffer else OWNED_BY_POD
    meta = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "labels": {label: owner}}
    body = {"metadata": meta, "spec": spec, "status": {"phase": phase}}
    return msgspec.json.decode(msgspec.json.encode(body), type=CapacityRequest)


def buffer_json(name: str = "spare", *, namespace: str = "shop", **spec: Any) -> Json:
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "generation": 1,
        },
        "spec": spec,
    }


def buffer(name: str = "spare", **spec: Any) -> CapacityBuffer:
    return msgspec.convert(buffer_json(name, **spec), CapacityBuffer)
