"""One drain: what is asked, which Nodes that is now, and whether all that is on them is seen.

A drain outlives sessions and the Nodes it is about. Which drains there are, and what each does
next, is decided by `drains`; the code here only uses what is known of the cluster.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from bigfleet.kube.objects import Node
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.operator.checks import names_for_nodes
from bigfleet.operator.drain_steps import Check
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.pods_on_nodes import AttachedVolumes, PodOnNode, PodsOnNodes
from bigfleet.placement.admission import AdmissionRefusal


class DrainedCluster(Protocol):
    """What is known of the cluster, and whether that is all of it and of now."""

    node_map: NodeMap
    pods_on_nodes: PodsOnNodes
    volumes: AttachedVolumes

    def nodes_are_fresh(self, at: Instant) -> bool: ...

    def pods_are_fresh(self, at: Instant) -> bool: ...


#: Volumes are waited for until so long before the deadline: a shard that hears at its deadline that
#: a Node is empty has given the machine up by then, and its pods were evicted for nothing.
_LAST_SECONDS = 5.0
#: What a pod has by default to end in order.
_SPARED_SECONDS = 30.0


@dataclass(slots=True)
class NodesOfDrain:
    """What an open drain finds when it looks around."""

    present: list[Node] = field(default_factory=list)
    #: Entries that are not Nodes.
    missing: list[str] = field(default_factory=list)
    #: Entries that may turn out to be a Node yet.
    unknown: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [node.metadata.name for node in self.present]

    def left(self, pods: PodsOnNodes) -> list[PodOnNode]:
        """Pods to be moved that the cache knows."""
        return [pod for name in self.names for pod in pods.left_on(name)]


@dataclass(slots=True)
class Drain:
    id: str
    #: Of the instruction, each with the machine it was found to be; empty: not known yet.
    machine_of_entry: dict[str, str]
    deadline: Instant
    grace_seconds: float
    #: Among drains of one Node the newest gives the mark.
    number: int
    #: Names of the Nodes it was last found to be about.
    nodes: set[str] = field(default_factory=set)
    #: By entry, the Node it last was; it may be gone since.
    node_of_entry: dict[str, str] = field(default_factory=dict)
    #: In this session.
    is_told: bool = True
    is_acked: bool = False
    #: Not None: ended, with the Nodes fully evicted, 0 at the deadline.
    evicted: int | None = None
    started: int = 0
    settled_at: Instant = 0
    is_counted: bool = False
    asked_at: Instant = 0
    #: The machine is taken for higher-priority work: its pods go even if they have no other place.
    is_preemption: bool = False
    #: Its Nodes may be cordoned. Not so before its pods have a place, and after it was called off.
    is_admitted: bool = False
    #: Every eviction depends on the pods having a place.
    is_checked: bool = False
    #: Why its pods had no place when that was last asked.
    refusal: AdmissionRefusal | None = None
    #: Before then it is not asked (again).
    look_at: Instant = 0

    @property
    def is_open(self) -> bool:
        return self.evicted is None

    @property
    def machines(self) -> list[str]:
        return [m for m in self.machine_of_entry.values() if m]

    @property
    def holds_cordon(self) -> bool:
        return self.is_told and self.is_admitted

    @property
    def spared_until(self) -> Instant:
        """Until then pods that must not be disrupted are left alone, where evictions go on."""
        return self.deadline - round(min(_SPARED_SECONDS, self.grace_seconds / 2) * SECOND)

    def due(self) -> tuple[Instant, ...]:
        """When time alone may move it."""
        times = (self.deadline, self.settled_at, self.volumes_until, self.spared_until)
        return (*times, self.look_at)

    @property
    def volumes_until(self) -> Instant:
        """How long volumes that stay attached are waited for."""
        return self.deadline - round(min(_LAST_SECONDS, self.grace_seconds / 10) * SECOND)

    # -- what is asked ---------------------------------------------------------------------------

    def ask_again(self, deadline: Instant, grace_seconds: float) -> None:
        """A repeat within a session only shortens the grace; a session begins with all anew."""
        if not self.is_told and self.evicted:
            # The answer is of now: what was empty is looked at again.
            self.evicted, self.settled_at = None, 0
            self.deadline, self.grace_seconds = deadline, grace_seconds
        elif deadline < self.deadline:
            self.deadline, self.grace_seconds = deadline, grace_seconds
        self.is_told = True

    def entries_of(self, machine: str, nodes: NodeMap) -> list[str]:
        called = nodes.machine_called
        return [e for e, m in self.machine_of_entry.items() if machine in (m, called(e))]

    def leave_out(self, entries: Iterable[str], nodes: NodeMap) -> None:
        for entry in entries:
            del self.machine_of_entry[entry]
        found = (nodes.node_of(entry) for entry in self.machine_of_entry)
        self.nodes = {node.metadata.name for node in found if node is not None}

    # -- what it finds ---------------------------------------------------------------------------

    def look_around(
        self, cluster: DrainedCluster, at: Instant, *, is_replayed: bool
    ) -> NodesOfDrain:
        look, knows_all = NodesOfDrain(), cluster.nodes_are_fresh(at)
        for entry in self.machine_of_entry:
            found = cluster.node_map.find(entry)
            self.machine_of_entry[entry] = found.machine_id or self.machine_of_entry[entry]
            # Until the replay is over a machine may still be told that is another Node.
            if found.node is not None and (found.machine_id or is_replayed):
                look.present.append(found.node)
                self.node_of_entry[entry] = found.node.metadata.name
            elif found.node is None and found.is_sure and knows_all:
                look.missing.append(entry)
            else:
                look.unknown.append(entry)
        self.nodes = set(look.names)
        return look

    def sees_all(
        self, look: NodesOfDrain, cordoned: Collection[Node], cluster: DrainedCluster, at: Instant
    ) -> bool:
        """Whether the cache shows all pods there are, and no new ones can come."""
        if look.unknown or len(cordoned) < len(look.present):
            return False
        return not look.present or (at >= self.settled_at and cluster.pods_are_fresh(at))

    def check_of(self, look: NodesOfDrain, nodes: NodeMap) -> Check:
        """What the server is asked before this is called empty."""
        absent = set[str]()
        for entry in look.missing:
            last = self.node_of_entry.get(entry, "")
            absent |= {entry, last, *nodes.names_of(self.machine_of_entry[entry])}
        # One the cache has under such a name is known to be another machine.
        absent = {name for name in names_for_nodes(absent) if nodes.node(name) is None}
        return Check(self.id, tuple(look.names), tuple(sorted(absent)), self.settled_at)
