"""The kinds of objects we touch: where each lives in the API and which record it is read into.

The custom resources a cluster must know, as they are applied to it.

They lie beside this file, one each; what they must say is fixed by the wire contract, section 8.
"""

from dataclasses import dataclass
from importlib.resources import files
from typing import Generic, TypeVar

import msgspec

from bigfleet.kube.objects import (
    AvailableCapacity,
    CapacityRequest,
    EventObject,
    Lease,
    Node,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    Secret,
    UpcomingNode,
    VolumeAttachment,
)

T = TypeVar("T", bound=msgspec.Struct)

BIGFLEET_GROUP = "bigfleet.lucy.sh"


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    record: type[T]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Of one object, or of all of a namespace, or of all (`namespace` empty)."""
        root = f"/apis/{self.group}" if self.group else "/api"
        parts = [root, self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)


CAPACITY_REQUESTS = Kind(
    BIGFLEET_GROUP, "v1alpha1", "capacityrequests", "CapacityRequest", True, CapacityRequest
)
UPCOMING_NODES = Kind(
    BIGFLEET_GROUP, "v1alpha1", "upcomingnodes", "UpcomingNode", False, UpcomingNode
)
AVAILABLE_CAPACITIES = Kind(
    BIGFLEET_GROUP, "v1alpha1", "availablecapacities", "AvailableCapacity", False, AvailableCapacity
)
NODES = Kind("", "v1", "nodes", "Node", False, Node)
PODS = Kind("", "v1", "pods", "Pod", True, Pod)
EVENTS = Kind("", "v1", "events", "Event", True, EventObject)
SECRETS = Kind("", "v1", "secrets", "Secret", True, Secret)
LEASES = Kind("coordination.k8s.io", "v1", "leases", "Lease", True, Lease)
PRIORITY_CLASSES = Kind(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False, PriorityClass
)
VOLUME_ATTACHMENTS = Kind(
    "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", False, VolumeAttachment
)
POD_DISRUPTION_BUDGETS = Kind(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True, PodDisruptionBudget
)


#: By their plural, in the order in which they are applied.
PLURALS = ("capacityrequests", "upcomingnodes", "availablecapacities")


def crd_document(plural: str) -> str:
    return files("bigfleet.kube").joinpath("crds", f"{plural}.yaml").read_text("utf-8")


def crd_documents() -> str:
    """All of them in one stream, for `kubectl apply -f -`."""
    return "---\n".join(map(crd_document, PLURALS))
