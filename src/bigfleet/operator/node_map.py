"""Which Node a machine is: by what the UpcomingNode refers to, then by provider id, then by name.

A machine's id is not a Node name (R13): a Node that merely is called like a machine is that machine
only if nothing better is known of either. Where two Nodes match equally well, neither is taken.
A machine that runs nothing of this cluster has no names here: others get them, sooner or later.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bigfleet.kube.names import MACHINE_ID, provider_id_ends
from bigfleet.kube.objects import Node, Reference
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate

S = MachineState
MAY_HAVE_A_NODE = frozenset({S.CONFIGURING, S.CONFIGURED, S.DRAINING, S.FAILED})


@dataclass(frozen=True, slots=True)
class FoundNode:
    """What is known of an entry of an instruction."""

    machine_id: str = ""
    node: Node | None = None
    #: Without a Node: whether a complete cache that lacks it proves that there is none.
    is_sure: bool = False
    #: Nothing but the Node's name speaks for it.
    is_by_name: bool = False


@dataclass(slots=True)
class _Machine:
    provider_id: str = ""
    node_name: str = ""
    reference: Reference | None = None


class NodeNames:
    """Many to many; unused names are forgotten."""

    def __init__(self) -> None:
        self._of: dict[str, set[str]] = {}

    def add(self, name: str, who: str) -> None:
        if name:
            self._of.setdefault(name, set()).add(who)

    def discard(self, name: str, who: str) -> None:
        if name in self._of:
            self._of[name].discard(who)
            if not self._of[name]:
                del self._of[name]

    def of(self, name: str) -> list[str]:
        return sorted(self._of.get(name, ()))


class NodeMap:
    """Fed by a cache of Nodes, by NodeStateUpdates and by the nodeRefs of UpcomingNodes."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._machines: dict[str, _Machine] = {}
        #: Nodes by their provider id, and by every end of it that follows a slash.
        self._nodes_by_provider_id = NodeNames()
        self._nodes_by_label = NodeNames()
        self._machines_by_provider_id = NodeNames()
        self._machines_by_node_name = NodeNames()
        self._machines_by_reference = NodeNames()

    # -- Nodes -----------------------------------------------------------------------------------

    def put(self, node: Node) -> None:
        name = node.metadata.name
        self.remove(name)
        self._nodes[name] = node
        for part in provider_id_ends(node.spec.provider_id):
            self._nodes_by_provider_id.add(part, name)
        self._nodes_by_label.add(node.metadata.labels.get(MACHINE_ID, ""), name)

    def remove(self, name: str) -> None:
        node = self._nodes.pop(name, None)
        if node is None:
            return
        for part in provider_id_ends(node.spec.provider_id):
            self._nodes_by_provider_id.discard(part, name)
        self._nodes_by_label.discard(node.metadata.labels.get(MACHINE_ID, ""), name)

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def nodes(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    # -- machines --------------------------------------------------------------------------------

    def on_node_state(self, update: NodeStateUpdate) -> None:
        machine = self._machines.setdefault(update.machine_id, _Machine())
        self._machines_by_provider_id.discard(machine.provider_id, update.machine_id)
        self._machines_by_node_name.discard(machine.node_name, update.machine_id)
        is_here = update.state in MAY_HAVE_A_NODE
        machine.provider_id = update.provider_id if is_here else ""
        machine.node_name = update.node_name if is_here else ""
        self._machines_by_provider_id.add(machine.provider_id, update.machine_id)
        self._machines_by_node_name.add(machine.node_name, update.machine_id)

    def refer(self, machine_id: str, reference: Reference | None) -> None:
        """The nodeRef of the machine's UpcomingNode; None: it has none."""
        if reference is None and machine_id not in self._machines:
            return
        machine = self._machines.setdefault(machine_id, _Machine())
        if machine.reference is not None:
            self._machines_by_reference.discard(machine.reference.name, machine_id)
        machine.reference = reference
        if reference is not None:
            self._machines_by_reference.add(reference.name, machine_id)

    def forget(self, machine_id: str) -> None:
        self.refer(machine_id, None)
        if (machine := self._machines.pop(machine_id, None)) is not None:
            self._machines_by_provider_id.discard(machine.provider_id, machine_id)
            self._machines_by_node_name.discard(machine.node_name, machine_id)

    def machines(self) -> list[str]:
        return list(self._machines)

    def names_of(self, machine_id: str) -> set[str]:
        """What an entry of an instruction may call it."""
        machine = self._machines.get(machine_id)
        return {machine_id, machine.node_name if machine is not None else ""} - {""}

    # -- questions -------------------------------------------------------------------------------

    def find(self, entry: str) -> FoundNode:
        """Of an entry of an instruction: a node name, or a machine's id."""
        machine_id = self.machine_called(entry)
        if machine_id:
            return self._node_of_machine(machine_id, entry)
        labelled = self._nodes_by_label.of(entry)
        if len(labelled) == 1:
            return FoundNode(entry, self._nodes[labelled[0]])
        node = self._nodes.get(entry)
        # The machine is not known yet; the next update may say which Node it really is.
        unclaimed = node if node is not None and not self._is_claimed(node, "") else None
        return FoundNode("", unclaimed, is_by_name=True)

    def node_of(self, entry: str) -> Node | None:
        """Of a machine's id or of an entry of an instruction."""
        return self.find(entry).node

    def machine_called(self, entry: str) -> str:
        """Empty: no machine known by this id or node name, or several."""
        if entry in self._machines:
            return entry
        named = self._machines_by_node_name.of(entry)
        return named[0] if len(named) == 1 else ""

    def machine_of(self, node_name: str) -> str:
        """The machine this Node is; empty: none that we know."""
        node = self._nodes.get(node_name)
        if node is None:
            return ""
        for machine_id in self._candidates(node):
            found = self._node_of_machine(machine_id, machine_id).node
            if found is not None and found.metadata.name == node_name:
                return machine_id
        return ""

    # -- within ----------------------------------------------------------------------------------

    def _candidates(self, node: Node) -> Iterator[str]:
        name = node.metadata.name
        yield from self._machines_by_reference.of(name)
        for part in provider_id_ends(node.spec.provider_id):
            yield from self._machines_by_provider_id.of(part)
        yield from self._machines_by_node_name.of(name)
        for called in (node.metadata.labels.get(MACHINE_ID, ""), name):
            if called in self._machines:
                yield called

    def _node_of_machine(self, machine_id: str, entry: str) -> FoundNode:
        """By the strongest evidence there is; a weaker one never overrules a stronger."""
        machine = self._machines[machine_id]
        if (referred := self._referred(machine)) is not None:
            return FoundNode(machine_id, referred)
        # A Node of exactly that provider id comes before those whose id merely ends in it.
        by_id = [self._nodes[n] for n in self._nodes_by_provider_id.of(machine.provider_id)]
        exact = [n for n in by_id if n.spec.provider_id == machine.provider_id]
        if found := exact or by_id:
            return self._one_of(found, machine_id, machine)
        if (node := self._nodes.get(machine.node_name)) and not self._is_claimed(node, machine_id):
            return FoundNode(machine_id, node)
        labelled = [self._nodes[name] for name in self._nodes_by_label.of(machine_id)]
        if labelled := [n for n in labelled if not self._has_provider_id_of_another(n, machine_id)]:
            return self._one_of(labelled, machine_id, machine)
        for name in (entry, machine_id):
            node = self._nodes.get(name)
            if node is not None and not self._is_claimed(node, machine_id):
                return FoundNode(machine_id, node, is_by_name=True)
        return FoundNode(machine_id, None, is_sure=True)

    def _referred(self, machine: _Machine) -> Node | None:
        reference = machine.reference
        node = self._nodes.get(reference.name) if reference is not None else None
        if reference is None or node is None or reference.uid not in ("", node.metadata.uid):
            return None
        return node

    def _one_of(self, nodes: list[Node], machine_id: str, machine: _Machine) -> FoundNode:
        if len(nodes) > 1:
            named = [n for n in nodes if n.metadata.name == machine.node_name]
            labelled = [n for n in nodes if n.metadata.labels.get(MACHINE_ID) == machine_id]
            nodes = named or labelled
        return FoundNode(machine_id, nodes[0] if len(nodes) == 1 else None)

    def _is_claimed(self, node: Node, machine_id: str) -> bool:
        """Whether there is better evidence that the Node is another machine than its name."""
        name, label = node.metadata.name, node.metadata.labels.get(MACHINE_ID, "")
        if label and label != machine_id:
            return True
        if any(m != machine_id for m in self._machines_by_reference.of(name)):
            return True
        if machine_id and self._machines[machine_id].node_name == name:
            return self._has_provider_id_of_another(node, machine_id)
        if any(m != machine_id for m in self._machines_by_node_name.of(name)):
            return True
        return self._has_provider_id_of_another(node, machine_id)

    def _has_provider_id_of_another(self, node: Node, machine_id: str) -> bool:
        parts = provider_id_ends(node.spec.provider_id)
        return any(m != machine_id for p in parts for m in self._machines_by_provider_id.of(p))
