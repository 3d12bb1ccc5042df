"""CapacityBuffers, the objects they point at, and where all of these live in the API.

The fields are those of group autoscaling.x-k8s.io (kubernetes/autoscaler); v1beta1 and v1alpha1
are alike in everything read here.
"""

import msgspec

from bigfleet.kube.kinds import Kind
from bigfleet.kube.objects import Meta, PodSpec, Quantity, StatusCondition

BUFFER_GROUP = "autoscaling.x-k8s.io"
#: What a buffer means that names no strategy, and the only one there is.
ACTIVE_CAPACITY = "buffer.x-k8s.io/active-capacity"
READY_FOR_PROVISIONING = "ReadyForProvisioning"
PROVISIONING = "Provisioning"


class _Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Read from JSON; unknown fields are skipped."""


class TemplateRef(_Record, frozen=True, kw_only=True):
    name: str = ""


class ScalableRef(_Record, frozen=True, kw_only=True):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class CapacityBufferSpec(_Record, frozen=True, kw_only=True):
    provisioning_strategy: str | None = None
    pod_template_ref: TemplateRef | None = None
    scalable_ref: ScalableRef | None = None
    #: Chunks; None: it does not say.
    replicas: int | None = None
    percentage: int | None = None
    #: None: no limits. An empty map limits nothing either.
    limits: dict[str, Quantity] | None = None


class CapacityBufferStatus(_Record, frozen=True, kw_only=True):
    pod_template_ref: TemplateRef | None = None
    pod_template_generation: int | None = None
    replicas: int | None = None
    provisioning_strategy: str | None = None
    conditions: tuple[StatusCondition, ...] = ()


class CapacityBuffer(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: CapacityBufferSpec = CapacityBufferSpec()
    status: CapacityBufferStatus = CapacityBufferStatus()


class TemplateMeta(_Record, frozen=True, kw_only=True):
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}


class PodTemplateSpec(_Record, frozen=True, kw_only=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class PodTemplate(_Record, frozen=True, kw_only=True):
    metadata: Meta
    template: PodTemplateSpec = PodTemplateSpec()


class ScalableSpec(_Record, frozen=True, kw_only=True):
    #: Absent is one, as for the API server.
    replicas: int | None = None
    #: A Job has this instead.
    parallelism: int | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Scalable(_Record, frozen=True, kw_only=True):
    """A Deployment, ReplicaSet, StatefulSet or Job."""

    metadata: Meta
    spec: ScalableSpec = ScalableSpec()

    @property
    def replicas(self) -> int:
        said = (self.spec.replicas, self.spec.parallelism)
        return next((number for number in said if number is not None), 1)


def _buffers(version: str) -> Kind[CapacityBuffer]:
    return Kind(BUFFER_GROUP, version, "capacitybuffers", "CapacityBuffer", True, CapacityBuffer)


#: The newest first.
BUFFER_KINDS = (_buffers("v1beta1"), _buffers("v1alpha1"))
POD_TEMPLATES = Kind("", "v1", "podtemplates", "PodTemplate", True, PodTemplate)
#: By group and kind, as a scalableRef names them.
SCALABLE_KINDS: dict[tuple[str, str], Kind[Scalable]] = {
    (group, kind): Kind(group, "v1", plural, kind, True, Scalable)
    for group, kind, plural in (
        ("apps", "Deployment", "deployments"),
        ("apps", "ReplicaSet", "replicasets"),
        ("apps", "StatefulSet", "statefulsets"),
        ("batch", "Job", "jobs"),
    )
}
