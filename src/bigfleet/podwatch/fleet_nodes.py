"""Which Nodes of the cluster are machines of the fleet.

A Node is one if an UpcomingNode's nodeRef names it, if it carries the label with a machine's id, or
if its provider id is that of an UpcomingNode or ends in it. A Node without any of these is foreign.
A Node that the cache lacks is unknown, and nothing follows from that.

Evidence comes and goes for a moment, so it is also kept since when a Node has been foreign, and
when the watches last were in doubt: before that nothing counts as seen.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from bigfleet.kube.names import MACHINE_ID, provider_id_ends
from bigfleet.kube.objects import Node, UpcomingNode
from bigfleet.model.machines import Instant


class Membership(Enum):
    MACHINE = "machine of the fleet"
    FOREIGN = "foreign"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    uid: str
    provider_id: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Of an UpcomingNode."""

    #: Of its nodeRef; empty: it has none yet.
    node_name: str
    node_uid: str
    provider_id: str


def node_facts(node: Node) -> NodeFacts:
    return NodeFacts(node.metadata.uid, node.spec.provider_id, node.metadata.labels)


def machine_facts(upcoming: UpcomingNode) -> MachineFacts:
    status, ref = upcoming.status, upcoming.status.node_ref
    name, uid = (ref.name, ref.uid) if ref is not None else ("", "")
    return MachineFacts(name, uid, status.provider_id)


class FleetNodes:
    """Fed by caches of Nodes and UpcomingNodes; answers are names of Nodes to look at again."""

    def __init__(self) -> None:
        #: False: the cluster has no UpcomingNodes, so it is unknown which Nodes are machines.
        self.are_told_apart = False
        self._nodes: dict[str, NodeFacts] = {}
        self._machines: dict[str, MachineFacts] = {}
        self._nodes_by_provider_id: dict[str, set[str]] = {}
        self._machines_by_node: dict[str, set[str]] = {}
        self._machines_by_provider_id: dict[str, set[str]] = {}
        #: All and only the Nodes that are foreign.
        self._foreign_since: dict[str, Instant] = {}
        self._doubted_at: Instant | None = None

    def node_changed(self, name: str, node: NodeFacts | None, at: Instant) -> list[str]:
        """None: it is gone."""
        before = self._nodes.pop(name, None)
        if before is not None:
            for end in provider_id_ends(before.provider_id):
                _discard(self._nodes_by_provider_id, end, name)
        if before is None or node is None or before.uid != node.uid:
            self._foreign_since.pop(name, None)
        if node is not None:
            self._nodes[name] = node
            for end in provider_id_ends(node.provider_id):
                self._nodes_by_provider_id.setdefault(end, set()).add(name)
        self._judge(name, at)
        return [name]

    def machine_changed(self, name: str, machine: MachineFacts | None, at: Instant) -> list[str]:
        """`name`: of the UpcomingNode; None: it is gone."""
        before = self._machines.pop(name, None)
        touched = set(self._named_by(before)) | set(self._named_by(machine))
        if before is not None:
            _discard(self._machines_by_node, before.node_name, name)
            _discard(self._machines_by_provider_id, before.provider_id, name)
        if machine is not None:
            self._machines[name] = machine
            if machine.node_name:
                self._machines_by_node.setdefault(machine.node_name, set()).add(name)
            if machine.provider_id:
                self._machines_by_provider_id.setdefault(machine.provider_id, set()).add(name)
        for node in touched:
            self._judge(node, at)
        return sorted(touched)

    def doubted(self, at: Instant) -> None:
        """The watches may have missed changes: how long a Node has been foreign starts over."""
        self._doubted_at = at

    def membership(self, node_name: str) -> Membership:
        node = self._nodes.get(node_name)
        named_by = [self._machines[each] for each in self._machines_by_node.get(node_name, ())]
        if node is None:
            return Membership.MACHINE if named_by else Membership.UNKNOWN
        if node.labels.get(MACHINE_ID):
            return Membership.MACHINE
        if any(machine.node_uid in ("", node.uid) for machine in named_by):
            return Membership.MACHINE
        if any(end in self._machines_by_provider_id for end in provider_id_ends(node.provider_id)):
            return Membership.MACHINE
        return Membership.FOREIGN

    def foreign_since(self, node_name: str) -> Instant | None:
        """None: it is not."""
        since = self._foreign_since.get(node_name)
        if since is None or self._doubted_at is None:
            return since
        return max(since, self._doubted_at)

    def labels_of(self, node_name: str) -> Mapping[str, str] | None:
        node = self._nodes.get(node_name)
        return node.labels if node is not None else None

    def sizes(self) -> dict[str, int]:
        return {
            "nodes": len(self._nodes),
            "nodesForeign": len(self._foreign_since),
            "upcomingNodes": len(self._machines),
        }

    def _judge(self, name: str, at: Instant) -> None:
        if self.membership(name) is Membership.FOREIGN:
            self._foreign_since.setdefault(name, at)
        else:
            self._foreign_since.pop(name, None)

    def _named_by(self, machine: MachineFacts | None) -> Iterator[str]:
        if machine is None:
            return
        if machine.node_name:
            yield machine.node_name
        yield from self._nodes_by_provider_id.get(machine.provider_id, ())


def _discard(index: dict[str, set[str]], key: str, member: str) -> None:
    if (found := index.get(key)) is not None:
        found.discard(member)
        if not found:
            del index[key]
