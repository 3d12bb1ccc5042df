"""Nodes in every condition, and machines whose Nodes they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bigfleet.kube.names import MACHINE_ID
from bigfleet.kube.objects import Condition, Meta, Node, NodeSpec, NodeStatus, NodeTaint
from bigfleet.model.cluster_reports import LostCause
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.machine_nodes import MachineNodes, NodeLosses
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.node_rules import NodeRules

START: Instant = 1_700_000_000 * SECOND
MINUTE = 60 * SECOND
S = MachineState
GPU = "nvidia.com/gpu"


def taint(key: str, effect: str = "NoSchedule") -> NodeTaint:
    return NodeTaint(key=key, effect=effect)


def node(
    machine: str = "m-1",
    ready: str = "True",
    *,
    since: Instant = START,
    taints: Sequence[NodeTaint] = (),
    conditions: Iterable[Condition] = (),
    allocatable: dict[str, str | int | float] | None = None,
    **meta: Any,
) -> Node:
    """Its name is the machine's, with `n-` before it; `ready` empty: it never said."""
    said = [*conditions]
    if ready:
        said.append(Condition(type="Ready", status=ready, last_transition_time=instant_text(since)))
    labels = {MACHINE_ID: machine} if machine else {}
    return Node(
        metadata=Meta(
            name=f"n-{machine}",
            uid=f"uid-{machine}",
            labels=labels | meta.get("labels", {}),
            creation_timestamp=instant_text(meta.get("made", START)),
        ),
        spec=NodeSpec(taints=tuple(taints)),
        status=NodeStatus(conditions=tuple(said), allocatable=allocatable or {"cpu": "8"}),
    )


def told(
    machine: str = "m-1", state: MachineState = S.CONFIGURED, *, gpus: int = 0
) -> NodeStateUpdate:
    amounts = {"cpu": "8"} | ({GPU: str(gpus)} if gpus else {})
    return NodeStateUpdate(machine, "shop", state, resources=Resources.parse(amounts))


@dataclass
class Fleet:
    """Machines and Nodes of one cluster in virtual time, the session's replay over."""

    rules: NodeRules = field(default_factory=NodeRules)
    devices: set[str] = field(default_factory=set)
    at: Instant = START
    #: Whether the watch of Nodes tells all.
    fresh: bool = True

    def __post_init__(self) -> None:
        self.map = NodeMap()
        self.machines = MachineNodes(self.map, lambda: self.devices, CurrentSettings(self.rules))
        self.machines.on_connected()
        self.machines.on_replay_ended()

    def say(self, *updates: NodeStateUpdate) -> None:
        for update in updates:
            self.map.on_node_state(update)
            self.machines.on_node_state(update, self.at)

    def joins(self, *nodes: Node) -> None:
        for each in nodes:
            self.map.put(each)
        self.machines.refresh_all(self.at)

    def leaves(self, *machines: str) -> None:
        for machine in machines:
            self.map.remove(f"n-{machine}")
        self.machines.refresh_all(self.at)

    def passes(self, seconds: float, step: float = 10) -> NodeLosses:
        """As the operator looks at it every ten seconds; what it found last."""
        end = self.at + round(seconds * SECOND)
        found = self.look()
        while self.at < end:
            self.at = min(end, self.at + round(step * SECOND))
            found = self.look()
        return found

    def look(self) -> NodeLosses:
        self.machines.refresh_all(self.at)
        return self.machines.lost(self.fresh, self.at)

    def reconnects(self, *updates: NodeStateUpdate) -> None:
        self.machines.on_disconnected()
        self.machines.on_connected()
        self.say(*updates)
        self.machines.on_replay_ended()


def causes(losses: NodeLosses) -> dict[str, LostCause]:
    return {each.machine_id: each.cause for each in losses.records}
