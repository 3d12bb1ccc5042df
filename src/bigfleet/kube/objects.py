"""API objects, as narrow as we read them: an unused field is never decoded.

Names are the API's, camel-cased on the wire. Absent means the default, as in the API itself. A
record is never written back whole: writes are patches of the fields that are ours.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from bigfleet.model.taints import Toleration

Quantity = str | int | float


class ObjectKey(NamedTuple):
    """Namespace is empty for kinds that have none."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Read from JSON; unknown fields are skipped."""


class OwnerReference(_Record, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Meta(_Record, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    #: Raised by every change of the spec.
    generation: int = 0

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.namespace, self.name)


class Reference(_Record, frozen=True, kw_only=True):
    """An object as others name it: in events, nodeRef, scalableRef."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class Condition(_Record, frozen=True, kw_only=True):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class StatusCondition(_Record, frozen=True, kw_only=True):
    """All its fields, because a list is written whole and those of others must survive."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


class SelectorTerm(_Record, frozen=True, kw_only=True):
    """One requirement of a selector: `operator` is kept as it was written."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(_Record, frozen=True, kw_only=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[SelectorTerm, ...] = ()


# -- ours ----------------------------------------------------------------------------------------


class CapacityRequestStatus(_Record, frozen=True, kw_only=True):
    phase: str = "Pending"


class CapacityRequest(_Record, frozen=True, kw_only=True):
    metadata: Meta
    #: As the server wrote it: equal bytes are equal demands, and only new ones are read.
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: CapacityRequestStatus = CapacityRequestStatus()


class SpreadConstraint(_Record, frozen=True, kw_only=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str


class CoLocation(_Record, frozen=True, kw_only=True):
    topology_key: str
    label_selector: LabelSelector | None = None


class CapacityRequestSpec(_Record, frozen=True, kw_only=True):
    """What `CapacityRequest.spec` holds."""

    resources: dict[str, Quantity] = {}
    priority: int = 0
    requirements: tuple[SelectorTerm, ...] = ()
    interruption_penalty: Quantity | None = None
    reclamation_penalty: Quantity | None = None
    topology_spread: tuple[SpreadConstraint, ...] = ()
    co_location: CoLocation | None = None


class UpcomingNodeStatus(_Record, frozen=True, kw_only=True):
    phase: str = "Provisioning"
    node_ref: Reference | None = None
    provider_id: str = msgspec.field(default="", name="providerID")
    provisioning_start_time: str | None = None
    last_error: str = ""


class NodeTaint(_Record, frozen=True, kw_only=True):
    key: str
    effect: str
    value: str = ""


class UpcomingNodeSpec(_Record, frozen=True, kw_only=True):
    labels: dict[str, str] = {}
    resources: dict[str, Quantity] = {}
    taints: tuple[NodeTaint, ...] = ()


class UpcomingNode(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: UpcomingNodeSpec = UpcomingNodeSpec()
    status: UpcomingNodeStatus = UpcomingNodeStatus()


class AvailableCapacitySpec(_Record, frozen=True, kw_only=True):
    availability: str = "None"
    available_count: int = 0
    cost: Quantity = "0"
    requirements: tuple[SelectorTerm, ...] = ()
    resources: dict[str, Quantity] = {}


class AvailableCapacity(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: AvailableCapacitySpec = AvailableCapacitySpec()


# -- Kubernetes' own -----------------------------------------------------------------------------


class NodeSpec(_Record, frozen=True, kw_only=True):
    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] = ()


class NodeStatus(_Record, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    #: What the scheduler gives to pods.
    allocatable: dict[str, Quantity] = {}


class Node(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)

    def condition(self, kind: str) -> Condition | None:
        return next((c for c in self.status.conditions if c.type == kind), None)


class ContainerResources(_Record, frozen=True, kw_only=True):
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class ContainerPort(_Record, frozen=True, kw_only=True):
    #: 0: it takes none of the Node's ports.
    host_port: int = 0
    protocol: str = "TCP"
    host_ip: str = msgspec.field(default="", name="hostIP")


class Container(_Record, frozen=True, kw_only=True):
    name: str = ""
    image: str = ""
    resources: ContainerResources = ContainerResources()
    ports: tuple[ContainerPort, ...] = ()
    #: `Always` on an init container makes it a sidecar.
    restart_policy: str = ""


class NodeSelectorTerm(_Record, frozen=True, kw_only=True):
    match_expressions: tuple[SelectorTerm, ...] = ()
    match_fields: tuple[SelectorTerm, ...] = ()


class NodeSelector(_Record, frozen=True, kw_only=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class Preference(_Record, frozen=True, kw_only=True):
    """A preferred term of any kind: it is counted, never read."""

    weight: int = 0


class NodeAffinity(_Record, frozen=True, kw_only=True):
    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[Preference, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(_Record, frozen=True, kw_only=True):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    #: Absent with `namespace_selector`: the pod's own namespace.
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class PodAffinity(_Record, frozen=True, kw_only=True):
    """Of podAffinity and podAntiAffinity alike."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[Preference, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(_Record, frozen=True, kw_only=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(_Record, frozen=True, kw_only=True):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None


class SchedulingGate(_Record, frozen=True, kw_only=True):
    name: str = ""


class PodResourceClaim(_Record, frozen=True, kw_only=True):
    name: str = ""


class ClaimSource(_Record, frozen=True, kw_only=True):
    claim_name: str = ""


class ClaimTemplateSpec(_Record, frozen=True, kw_only=True):
    storage_class_name: str = ""


class ClaimTemplate(_Record, frozen=True, kw_only=True):
    spec: ClaimTemplateSpec = ClaimTemplateSpec()


class EphemeralSource(_Record, frozen=True, kw_only=True):
    """Its claim is named after the pod and the volume."""

    volume_claim_template: ClaimTemplate = ClaimTemplate()


class PodVolume(_Record, frozen=True, kw_only=True):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class PodSpec(_Record, frozen=True, kw_only=True):
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    #: Pod-level requests, where the cluster has them.
    resources: ContainerResources | None = None
    overhead: dict[str, Quantity] = {}
    priority: int | None = None
    priority_class_name: str = ""
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    volumes: tuple[PodVolume, ...] = ()


class ContainerStatus(_Record, frozen=True, kw_only=True):
    name: str = ""
    #: What the container runs with; None: it does not run yet.
    resources: ContainerResources | None = None
    #: What the kubelet has admitted.
    allocated_resources: dict[str, Quantity] = {}


class PodStatus(_Record, frozen=True, kw_only=True):
    phase: str = "Pending"
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    #: Kubernetes up to 1.32 says here what later ones say in the condition PodResizePending.
    resize: str = ""


class Pod(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_terminal(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_mirror(self) -> bool:
        """Stands for a file on one node; the API can neither move nor evict it."""
        return "kubernetes.io/config.mirror" in self.metadata.annotations

    @property
    def is_of_daemon_set(self) -> bool:
        return any(o.controller and o.kind == "DaemonSet" for o in self.metadata.owner_references)


class PriorityClass(_Record, frozen=True, kw_only=True):
    metadata: Meta
    value: int = 0


class VolumeAttachmentSpec(_Record, frozen=True, kw_only=True):
    node_name: str = ""


class VolumeAttachment(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


class PodDisruptionBudgetSpec(_Record, frozen=True, kw_only=True):
    #: None covers no pod, an empty one all pods of the namespace.
    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(_Record, frozen=True, kw_only=True):
    disruptions_allowed: int = 0


class PodDisruptionBudget(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class LeaseSpec(_Record, frozen=True, kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: LeaseSpec = LeaseSpec()


class Secret(_Record, frozen=True, kw_only=True):
    metadata: Meta
    type: str = ""
    #: Base64, as the API has it; never printed.
    data: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Secret({self.metadata.key})"


class EventObject(_Record, frozen=True, kw_only=True):
    metadata: Meta
    involved_object: Reference = Reference()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 0
    #: Which controller wrote it.
    reporting_component: str = ""


Labels = Mapping[str, str]


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """As the server does: an absent selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    for term in selector.match_expressions:
        value = labels.get(term.key)
        match term.operator:
            case "In":
                is_met = value in term.values
            case "NotIn":
                is_met = value not in term.values
            case "Exists":
                is_met = value is not None
            case "DoesNotExist":
                is_met = value is None
            case _:
                is_met = False
        if not is_met:
            return False
    return True
