"""A cluster that is only records, and the pure machine that drains it; time is said, not waited."""

from bigfleet.edge.counts import Counts
from bigfleet.kube.names import FOUND_CORDONED, RECLAIM
from bigfleet.kube.objects import Meta, Node, NodeSpec, ObjectKey
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimAck, ReclaimInstruction
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.drain_steps import (
    Check,
    Cordon,
    Evict,
    Instruction,
    Publish,
    Send,
    ServerCheck,
    Tell,
    Uncordon,
    cordon_patch,
    uncordon_patch,
)
from bigfleet.operator.drains import Drains
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.pods_on_nodes import AttachedVolumes, NotMoved, PodOnNode, PodsOnNodes
from bigfleet.operator.reclaim_admission import ReclaimAdmission
from bigfleet.operator.settings import OperatorSettings

S = MachineState
ID = "bf1-one"
REFUSED = (
    "Cannot evict pod as it would violate the pod's disruption budget. "
    "The disruption budget web needs 2 healthy pods and has 2 currently"
)


def node_record(
    name: str, provider_id: str = "", label: str = "", *, cordoned: bool = False, uid: str = ""
) -> Node:
    labels = {"bigfleet.lucy.sh/machine-id": label} if label else {}
    meta = Meta(name=name, uid=uid or f"uid-{name}", labels=labels, resource_version="1")
    return Node(metadata=meta, spec=NodeSpec(provider_id=provider_id, unschedulable=cordoned))


def pod_record(
    name: str,
    node: str = "n-1",
    *,
    kept: NotMoved | None = None,
    deleting: bool = False,
    uid: str = "",
) -> PodOnNode:
    key = ObjectKey("shop", name)
    return PodOnNode(
        key, uid or f"uid-{name}", node, kept, kept is NotMoved.TERMINAL, is_deleting=deleting
    )


class KnownCluster:
    """What the drains of a rig know of their cluster."""

    def __init__(self, rig: "Rig") -> None:
        self._rig = rig
        self.node_map, self.pods_on_nodes = rig.nodes, rig.pods
        self.volumes = rig.volumes

    def nodes_are_fresh(self, at: Instant) -> bool:
        return self._rig.nodes_are_fresh

    def pods_are_fresh(self, at: Instant) -> bool:
        return self._rig.pods_are_fresh


