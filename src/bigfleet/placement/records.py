"""Pods and Nodes as far as placement looks at them.

Both records are replaced whole when something about them changes. A pod that has ended is not given
to placement at all; a pod that is being deleted still takes its room.

Who shares a Node with whom is told by groups, opaque texts. A pod belongs to `groups`; it stays
`apart` from pods of a group and must be `near` a pod of a group, each within one value of a
topology key. Anti-affinity among replicas, host ports and claims that only one pod may use are all
of this form: see `host_port`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.requirements import HOSTNAME_KEY, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.taints import Taint, Toleration

DO_NOT_DISRUPT = "bigfleet.lucy.sh/do-not-disrupt"
#: Annotation and value by which people ask that a pod or Node is left alone.
KEEP_ANNOTATIONS = (
    (DO_NOT_DISRUPT, "true"),
    ("karpenter.sh/do-not-disrupt", "true"),
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
)
#: The kubelet's default for pods on one Node.
DEFAULT_POD_LIMIT = 110
_ANY_ADDRESS = ("", "0.0.0.0", "::")
#: Taints with these effects keep pods away; PreferNoSchedule does not.
_KEEPING_OFF = ("NoSchedule", "NoExecute")


class PodGroupTerm(NamedTuple):
    """A group of pods, within one value of a topology key."""

    topology_key: str
    group: str


class OwnerShape(NamedTuple):
    """Pods of one controller and one size: a new pod in place of an old one is the same."""

    owner: str
    requests: Resources


@dataclass(frozen=True, slots=True)
class PodView:
    uid: str
    #: namespace/name.
    key: str
    #: What the scheduler counts, defaults for missing requests included.
    requests: Resources
    #: The Need whose row counts it; None: it is not demand of the fleet.
    need: NeedKey | None = None
    #: UID of its controller; empty: nothing would start it again.
    owner: str = ""
    priority: int = 0
    #: What it requires of a Node's labels.
    requirements: tuple[Requirement, ...] = ()
    groups: frozenset[str] = frozenset()
    apart: tuple[PodGroupTerm, ...] = ()
    near: tuple[PodGroupTerm, ...] = ()
    #: Empty until it is bound.
    node: str = ""
    #: When the scheduler first said that it fits nowhere; None: it has not said so.
    unschedulable_since: Instant | None = None
    #: When its scheduling condition last changed.
    judged_at: Instant | None = None
    #: The scheduler's words.
    verdict: str = ""
    #: The annotation by which it must not be moved; empty: none.
    do_not_disrupt: str = ""
    #: Of a DaemonSet, or a mirror pod: it comes and goes with its Node.
    follows_node: bool = False
    tolerations: tuple[Toleration, ...] = ()

    @property
    def owner_shape(self) -> OwnerShape:
        return OwnerShape(self.owner or self.key, self.requests)

    @property
    def is_waiting(self) -> bool:
        return not self.node


@dataclass(frozen=True, slots=True)
class NodeView:
    #: The Node's name; the machine's id while a Configured machine has no Node yet.
    name: str
    #: Empty: not a machine of the fleet.
    machine: str
    #: What the shard counts for the machine.
    declared: Resources
    #: What the Node offers to pods, DaemonSets included.
    allocatable: Resources
    #: The kind of machine: Nodes of one kind have one overhead.
    kind: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    pod_limit: int = DEFAULT_POD_LIMIT
    #: Why no pod can start on it; empty: it is usable.
    why_not_usable: str = ""
    #: Since when it is usable, or not.
    since: Instant = 0
    cordoned: bool = False
    #: Id of the open instruction about it; empty: none.
    instruction: str = ""
    do_not_disrupt: str = ""
    taints: tuple[Taint, ...] = ()

    @property
    def is_usable(self) -> bool:
        return not self.why_not_usable

    @property
    def takes_pods(self) -> bool:
        """Pods that move may go there: it is a usable machine of the fleet, and it stays."""
        return bool(
            self.machine and not self.why_not_usable and not self.cordoned and not self.instruction
        )


def taint_not_tolerated(taints: Iterable[Taint], pod: PodView) -> Taint | None:
    """The first of these taints that keeps the pod away; None: none does."""
    for taint in taints:
        if taint.effect in _KEEPING_OFF and not any(t.tolerates(taint) for t in pod.tolerations):
            return taint
    return None


def do_not_disrupt(annotations: Mapping[str, str]) -> str:
    """The annotation that forbids moving a pod or draining a Node, as `key: value`, or empty."""
    for key, value in KEEP_ANNOTATIONS:
        if annotations.get(key) == value:
            return f"{key}: {value}"
    return ""


def host_port(
    port: int, protocol: str = "TCP", address: str = ""
) -> tuple[frozenset[str], tuple[PodGroupTerm, ...]]:
    """The groups of a pod with this host port, and what it stays apart from.

    A port on all addresses meets every use of it; two addresses of their own do not meet.
    """
    used = f"port/{protocol or 'TCP'}/{port}"
    everywhere, somewhere = f"{used}/all", f"{used}/some"
    if address in _ANY_ADDRESS:
        met = (PodGroupTerm(HOSTNAME_KEY, everywhere), PodGroupTerm(HOSTNAME_KEY, somewhere))
        return frozenset({everywhere}), met
    mine = f"{used}/{address}"
    return frozenset({somewhere, mine}), (
        PodGroupTerm(HOSTNAME_KEY, everywhere),
        PodGroupTerm(HOSTNAME_KEY, mine),
    )
