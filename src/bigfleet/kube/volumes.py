"""Claims, volumes and storage classes: which Nodes can reach a volume."""

import msgspec

from bigfleet.kube.kinds import Kind
from bigfleet.kube.objects import Meta, NodeSelector, Reference

#: The volume is made or chosen when the scheduler has chosen a Node for the pod.
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


class _Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Read from JSON; unknown fields are skipped."""


class VolumeClaimSpec(_Record, frozen=True, kw_only=True):
    #: Empty while no volume is bound to it.
    volume_name: str = ""
    storage_class_name: str = ""


class VolumeClaim(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: VolumeClaimSpec = VolumeClaimSpec()


class VolumeNodeAffinity(_Record, frozen=True, kw_only=True):
    required: NodeSelector | None = None


class VolumeSpec(_Record, frozen=True, kw_only=True):
    node_affinity: VolumeNodeAffinity | None = None
    #: The claim it is bound to, or kept for.
    claim_ref: Reference | None = None


class Volume(_Record, frozen=True, kw_only=True):
    metadata: Meta
    spec: VolumeSpec = VolumeSpec()


class TopologyLabel(_Record, frozen=True, kw_only=True):
    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(_Record, frozen=True, kw_only=True):
    match_label_expressions: tuple[TopologyLabel, ...] = ()


class StorageClass(_Record, frozen=True, kw_only=True):
    metadata: Meta
    volume_binding_mode: str = ""
    #: Alternatives; none: anywhere.
    allowed_topologies: tuple[TopologyTerm, ...] = ()


VOLUME_CLAIMS = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True, VolumeClaim)
VOLUMES = Kind("", "v1", "persistentvolumes", "PersistentVolume", False, Volume)
STORAGE_CLASSES = Kind(
    "storage.k8s.io", "v1", "storageclasses", "StorageClass", False, StorageClass
)
