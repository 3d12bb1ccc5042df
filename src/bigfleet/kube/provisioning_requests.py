"""ProvisioningRequests of group autoscaling.x-k8s.io (kubernetes/autoscaler), v1.

Also the annotations by which a pod says that it uses one.
"""

from collections.abc import Mapping

import msgspec

from bigfleet.kube.buffers import BUFFER_GROUP, TemplateRef
from bigfleet.kube.kinds import Kind
from bigfleet.kube.objects import Meta, StatusCondition

CHECK_CAPACITY = "check-capacity.autoscaling.x-k8s.io"
ATOMIC_SCALE_UP = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
#: How long after its creation a request is worth an answer, in seconds.
VALID_UNTIL_SECONDS = "ValidUntilSeconds"

ACCEPTED = "Accepted"
PROVISIONED = "Provisioned"
FAILED = "Failed"
BOOKING_EXPIRED = "BookingExpired"
CAPACITY_REVOKED = "CapacityRevoked"

#: The second prefix is what queues wrote before the first one was agreed on.
_PREFIXES = ("autoscaling.x-k8s.io", "cluster-autoscaler.kubernetes.io")


class _Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Read from JSON; unknown fields are skipped."""


class PodSet(_Record, frozen=True, kw_only=True):
    pod_template_ref: TemplateRef = TemplateRef()
    count: int = 0


class ProvisioningRequestSpec(_Record, frozen=True, kw_only=True):
    """It never changes: the server refuses that."""

    provisioning_class_name: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    parameters: dict[str, str] = {}


class ProvisioningRequestStatus(_Record, frozen=True, kw_only=True):
    conditions: tuple[StatusCondition, ...] = ()


class ProvisioningRequest(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: ProvisioningRequestSpec = ProvisioningRequestSpec()
    status: ProvisioningRequestStatus = ProvisioningRequestStatus()


PROVISIONING_REQUESTS = Kind(
    BUFFER_GROUP, "v1", "provisioningrequests", "ProvisioningRequest", True, ProvisioningRequest
)


def consumed_by(annotations: Mapping[str, str]) -> tuple[str, str]:
    """The name of the request a pod uses, and the class it says it has; empty: it says nothing."""
    for prefix in _PREFIXES:
        if name := annotations.get(f"{prefix}/consume-provisioning-request", "").strip():
            return name, annotations.get(f"{prefix}/provisioning-class-name", "").strip()
    return "", ""
