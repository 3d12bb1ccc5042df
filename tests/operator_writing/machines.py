"""Updates of a shard, Nodes and UpcomingNodes as the tests here need them."""

import json
from dataclasses import dataclass, field
from typing import Any, assert_never

import msgspec

from bigfleet.edge.clock import SECOND
from bigfleet.kube.kinds import UPCOMING_NODES
from bigfleet.kube.names import MACHINE_ID, upcoming_node_name
from bigfleet.kube.objects import Condition, Meta, Node, NodeSpec, NodeStatus, UpcomingNode
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.operator.drain_steps import DrainStanding
from bigfleet.operator.upcoming_nodes import UpcomingNodes
from bigfleet.operator.writes import Create, Delete, PatchSpec, PatchStatus, Write
from tests.kube_api.storage import merged

START: Instant = 1_700_000_000 * SECOND
SHAPE = Resources.parse({"cpu": "8", "memory": "32Gi"})


def told(state: MachineState, machine: str = "m-1", **fields: Any) -> NodeStateUpdate:
    defaults: dict[str, Any] = {
        "labels": {"topology.kubernetes.io/zone": "eu-1a"},
        "resources": SHAPE,
    }
    return NodeStateUpdate(machine, "shop", state, **(defaults | fields))


def node(
    name: str = "node-1", uid: str = "uid-1", machine: str = "", *, ready: bool = True
) -> Node:
    labels = {MACHINE_ID: machine} if machine else {}
    condition = Condition(type="Ready", status="True" if ready else "False")
    return Node(
        metadata=Meta(name=name, uid=uid, labels=labels),
        spec=NodeSpec(),
        status=NodeStatus(conditions=(condition,)),
    )


@dataclass
class ReadyNodes:
    """By machine: usable is what is Ready."""

    nodes: dict[str, Node]

    def node_of(self, machine: str) -> Node | None:
        return self.nodes.get(machine)

    def is_usable(self, machine: str) -> bool:
        return machine in self.nodes and self.nodes[machine].is_ready

    def refresh_all(self, at: Instant) -> list[str]:
        return []


@dataclass
class KnownDrains:
    """By machine."""

    standings: dict[str, DrainStanding] = field(default_factory=dict)

    def drain_of(self, machine: str) -> DrainStanding | None:
        return self.standings.get(machine)


class Cluster:
    """Objects of one kind, written as a server would: a pure stand-in for rounds of plans."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.standings: dict[str, DrainStanding] = {}
        self.objects: dict[str, dict[str, Any]] = {}
        self.version = 0
        self.plans = self._plans()
        self.written: list[Write] = []
        self.plans.on_connected(START)

    def _plans(self) -> UpcomingNodes:
        ready = ReadyNodes(self.nodes)
        return UpcomingNodes(ready, KnownDrains(self.standings), ready)

    def restart(self) -> None:
        """Another operator, with a full cache and without a memory."""
        self.plans = self._plans()
        for name in self.objects:
            self.plans.seen.on_cached(name, self.upcoming(name))
        self.written.clear()

    def say(self, update: NodeStateUpdate, at: Instant = START) -> list[str]:
        """The update and every write it takes; what they were."""
        return self.settle(self.plans.on_update(update, at), at)

    def look(self, machine: str = "m-1", at: Instant = START) -> list[str]:
        return self.settle(upcoming_node_name(machine), at)

    def settle(self, name: str, at: Instant = START) -> list[str]:
        ops: list[str] = []
        while (write := self.plans.next_write(name, at)) is not None:
            assert len(ops) < 8, f"does not settle: {ops}"
            ops.append(write.op)
            self._apply(write)
        self.plans.settled(name, at)
        return ops

    def upcoming(self, name: str = "un-m-1") -> UpcomingNode:
        return msgspec.json.decode(json.dumps(self.objects[name]), type=UPCOMING_NODES.record)

    def status(self, name: str = "un-m-1") -> dict[str, Any]:
        status: dict[str, Any] = self.objects[name].get("status", {})
        return status

    def phase(self, name: str = "un-m-1") -> str:
        return str(self.status(name)["phase"])

    def _apply(self, write: Write) -> None:
        self.written.append(write)
        self.version += 1
        match write:
            case Create():
                assert write.name not in self.objects
                found = merged({"metadata": {"uid": f"u-{self.version}"}}, dict(write.body))
            case PatchSpec():
                assert "status" not in write.patch
                found = merged(self.objects[write.name], dict(write.patch))
            case PatchStatus():
                assert set(write.patch) == {"status"}
                found = merged(self.objects[write.name], dict(write.patch))
            case Delete():
                assert self.objects.pop(write.name)["metadata"]["uid"] == write.uid
                self.plans.on_gone(write.name)
                return
            case _:
                assert_never(write)
        found["metadata"]["resourceVersion"] = str(self.version)
        self.objects[write.name] = found
        self.plans.seen.on_answer(write.name, self.upcoming(write.name))