class Rig:
    """`steps` are the instructions since they were last taken; writes are answered by the test.

    Checks are answered at once, unless the test does: the server has what the caches have, and what
    they have not heard of.
    """

    def __init__(self, admission: ReclaimAdmission | None = None) -> None:
        self.at: Instant = 1_700_000_000 * SECOND
        self.nodes, self.pods = NodeMap(), PodsOnNodes()
        self.nodes_are_fresh = self.pods_are_fresh = True
        self.counts = Counts()
        self.volumes = AttachedVolumes()
        self.settings = OperatorSettings()
        settings = CurrentSettings(self.settings)
        self.drains = Drains(KnownCluster(self), lambda: 0.5, self.counts, settings, admission)
        self.steps: list[Instruction] = []
        self.unheard_pods: list[PodOnNode] = []
        self.unheard_nodes: set[str] = set()
        #: By name, as the server has them; None: gone.
        self.unheard_changes: dict[str, Node | None] = {}
        self.answers_checks = True
        #: Those that were answered at once.
        self.checked: list[Check] = []

    # -- the cluster -----------------------------------------------------------------------------

    def has_node(self, node: Node) -> None:
        self.nodes.put(node)
        self.steps += self.drains.on_node_changed(node.metadata.name, self.at)

    def loses_node(self, name: str) -> None:
        self.nodes.remove(name)
        self.steps += self.drains.on_node_changed(name, self.at)

    def has_pod(self, pod: PodOnNode) -> None:
        self.pods.put(pod)
        self.steps += self.drains.on_pods_changed(pod.node, self.at)

    def loses_pod(self, pod: PodOnNode) -> None:
        self.pods.remove(pod.key)
        self.steps += self.drains.on_pods_changed(pod.node, self.at)

    def detaches(self, volume: str, node: str = "n-1") -> None:
        self.volumes.remove(volume, node)
        self.steps += self.drains.on_pods_changed(node, self.at)

    # -- the shard -------------------------------------------------------------------------------

    def connect(self, *updates: NodeStateUpdate, asked: ReclaimInstruction | None = None) -> None:
        """A session with its whole replay."""
        self.steps += self.drains.on_connected(self.at)
        for update in updates:
            self.steps += self.drains.on_node_state(update, self.at)
        if asked is not None:
            self.steps += self.drains.on_instruction(asked, self.at)
        self.steps += self.drains.on_replay_ended(self.at)

    def disconnect(self) -> None:
        self.drains.on_disconnected()

    def tells(
        self, state: MachineState, machine: str = "m-1", node_name: str = "n-1"
    ) -> NodeStateUpdate:
        update = NodeStateUpdate(machine, "shop", state, node_name)
        self.steps += self.drains.on_node_state(update, self.at)
        return update

    def asks(self, *entries: str, instruction: str = ID, grace: int = 600) -> None:
        asked = ReclaimInstruction(instruction, entries or ("n-1",), grace)
        self.steps += self.drains.on_instruction(asked, self.at)

    # -- time and answers ------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """To the second, with every tick that is due on the way."""
        self._answer_checks()
        end = self.at + round(seconds * SECOND)
        while (due := self.drains.due_at(self.at)) is not None and due <= end:
            self.at = due
            self._tick()
        self.at = end
        self._tick()

    def _tick(self) -> None:
        self.steps += self.drains.tick(self.at)
        self._answer_checks()

    def _answer_checks(self) -> None:
        while self.answers_checks and (checks := [s for s in self.steps if isinstance(s, Check)]):
            self.steps = [step for step in self.steps if not isinstance(step, Check)]
            for check in checks:
                self.checked.append(check)
                self.check(check)

    def check(self, check: Check) -> None:
        pods = [pod for name in check.nodes for pod in self.pods.all_on(name).values()]
        pods += [pod for pod in self.unheard_pods if pod.node in check.nodes]
        nodes = tuple(n for n in check.absent if n in self.unheard_nodes or self.nodes.node(n))
        known = {name: self.nodes.node(name) for name in check.nodes} | self.unheard_changes
        drained = [node for name in check.nodes if (node := known[name]) is not None]
        found = ServerCheck(tuple(pods), nodes, tuple(drained))
        self.steps += self.drains.on_checked(check, found, self.at)

    def answer_cordons(self) -> None:
        """Every write of a Node succeeds."""
        while steps := self.take(Cordon, Uncordon):
            for step in steps:
                assert isinstance(step, Cordon | Uncordon)
                self.write(step)

    def write(self, step: Cordon | Uncordon) -> None:
        self.unheard_changes.pop(step.node.metadata.name, None)
        if isinstance(step, Cordon):
            node = patched(step.node, cordon_patch(step.node, step.instruction_id))
            self.steps += self.drains.on_cordoned(node, self.at)
        else:
            node = patched(step.node, uncordon_patch(step.node))
            self.steps += self.drains.on_uncordoned(node, self.at)

    def evict(self, pod: PodOnNode) -> None:
        """The eviction is taken, and the pod ends at once."""
        self.steps += self.drains.on_evicted(pod, self.at)
        self.loses_pod(pod)

    def refuse(self, pod: PodOnNode, text: str = REFUSED) -> None:
        self.steps += self.drains.on_eviction_blocked(pod, text, self.at)

    # -- what came out ---------------------------------------------------------------------------

    def take(self, *kinds: type[Instruction]) -> list[Instruction]:
        """Those of some kinds, which are gone then."""
        self._answer_checks()
        taken = [step for step in self.steps if isinstance(step, kinds)]
        self.steps = [step for step in self.steps if not isinstance(step, kinds)]
        return taken

    def acks(self) -> list[tuple[str, int]]:
        sent = [step.ack for step in self.take(Send) if isinstance(step, Send)]
        assert all(isinstance(ack, ReclaimAck) for ack in sent)
        return [(ack.instruction_id, ack.nodes_started) for ack in sent]

    def evictions(self) -> list[PodOnNode]:
        return [step.pod for step in self.take(Evict) if isinstance(step, Evict)]

    def cordons(self) -> list[str]:
        steps = [step for step in self.steps if isinstance(step, Cordon)]
        return [step.node.metadata.name for step in steps]

    def uncordons(self) -> list[str]:
        steps = [step for step in self.steps if isinstance(step, Uncordon)]
        return [step.node.metadata.name for step in steps]

    def told(self) -> list[Tell]:
        return [step for step in self.take(Tell) if isinstance(step, Tell)]

    def published(self) -> list[str]:
        return [step.machine_id for step in self.take(Publish) if isinstance(step, Publish)]

    def is_cordoned(self, name: str = "n-1") -> bool:
        node = self.nodes.node(name)
        assert node is not None
        return node.spec.unschedulable

    def mark(self, name: str = "n-1") -> str | None:
        node = self.nodes.node(name)
        assert node is not None
        return node.metadata.annotations.get(RECLAIM)


def patched(node: Node, patch: dict[str, object]) -> Node:
    """As a server would apply our two patches; anything else in them is a mistake here."""
    metadata, spec = patch["metadata"], patch.get("spec", {})
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    annotations = {**node.metadata.annotations, **metadata["annotations"]}
    assert set(metadata["annotations"]) <= {RECLAIM, FOUND_CORDONED}
    meta = Meta(
        name=node.metadata.name,
        uid=node.metadata.uid,
        labels=node.metadata.labels,
        annotations={k: v for k, v in annotations.items() if v is not None},
        resource_version=str(int(node.metadata.resource_version or "0") + 1),
    )
    cordoned = bool(spec.get("unschedulable", node.spec.unschedulable))
    return Node(
        metadata=meta, spec=NodeSpec(provider_id=node.spec.provider_id, unschedulable=cordoned)
    )


def joined(*pods: PodOnNode, node: Node | None = None) -> Rig:
    """Machine m-1 is Node n-1, Configured and connected."""
    rig = Rig()
    rig.has_node(node or node_record("n-1"))
    for pod in pods:
        rig.has_pod(pod)
    rig.connect(NodeStateUpdate("m-1", "shop", S.CONFIGURED, "n-1"))
    assert rig.steps == []
    return rig


def draining(*pods: PodOnNode, grace: int = 600) -> Rig:
    """Asked, cordoned and answered once; the first evictions are not taken yet."""
    rig = joined(*pods)
    rig.asks(grace=grace)
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    return rig
