"""What giving a machine back asks of the world, and what others may know of it meanwhile."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from bigfleet.kube.names import FOUND_CORDONED, RECLAIM
from bigfleet.kube.objects import Node, Reference
from bigfleet.model.machines import Instant
from bigfleet.model.session_frames import ReclaimAck
from bigfleet.operator.pods_on_nodes import PodOnNode


@dataclass(frozen=True, slots=True)
class Cordon:
    """Mark the Node with the instruction and keep new pods away from it, in one write."""

    #: As the cache has it; the write is refused if the Node has changed since.
    node: Node
    instruction_id: str


@dataclass(frozen=True, slots=True)
class Uncordon:
    """Take our mark off, and the cordon with it unless it was there before ours."""

    node: Node


@dataclass(frozen=True, slots=True)
class Evict:
    instruction_id: str
    pod: PodOnNode


@dataclass(frozen=True, slots=True)
class Check:
    """Ask the server itself what these Nodes are and have, and whether those are really absent."""

    instruction_id: str
    nodes: tuple[str, ...]
    #: Names under which the cache has no Node.
    absent: tuple[str, ...] = ()
    #: When the cordons were believed; a later cordon makes it another check.
    settled_at: Instant = 0


@dataclass(frozen=True, slots=True)
class ServerCheck:
    """What the server has, by a read that is of now."""

    pods: tuple[PodOnNode, ...] = ()
    #: Names of Nodes that were said to be absent.
    nodes: tuple[str, ...] = ()
    #: The Nodes that were asked about, read after their pods; one that is gone is not here.
    drained: tuple[Node, ...] = ()

    @property
    def uncordoned(self) -> list[Node]:
        """Pods may come to these at any moment."""
        return [node for node in self.drained if not is_cordoned_by_us(node)]


@dataclass(frozen=True, slots=True)
class Send:
    ack: ReclaimAck


@dataclass(frozen=True, slots=True)
class Tell:
    """An Event in the cluster, and a line of the log."""

    about: Reference
    kind: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class SendDemand:
    """Demand was revised so that a machine stays: the roll-up goes out at once."""


@dataclass(frozen=True, slots=True)
class Publish:
    """The UpcomingNode of this machine must be looked at again."""

    machine_id: str


Instruction = Cordon | Uncordon | Evict | Check | Send | Tell | SendDemand | Publish


class DrainPhase(StrEnum):
    """Named like the phases of an UpcomingNode."""

    DRAINING = "Draining"
    DRAINED = "Drained"
    #: Called off: the machine stays, and its phase is again what the shard says.
    KEPT = ""


@dataclass(frozen=True, slots=True)
class DrainStanding:
    instruction_id: str
    phase: DrainPhase
    #: After a deadline: which budgets held which pods.
    last_error: str = ""


def is_marked(node: Node) -> bool:
    return RECLAIM in node.metadata.annotations


def is_cordoned_by_us(node: Node) -> bool:
    return node.spec.unschedulable and is_marked(node)


def was_found_cordoned(node: Node) -> bool:
    """Whether it was cordoned before we did so; asked of a Node with our mark."""
    return FOUND_CORDONED in node.metadata.annotations


def cordon_patch(node: Node, instruction_id: str) -> dict[str, object]:
    """Refused by the server (409) if `node` is not the newest: a cordon in between is seen."""
    annotations: dict[str, object] = {RECLAIM: instruction_id}
    if node.spec.unschedulable and not is_marked(node):
        annotations[FOUND_CORDONED] = "true"
    elif not node.spec.unschedulable and was_found_cordoned(node):
        # The earlier cordon has been taken back: this cordon is ours alone.
        annotations[FOUND_CORDONED] = None
    return {"metadata": _metadata(node, annotations), "spec": {"unschedulable": True}}


def uncordon_patch(node: Node) -> dict[str, object]:
    annotations: dict[str, object] = {RECLAIM: None, FOUND_CORDONED: None}
    patch: dict[str, object] = {"metadata": _metadata(node, annotations)}
    if not was_found_cordoned(node):
        patch["spec"] = {"unschedulable": None}
    return patch


def _metadata(node: Node, annotations: dict[str, object]) -> dict[str, object]:
    return {"annotations": annotations, "resourceVersion": node.metadata.resource_version}


def reference_of(node: Node) -> Reference:
    meta = node.metadata
    return Reference(api_version="v1", kind="Node", name=meta.name, uid=meta.uid)
