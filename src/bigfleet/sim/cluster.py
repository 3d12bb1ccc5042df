"""One simulated Kubernetes cluster: pods with requests, controllers, a scheduler, Nodes.

A pod is demand once it has a Node or the scheduler has said that it fits on none, and stays demand
for its life. A Node takes pods while its machine is Configured, the Node is there and is not
cordoned; a Node that goes takes its pods with it, and their controllers start new ones. A gang
that loses a member starts again as a whole, as training runs do.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import Need, NeedKey, aggregate
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.placement.admission import Budget
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.records import PodView
from bigfleet.sim.nodes import SimNode
from bigfleet.sim.scheduler import Policy, open_nodes, place_gang, schedule
from bigfleet.sim.workloads import DAEMON_SETS, DaemonSet, Workload

#: The machine is the cluster's in these; in all others its node is gone.
_PRESENT = (
    MachineState.CONFIGURING,
    MachineState.CONFIGURED,
    MachineState.DRAINING,
)
#: Pods one pass of the scheduler looks at; the next pass goes on with the others.
_PODS_PER_PASS = 5_000


class Cluster:
    def __init__(
        self,
        name: str,
        *,
        daemon_sets: Iterable[DaemonSet] = DAEMON_SETS,
        policy: Policy = Policy.LEAST_ALLOCATED,
    ) -> None:
        self.name = name
        self.occupancy = Occupancy()
        self.workloads: dict[str, Workload] = {}
        #: The Need of each workload's pods.
        self._needs: dict[str, NeedKey] = {}
        self.replicas: dict[str, int] = {}
        #: Pods that have a Node, by workload; never zero.
        self.placed: dict[str, int] = {}
        #: Nodes and machines that become Nodes, by machine id.
        self.nodes: dict[str, SimNode] = {}
        #: Raised with every change of demand.
        self.demand_version = 0
        #: Raised when room has come: a Node, or a place that a pod has left.
        self.room_version = 0
        self._daemon_sets = tuple(daemon_sets)
        self._policy = policy
        self._machine_of_name: dict[str, str] = {}
        #: Pods by workload, in the order of their creation.
        self._pods: dict[str, dict[str, None]] = {}
        self._born = 0
        #: Pods that are demand, by workload.
        self._counted: dict[str, int] = {}
        #: Pods without a Node, oldest first, and those of them that the scheduler must look at.
        self._waiting: dict[str, None] = {}
        self._untried: dict[str, None] = {}
        self._tried_room = 0

    # -- demand ----------------------------------------------------------------------------------

    def scale(self, workload: Workload, replicas: int, at: Instant) -> None:
        """Sets how many pods the workload has; pods that wait are the first to go."""
        name = workload.name
        if self.replicas.get(name, 0) == replicas:
            return
        self.workloads[name] = workload
        self._needs[name] = workload.need_key(self.name)
        self.replicas[name] = replicas
        pods = self._pods.setdefault(name, {})
        self._create(workload, replicas - len(pods), at)
        for uid in self._first_to_go(name, len(pods) - replicas):
            self._delete(uid, at)
        if not replicas:
            del self.workloads[name], self._needs[name], self.replicas[name], self._pods[name]

    def needs(self) -> list[Need]:
        """The sums of the requests, by profile and gang, the largest pod as unit."""
        return aggregate(
            workload.need(self.name, self._counted[name])
            for name, workload in self.workloads.items()
            if name in self._counted
        )

    def pending(self) -> dict[str, int]:
        """Pods without a place, by workload."""
        waiting = {n: wanted - self.placed.get(n, 0) for n, wanted in self.replicas.items()}
        return {name: pods for name, pods in waiting.items() if pods > 0}

    def waiting(self) -> Iterator[PodView]:
        """Pods without a Node, oldest first."""
        pods = self.occupancy.pods
        return (pods[uid] for uid in self._waiting)

    @property
    def gangs(self) -> list[Workload]:
        return [workload for workload in self.workloads.values() if workload.is_gang]

    def machines_of(self, workload: Workload) -> frozenset[str]:
        """On which pods of a workload run."""
        nodes = {self.occupancy.pods[uid].node for uid in self._pods.get(workload.name, ())}
        return frozenset(self._machine_of_name[name] for name in nodes - {""})

    @property
    def pods(self) -> int:
        return sum(self.replicas.values())

    @property
    def running(self) -> int:
        return sum(self.placed.values())

    # -- nodes -----------------------------------------------------------------------------------

    def on_node_state(self, update: NodeStateUpdate, at: Instant) -> SimNode | None:
        """The machine as the shard tells it; None: its node is gone."""
        node = self.nodes.get(update.machine_id)
        if update.state not in _PRESENT:
            if node is not None:
                self.lose(node, at)
            return None
        if node is None:
            name = update.node_name or update.machine_id
            node = SimNode(
                name, update.machine_id, update.state, update.labels, update.resources, at
            )
            self.nodes[update.machine_id] = node
            self._machine_of_name[name] = update.machine_id
        joins = node.name not in self.occupancy.nodes and update.state is MachineState.CONFIGURED
        node.state = update.state
        if joins:
            node.since = at
            for each in self._daemon_sets:
                self.occupancy.put_pod(each.pod(node.name), at)
        self._show(node, at)
        return node

    def lose(self, node: SimNode, at: Instant) -> None:
        """The machine has left, its Node and pods with it."""
        self._clear(node, at)
        self.occupancy.remove_node(node.name)
        del self.nodes[node.machine]
        self._machine_of_name.pop(node.name, None)

    def delete_node(self, node: SimNode, at: Instant) -> None:
        """The Node object is deleted; the machine stays and does not join again."""
        self._clear(node, at)
        node.gone_since = node.since = at
        self._show(node, at)

    def node_called(self, name: str) -> SimNode | None:
        """By the Node's name or by the machine's id."""
        return self.nodes.get(self._machine_of_name.get(name, name))

    def node_at(self, place: float) -> SimNode | None:
        """Of the nodes that take pods, by name, the one so far along: 0.5 is in the middle."""
        names = open_nodes(self.occupancy)
        return self.node_called(names[int(place * len(names))]) if names else None

    def cordon(self, node: SimNode, at: Instant, instruction: str = "") -> None:
        node.cordoned, node.instruction = True, instruction
        self._show(node, at)

    def uncordon(self, node: SimNode, at: Instant) -> None:
        if node.cordoned or node.instruction:
            node.cordoned, node.instruction = False, ""
            self._show(node, at)

    def announce(self, node: SimNode, instruction: str, at: Instant) -> None:
        """There is an instruction about the node that was not acted on yet."""
        node.instruction = instruction
        self._show(node, at)

    def evict(self, pods: Iterable[PodView], at: Instant) -> list[tuple[PodView, PodView]]:
        """One round through the budgets: each pod that goes, with the one that follows it."""
        gone: list[tuple[PodView, PodView]] = []
        for pod in pods:
            workload = self.workloads[pod.owner]
            if pod.uid not in self.occupancy.pods or self.allowed_disruptions(workload) <= 0:
                continue
            gone.extend(self._restart(pod, at))
        return gone

    def allowed_disruptions(self, workload: Workload) -> int:
        """How many placed pods may lose their place now: what a PodDisruptionBudget says."""
        wanted = self.replicas[workload.name]
        missing_allowed = max(1, int(wanted * workload.max_unavailable))
        return self.placed.get(workload.name, 0) - (wanted - missing_allowed)

    def budget_of(self, pod: PodView) -> Budget | None:
        workload = self.workloads.get(pod.owner)
        if workload is None or workload.max_unavailable >= 1:
            return None
        return Budget(f"default/{workload.name}", self.allowed_disruptions(workload))

    # -- the scheduler ---------------------------------------------------------------------------

    def schedule(self, at: Instant) -> int:
        """One pass over pods that wait and have reason to be looked at; how many got a Node."""
        if self._tried_room != self.room_version:
            self._tried_room = self.room_version
            self._untried = dict(self._waiting)
        if not self._untried:
            return 0
        tried = [self.occupancy.pods[uid] for uid in islice(self._untried, _PODS_PER_PASS)]
        for pod in tried:
            self._untried.pop(pod.uid, None)
        before = self.running
        for gang in dict.fromkeys(pod.owner for pod in tried if pod.near):
            self._place_gang(gang, at)
        placements = schedule(self.occupancy, [p for p in tried if not p.near], self._policy)
        for binding in placements.bindings:
            self._bind(binding.pod, binding.node, at)
        for judged in placements.unschedulable:
            self._judge(judged.pod, judged.text, at)
        return self.running - before

    def _place_gang(self, name: str, at: Instant) -> None:
        """All of its pods or none: the scheduler has a plug-in for gangs."""
        waiting = [self.occupancy.pods[uid] for uid in self._pods[name] if uid in self._waiting]
        for pod in waiting:
            self._untried.pop(pod.uid, None)
        places, text = place_gang(self.occupancy, waiting)
        for pod in waiting:
            if places:
                self._bind(pod.uid, places[pod.uid], at)
            else:
                self._judge(pod.uid, text, at)

    def _bind(self, uid: str, node: str, at: Instant) -> None:
        pod = self.occupancy.pods[uid]
        workload = self.workloads[pod.owner]
        if pod.need is None:
            self._count(workload, 1)
        self.occupancy.put_pod(self._scheduled(pod, node, None, "", at), at)
        del self._waiting[uid]
        self.placed[workload.name] = self.placed.get(workload.name, 0) + 1

    def _judge(self, uid: str, text: str, at: Instant) -> None:
        """The pod's condition says so; the same words again change nothing."""
        pod = self.occupancy.pods[uid]
        if pod.unschedulable_since is not None and pod.verdict == text:
            return
        workload = self.workloads[pod.owner]
        if pod.need is None:
            self._count(workload, 1)
        since = at if pod.unschedulable_since is None else pod.unschedulable_since
        self.occupancy.put_pod(self._scheduled(pod, "", since, text, at), at)

    def _scheduled(
        self, pod: PodView, node: str, since: Instant | None, verdict: str, at: Instant
    ) -> PodView:
        """The pod after the scheduler has looked at it; built by hand, as there are many."""
        return PodView(
            pod.uid,
            pod.key,
            pod.requests,
            self._needs[pod.owner],
            pod.owner,
            pod.priority,
            pod.requirements,
            pod.groups,
            pod.apart,
            pod.near,
            node=node,
            unschedulable_since=since,
            judged_at=at,
            verdict=verdict,
        )

    # -- within ----------------------------------------------------------------------------------

    def _show(self, node: SimNode, at: Instant) -> None:
        if node.has_joined:
            view = node.view()
            if view != self.occupancy.nodes.get(node.name):
                self.occupancy.put_node(view, at)
                self.room_version += 1

    def _clear(self, node: SimNode, at: Instant) -> None:
        """All pods on it end; those with a controller start again elsewhere."""
        for pod in list(self.occupancy.pods_on(node.name).values()):
            if pod.follows_node:
                self.occupancy.remove_pod(pod.uid, at)
            elif pod.uid in self.occupancy.pods:
                self._restart(pod, at)

    def _restart(self, pod: PodView, at: Instant) -> list[tuple[PodView, PodView]]:
        """A new pod takes the place of this one; of a gang, all start again."""
        workload = self.workloads[pod.owner]
        gone = [pod]
        if workload.is_gang:
            all_pods = (self.occupancy.pods[uid] for uid in self._pods[workload.name])
            gone = [member for member in all_pods if member.node]
        for each in gone:
            self._delete(each.uid, at)
        return list(zip(gone, self._create(workload, len(gone), at), strict=True))

    def _create(self, workload: Workload, count: int, at: Instant) -> list[PodView]:
        if count <= 0:
            return []
        created = list(workload.pods(range(self._born + 1, self._born + count + 1)))
        self._born += count
        known = self._pods[workload.name]
        for pod in created:
            known[pod.uid] = self._waiting[pod.uid] = self._untried[pod.uid] = None
            self.occupancy.put_pod(pod, at)
        return created

    def _delete(self, uid: str, at: Instant) -> None:
        pod = self.occupancy.pods[uid]
        name = pod.owner
        self.occupancy.remove_pod(uid, at)
        del self._pods[name][uid]
        if pod.need is not None:
            self._count(self.workloads[name], -1)
        if pod.node:
            self._lower(self.placed, name)
            self.room_version += 1
        else:
            del self._waiting[uid]
            self._untried.pop(uid, None)

    def _count(self, workload: Workload, by: int) -> None:
        self._counted[workload.name] = self._counted.get(workload.name, 0) + by
        if not self._counted[workload.name]:
            del self._counted[workload.name]
        self.demand_version += 1

    @staticmethod
    def _lower(counts: dict[str, int], name: str) -> None:
        counts[name] -= 1
        if not counts[name]:
            del counts[name]

    def _first_to_go(self, name: str, pods: int) -> list[str]:
        """Pods that wait, newest first, then those on the emptiest nodes, to free whole ones."""
        if pods <= 0:
            return []
        known = self.occupancy.pods
        waiting = [uid for uid in reversed(self._pods[name]) if not known[uid].node][:pods]
        left = pods - len(waiting)
        if not left:
            return waiting
        running = [known[uid] for uid in self._pods[name] if known[uid].node]
        shared = {node: len(self.occupancy.pods_on(node)) for node in {p.node for p in running}}
        running.sort(key=lambda pod: (shared[pod.node], pod.node, pod.uid))
        return waiting + [pod.uid for pod in running[:left]]
