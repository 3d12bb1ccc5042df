"""Nodes whose machine has left the cluster: which of them may be deleted, and when.

A cloud's own controller usually deletes them. Where none does, a Node stays for ever with the pods
it had, and schedulers, dashboards and people count it.

Laws. A Node is deleted only if it was known to be a machine of this cluster by more than its name,
the shard says that this machine has left or no longer names it, the Node is not Ready, it is no
other machine of the cluster, and all of that for the whole waiting time of one session with caches
that are complete and of now. A Node of the cluster's own is never touched.
"""

from dataclasses import dataclass

from bigfleet.kube.names import MACHINE_ID
from bigfleet.kube.objects import Node
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.node_map import MAY_HAVE_A_NODE, NodeMap
from bigfleet.operator.settings import OperatorSettings

#: A server that refuses will hardly change its mind sooner.
_AFTER_A_FAILURE = 300 * SECOND


@dataclass(frozen=True, slots=True)
class DepartedNode:
    name: str
    uid: str
    machine: str
    #: When its machine left, or when it was last seen not to be deletable.
    since: Instant


class DepartedNodes:
    def __init__(self, nodes: NodeMap, settings: CurrentSettings[OperatorSettings]) -> None:
        self._nodes = nodes
        self._settings = settings
        self._is_connected = self._is_replayed = False
        #: All Nodes are looked at once when the replay is over and the cache complete.
        self._is_swept = False
        #: What this session has said of each machine.
        self._state: dict[str, MachineState] = {}
        #: By name of the Node; only of this session.
        self._departed: dict[str, DepartedNode] = {}

    def __len__(self) -> int:
        return len(self._departed)

    # -- what happened ---------------------------------------------------------------------------

    def on_connected(self) -> None:
        self._is_connected, self._is_replayed, self._is_swept = True, False, False
        self._state.clear()
        self._departed.clear()

    def on_disconnected(self) -> None:
        self._is_connected = False
        self._departed.clear()

    def before_node_state(self, update: NodeStateUpdate, at: Instant) -> None:
        """The map of Nodes does not know of it yet: a machine that leaves loses its names there."""
        if not self._is_connected:
            return
        machine = update.machine_id
        self._state[machine] = update.state
        if update.state in MAY_HAVE_A_NODE:
            self._departed = {n: d for n, d in self._departed.items() if d.machine != machine}
            return
        found = self._nodes.find(machine)
        if found.node is not None and not found.is_by_name:
            self._depart(found.node, machine, at)

    def on_replay_ended(self) -> None:
        """The shard has told all machines it has."""
        self._is_replayed = self._is_connected

    def on_deleted(self, departed: DepartedNode) -> None:
        self._departed.pop(departed.name, None)

    def on_failed(self, departed: DepartedNode, at: Instant) -> None:
        """It is tried again, much later."""
        if self._departed.get(departed.name) == departed:
            self._depart_again(departed, at + _AFTER_A_FAILURE)

    # -- what to do ------------------------------------------------------------------------------

    def to_delete(self, at: Instant, *, nodes_are_fresh: bool) -> list[DepartedNode]:
        """Those the server may now be asked about."""
        if not (self._is_connected and self._is_replayed and nodes_are_fresh):
            return []
        if not self._is_swept:
            self._is_swept = True
            self._sweep(at)
        due = []
        for departed in list(self._departed.values()):
            node = self._nodes.node(departed.name)
            if node is None or node.metadata.uid != departed.uid or self._is_ours(node):
                del self._departed[departed.name]
            elif node.is_ready:
                # Something lives there. It has to be quiet for the whole time.
                self._depart_again(departed, at)
            elif at - departed.since >= round(self._settings.now.node_delete_after * SECOND):
                due.append(departed)
        return due

    def may_delete(self, departed: DepartedNode, found: Node) -> bool:
        """`found` is what the server has now; the session may have ended meanwhile."""
        is_known = self._departed.get(departed.name) == departed
        return is_known and found.metadata.uid == departed.uid and not found.is_ready

    # -- within ----------------------------------------------------------------------------------

    def _sweep(self, at: Instant) -> None:
        """Nodes of machines that the shard has not named are left over."""
        for node in self._nodes.nodes():
            machine = self._machine_of(node)
            if machine and machine not in self._state:
                self._depart(node, machine, at)

    def _depart(self, node: Node, machine: str, at: Instant) -> None:
        meta = node.metadata
        known = self._departed.get(meta.name)
        if known is None or known.uid != meta.uid:
            self._departed[meta.name] = DepartedNode(meta.name, meta.uid, machine, at)

    def _depart_again(self, departed: DepartedNode, at: Instant) -> None:
        again = DepartedNode(departed.name, departed.uid, departed.machine, at)
        self._departed[departed.name] = again

    def _machine_of(self, node: Node) -> str:
        """By more than its name; empty: not a machine, as far as is known."""
        machine = self._nodes.machine_of(node.metadata.name)
        if machine and not self._nodes.find(machine).is_by_name:
            return machine
        return node.metadata.labels.get(MACHINE_ID, "")

    def _is_ours(self, node: Node) -> bool:
        """Whether it is a machine that may still run pods of this cluster, by any evidence."""
        machines = {
            self._nodes.machine_of(node.metadata.name),
            node.metadata.labels.get(MACHINE_ID, ""),
        }
        return any(self._state.get(machine) in MAY_HAVE_A_NODE for machine in machines)
