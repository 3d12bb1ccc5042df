"""Small clusters to play with: nodes as the shard tells them, workloads by their size."""

from collections.abc import Mapping

from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, RACK_KEY
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import (
    Acknowledgement,
    NodeStateUpdate,
    ReclaimInstruction,
    ShardFrame,
)
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.operator import Operator, Report, Said
from bigfleet.sim.workloads import Workload, web

T0 = 1_700_000_000 * SECOND
NODE = Resources.parse({"cpu": "7500m", "memory": "28Gi"})


def node_update(
    machine: str,
    state: MachineState = MachineState.CONFIGURED,
    rack: str = "a-r0",
    labels: Mapping[str, str] | None = None,
) -> NodeStateUpdate:
    known = {INSTANCE_TYPE_KEY: "std-8", RACK_KEY: rack, **(labels or {})}
    return NodeStateUpdate(machine, "shop", state, f"node-{machine}", labels=known, resources=NODE)


def cluster_with(*machines: str, rack: str = "a-r0") -> Cluster:
    cluster = Cluster("shop")
    for machine in machines:
        cluster.on_node_state(node_update(machine, rack=rack))
    return cluster


def filled(pods: int, *machines: str, workload: Workload | None = None) -> Cluster:
    """A cluster whose pods are placed as far as they fit."""
    cluster = cluster_with(*machines)
    cluster.scale(workload or web("web"), pods)
    cluster.schedule()
    return cluster


def connected(cluster: Cluster, at: int = T0) -> Operator:
    """An operator whose replay named every node the cluster has."""
    operator = Operator(cluster)
    reconnect(operator, *cluster.nodes, at=at)
    return operator


def reconnect(operator: Operator, *machines: str, at: int) -> list[Said]:
    """A session whose replay names these machines, Configured; what the operator said first."""
    said = operator.on_connected(at)
    replay(operator, *(node_update(machine) for machine in machines), at=at)
    return said


def replay(operator: Operator, *frames: ShardFrame, at: int) -> None:
    """What a shard says between the acknowledgements of the two Hellos."""
    for frame in (Acknowledgement("hello"), *frames, Acknowledgement("hello")):
        operator.on_frame(frame, at)


def reclaim(machine: str, instruction: str = "bf1-1", grace: int = 600) -> ReclaimInstruction:
    return ReclaimInstruction(instruction, (f"node-{machine}",), grace)


def without_reports(said: list[Said]) -> list[Said]:
    return [each for each in said if not isinstance(each, Report)]


def later(seconds: float) -> int:
    return T0 + round(seconds * SECOND)
