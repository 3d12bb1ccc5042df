"""The cluster as placement sees it: pods with their Needs, and the fleet's machines as Nodes.

Fed change by change from the caches. A pod's Need is that of the CapacityRequest made for it, and
so are its requirements, which say more than the pod alone: where its volumes are, for one. Since
when the scheduler's last word stands is the moment this process heard it: the condition carries no
time for a word that changed.
"""

from typing import Protocol

from bigfleet.kube.names import RECLAIM
from bigfleet.kube.objects import Node, ObjectKey
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.requirements import HOSTNAME_KEY, INSTANCE_TYPE_KEY
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import (
    NodeStateUpdate,
)
from bigfleet.model.taints import Taint
from bigfleet.operator.machine_nodes import Health, MachineNodes
from bigfleet.operator.pods_on_nodes import NotMoved, PodOnNode
from bigfleet.operator.translator import TranslatedDemand
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.records import DEFAULT_POD_LIMIT, NodeView, PodView, do_not_disrupt

_FOLLOWERS = (NotMoved.DAEMON_SET, NotMoved.MIRROR)
_PODS = "pods"


class Requests(Protocol):
    """What CapacityRequests ask for."""

    def need_of(self, key: ObjectKey) -> NeedKey | None: ...

    def demand_of(self, key: ObjectKey) -> TranslatedDemand | None: ...


class PodListener(Protocol):
    def on_pod_added(self, pod: PodView) -> None:
        """A pod was seen for the first time."""
        ...


class ClusterView:
    def __init__(
        self,
        requests: Requests,
        machines: MachineNodes,
        occupancy: Occupancy,
        listener: PodListener,
    ) -> None:
        self.occupancy = occupancy
        self._requests = requests
        self._machines = machines
        self._listener = listener
        self._pods: dict[str, PodOnNode] = {}
        #: By the uid of a pod: the CapacityRequest made for it.
        self._request_of: dict[str, ObjectKey] = {}
        #: By machine: what its view was made of, and the name it has.
        self._made_of: dict[str, tuple[Node | None, NodeStateUpdate, str, Instant, str]] = {}
        self._name_of: dict[str, str] = {}
        #: By machine, while it is open: the id of the instruction to give it back.
        self._instruction_of: dict[str, str] = {}

    # -- pods ------------------------------------------------------------------------------------

    def on_pod(self, before: PodOnNode | None, now: PodOnNode | None, at: Instant) -> None:
        if before is not None and (now is None or now.uid != before.uid):
            self._forget(before.uid, at)
        if now is None:
            return
        if now.is_terminal:
            self._forget(now.uid, at)
            return
        is_new = now.uid not in self._pods
        self._pods[now.uid] = now
        view = self._put(now, at)
        if is_new:
            self._listener.on_pod_added(view)

    def on_request(self, key: ObjectKey, pod_uid: str, is_there: bool, at: Instant) -> None:
        """A CapacityRequest for this pod came, changed or went; its demand is known by now."""
        if not pod_uid:
            return
        if is_there:
            self._request_of[pod_uid] = key
        elif self._request_of.get(pod_uid) == key:
            del self._request_of[pod_uid]
        if (pod := self._pods.get(pod_uid)) is not None:
            self._put(pod, at)

    def on_needs_moved(self, at: Instant) -> None:
        """Requests have come under other Needs: pods are looked up anew."""
        for uid, key in self._request_of.items():
            known = self.occupancy.pods.get(uid)
            if known is not None and known.need != self._requests.need_of(key):
                self._put(self._pods[uid], at)

    def pod(self, uid: str) -> PodOnNode | None:
        return self._pods.get(uid)

    def _forget(self, uid: str, at: Instant) -> None:
        self._pods.pop(uid, None)
        self.occupancy.remove_pod(uid, at)

    def _put(self, pod: PodOnNode, at: Instant) -> PodView:
        view = self._view_of(pod, at)
        self.occupancy.put_pod(view, at)
        return view

    def _view_of(self, pod: PodOnNode, at: Instant) -> PodView:
        known = self.occupancy.pods.get(pod.uid)
        heard = (
            known.judged_at if known is not None and known.verdict == pod.why_unscheduled else at
        )
        request = self._request_of.get(pod.uid)
        demand = self._requests.demand_of(request) if request is not None else None
        shape, is_judged = pod.shape, pod.unschedulable_since is not None
        return PodView(
            uid=pod.uid,
            key=str(pod.key),
            requests=shape.requests if demand is None else demand.unit,
            need=self._requests.need_of(request) if request is not None else None,
            owner=pod.owner_uid,
            priority=shape.priority,
            requirements=shape.requirements if demand is None else demand.profile.requirements,
            groups=shape.groups,
            apart=shape.apart,
            near=shape.near,
            tolerations=shape.tolerations,
            node=pod.node,
            unschedulable_since=pod.unschedulable_since,
            judged_at=heard if is_judged else None,
            verdict=pod.why_unscheduled,
            do_not_disrupt=pod.do_not_disrupt,
            follows_node=pod.why_not_evicted in _FOLLOWERS,
        )

    # -- machines --------------------------------------------------------------------------------

    def on_instruction(self, machine: str, instruction: str, at: Instant) -> None:
        """An instruction to give it back was opened, or ended; empty: none is open."""
        if instruction:
            self._instruction_of[machine] = instruction
        else:
            self._instruction_of.pop(machine, None)
        self.on_machine(machine, at)

    def on_machine(self, machine: str, at: Instant) -> None:
        """It was told of, or its Node changed."""
        found = self._machines.of(machine)
        update, health = found if found is not None else (None, None)
        if update is None or health is None or _has_left(update, health):
            self._remove(machine)
            return
        instruction = self._instruction(update, health)
        made_of = (health.node, update, health.why_not_usable, health.since, instruction)
        known = self._made_of.get(machine)
        if known is not None and known[0] is health.node and known[1:] == made_of[1:]:
            return
        self._made_of[machine] = made_of
        view = node_view(update, health, instruction)
        if self._name_of.get(machine, view.name) != view.name:
            self.occupancy.remove_node(self._name_of[machine])
        self._name_of[machine] = view.name
        self.occupancy.put_node(view, at)

    def on_machines(self, at: Instant) -> None:
        """All of them, as they are now."""
        for machine in self._name_of.keys() | set(self._machines.names()):
            self.on_machine(machine, at)

    def _remove(self, machine: str) -> None:
        self._made_of.pop(machine, None)
        self._instruction_of.pop(machine, None)
        if (name := self._name_of.pop(machine, None)) is not None:
            self.occupancy.remove_node(name)

    def _instruction(self, update: NodeStateUpdate, health: Health) -> str:
        if found := self._instruction_of.get(update.machine_id):
            return found
        if health.node is not None and (marked := health.node.metadata.annotations.get(RECLAIM)):
            return marked
        return "draining" if update.state is MachineState.DRAINING else ""

    def sizes(self) -> dict[str, int]:
        return {
            "podsViewed": len(self._pods),
            "podsWithRequests": len(self._request_of),
            "machinesViewed": len(self._name_of),
        }


