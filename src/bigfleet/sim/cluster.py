"""One simulated Kubernetes cluster: its workloads, its nodes, and the roll-up of its pods.

All live pods are demand, placed or waiting. A node is schedulable while its machine is Configured
and nobody has cordoned it; a node that goes takes its pods with it, and they wait for a new place.
A gang that loses a member starts again as a whole, as training runs do.
"""

from collections.abc import Iterable, Mapping

from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need, aggregate
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.sim.nodes import Node
from bigfleet.sim.placing import place
from bigfleet.sim.workloads import Workload

#: The machine is the cluster's in these; in all others its node is gone.
_PRESENT = (
    MachineState.CONFIGURING,
    MachineState.CONFIGURED,
    MachineState.DRAINING,
)


class Cluster:
    def __init__(self, name: str) -> None:
        self.name = name
        self.workloads: dict[str, Workload] = {}
        self.replicas: dict[str, int] = {}
        #: All and only placed pods, by workload; the sum over the nodes.
        self.placed: dict[str, int] = {}
        #: By machine id.
        self.nodes: dict[str, Node] = {}
        self._machine_of_name: dict[str, str] = {}
        #: Grows with every change of demand.
        self.demand_version = 0
        self._unsettled = False

    # -- demand ----------------------------------------------------------------------------------

    def scale(self, workload: Workload, replicas: int) -> None:
        """Sets how many pods the workload has; pods that wait are the first to go."""
        name = workload.name
        if self.replicas.get(name, 0) == replicas:
            return
        self.workloads[name] = workload
        self.replicas[name] = replicas
        self._remove_placed(workload, self.placed.get(name, 0) - replicas)
        if not replicas:
            del self.workloads[name], self.replicas[name]
            self.placed.pop(name, None)
        self.demand_version += 1
        self._unsettled = True

    def needs(self) -> list[Need]:
        """The roll-up: grouped by profile and gang, requests summed, the largest pod as unit."""
        return aggregate(
            workload.need(self.name, self.replicas[name])
            for name, workload in self.workloads.items()
        )

    def pending(self) -> dict[str, int]:
        """Pods without a place, by workload."""
        waiting = {n: wanted - self.placed.get(n, 0) for n, wanted in self.replicas.items()}
        return {name: pods for name, pods in waiting.items() if pods > 0}

    @property
    def pods(self) -> int:
        return sum(self.replicas.values())

    @property
    def running(self) -> int:
        return sum(self.placed.values())

    # -- nodes -----------------------------------------------------------------------------------

    def on_node_state(self, update: NodeStateUpdate) -> Node | None:
        """The machine as the shard tells it; None: its node is gone."""
        node = self.nodes.get(update.machine_id)
        if update.state not in _PRESENT:
            if node is not None:
                self.lose(node)
            return None
        if node is None:
            capacity = dict(update.resources.amounts)
            name = update.node_name or update.machine_id
            node = Node(
                name, update.machine_id, update.state, update.labels, capacity, dict(capacity)
            )
            self.nodes[update.machine_id] = node
            self._machine_of_name[name] = update.machine_id
        node.state = update.state
        self._unsettled = True
        return node

    def lose(self, node: Node) -> None:
        """The node is gone and its pods with it."""
        for name, pods in list(node.pods.items()):
            self._unplace(self.workloads[name], node, pods)
        del self.nodes[node.machine]
        self._machine_of_name.pop(node.name, None)
        self._unsettled = True

    def node_called(self, name: str) -> Node | None:
        """By the Node's name or by the machine's id."""
        return self.nodes.get(self._machine_of_name.get(name, name))

    def cordon(self, node: Node) -> None:
        node.cordoned = True

    def uncordon(self, node: Node) -> None:
        if node.cordoned:
            node.cordoned = False
            self._unsettled = True

    def evict(self, node: Node) -> int:
        """One round through the budgets: pods that may go wait for a new place; pods left."""
        for name, pods in list(node.pods.items()):
            workload = self.workloads[name]
            going = min(pods, self.allowed_disruptions(workload))
            if going > 0:
                self._unplace(workload, node, going)
        return sum(node.pods.values())

    def allowed_disruptions(self, workload: Workload) -> int:
        """How many placed pods may lose their place now: what a PodDisruptionBudget says."""
        wanted = self.replicas[workload.name]
        missing_allowed = max(1, int(wanted * workload.max_unavailable))
        return self.placed.get(workload.name, 0) - (wanted - missing_allowed)

    def schedule(self) -> Mapping[str, int]:
        """Places what waits; nothing to do where nothing has changed since."""
        if not self._unsettled:
            return {}
        self._unsettled = False
        waiting = ((self.workloads[name], pods) for name, pods in self.pending().items())
        placed = place(waiting, self.nodes.values())
        for name, pods in placed.items():
            self.placed[name] = self.placed.get(name, 0) + pods
        return placed

    # -- within ----------------------------------------------------------------------------------

    def _unplace(self, workload: Workload, node: Node, pods: int) -> None:
        """These pods lose their place; of a gang, all do."""
        losses = [(node, pods)]
        if workload.is_gang:
            losses = [
                (n, n.pods[workload.name]) for n in self.nodes.values() if workload.name in n.pods
            ]
        for each, count in losses:
            each.drop(workload.name, workload.request, count)
            self.placed[workload.name] -= count
        self._unsettled = True

    def _remove_placed(self, workload: Workload, pods: int) -> None:
        """From the emptiest nodes first, so that whole nodes become free."""
        for node in _emptiest_first(self.nodes.values(), workload.name):
            if pods <= 0:
                return
            gone = min(pods, node.pods[workload.name])
            node.drop(workload.name, workload.request, gone)
            self.placed[workload.name] -= gone
            pods -= gone


def _emptiest_first(nodes: Iterable[Node], workload: str) -> list[Node]:
    running = (node for node in nodes if workload in node.pods)
    return sorted(running, key=lambda node: (sum(node.pods.values()), node.name))