def node_view(update: NodeStateUpdate, health: Health, instruction: str = "") -> NodeView:
    node = health.node
    machine = update.machine_id
    labels = {**update.labels, **(node.metadata.labels if node is not None else {})}
    kind = labels.get(INSTANCE_TYPE_KEY) or ",".join(
        f"{name}={text}" for name, text in update.resources.texts().items()
    )
    if node is None:
        return NodeView(
            machine,
            machine,
            update.resources,
            update.resources,
            kind,
            labels,
            why_not_usable=health.why_not_usable,
            since=health.since,
            instruction=instruction,
        )
    labels.setdefault(HOSTNAME_KEY, node.metadata.name)
    said = {name: str(quantity) for name, quantity in node.status.allocatable.items()}
    allocatable = Resources.parse_leniently(said)
    return NodeView(
        name=node.metadata.name,
        machine=machine,
        declared=update.resources,
        allocatable=allocatable if said else update.resources,
        kind=kind,
        labels=labels,
        taints=tuple(Taint(t.key, t.effect, t.value) for t in node.spec.taints),
        pod_limit=allocatable[_PODS] if _PODS in said else DEFAULT_POD_LIMIT,
        why_not_usable=health.why_not_usable,
        since=health.since,
        cordoned=node.spec.unschedulable,
        instruction=instruction,
        do_not_disrupt=do_not_disrupt(node.metadata.annotations),
    )


def _has_left(update: NodeStateUpdate, health: Health) -> bool:
    return update.state is not MachineState.CONFIGURED and health.node is None
