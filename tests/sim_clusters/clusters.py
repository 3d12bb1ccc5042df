"""Small clusters to play with: nodes as the shard tells them, workloads by their size."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from bigfleet.model.cluster_reports import ClusterReportReply, NeedStanding
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, RACK_KEY
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import (
    Acknowledgement,
    NodeStateUpdate,
    ReclaimInstruction,
    ShardFrame,
)
from bigfleet.placement.records import PodView
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.operator import Operator, Rollup, Said
from bigfleet.sim.scheduler import Policy
from bigfleet.sim.workloads import Workload, web

T0 = 1_700_000_000 * SECOND
NODE = Resources.parse({"cpu": "7500m", "memory": "28Gi"})


def amounts(cpu: str, memory: str) -> Resources:
    return Resources.parse({"cpu": cpu, "memory": memory})


def node_update(
    machine: str,
    state: MachineState = MachineState.CONFIGURED,
    rack: str = "a-r0",
    labels: Mapping[str, str] | None = None,
) -> NodeStateUpdate:
    known = {INSTANCE_TYPE_KEY: "std-8", RACK_KEY: rack, **(labels or {})}
    return NodeStateUpdate(machine, "shop", state, f"node-{machine}", labels=known, resources=NODE)


def cluster_with(*machines: str, rack: str = "a-r0", at: int = T0) -> Cluster:
    """Its scheduler fills one node after the other, which is easy to follow."""
    cluster = Cluster("shop", policy=Policy.FIRST_FIT)
    for machine in machines:
        cluster.on_node_state(node_update(machine, rack=rack), at)
    return cluster


def filled(pods: int, *machines: str, workload: Workload | None = None) -> Cluster:
    """A cluster whose pods are placed as far as they fit."""
    cluster = cluster_with(*machines)
    cluster.scale(workload or web("web"), pods, T0)
    cluster.schedule(T0)
    return cluster


def pods_on(cluster: Cluster, machine: str) -> dict[str, int]:
    """By workload, without those of DaemonSets."""
    node = cluster.nodes[machine].name
    return dict(Counter(pod.owner for pod in cluster.occupancy.movable_on(node)))


def pods_on_all(cluster: Cluster) -> dict[str, dict[str, int]]:
    return {machine: pods_on(cluster, machine) for machine in cluster.nodes}


def is_cordoned(cluster: Cluster, machine: str) -> bool:
    return cluster.occupancy.nodes[cluster.nodes[machine].name].cordoned


def waiting(cluster: Cluster) -> list[PodView]:
    return list(cluster.waiting())


def connected(cluster: Cluster, at: int = T0) -> Operator:
    """An operator whose replay named every node the cluster has."""
    operator = Operator(cluster)
    operator.margins.on_reply(ClusterReportReply(), at)
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
    """No Need claims the machine any more."""
    return ReclaimInstruction(instruction, (f"node-{machine}",), grace)


def preempt(machine: str, instruction: str = "bf1-1", grace: int = 600) -> ReclaimInstruction:
    """A Need of higher priority takes the machine."""
    return replace(reclaim(machine, instruction, grace), preemptor_priority=1_000_000)


def without_rollups(said: list[Said]) -> list[Said]:
    return [each for each in said if not isinstance(each, Rollup)]


def rollups(said: list[Said]) -> list[Rollup]:
    return [each for each in said if isinstance(each, Rollup)]


def later(seconds: float) -> int:
    return T0 + round(seconds * SECOND)


def served(rows: tuple[Need, ...], machines: Mapping[str, int]) -> ClusterReportReply:
    """How a shard answers that has Configured so many machines for each group of rows."""
    return ClusterReportReply(
        tuple(
            NeedStanding(
                row.key.fingerprint,
                row.key.group,
                satisfied=True,
                wanted=row.aggregate,
                claimed=NODE.times(machines.get(row.key.group, 0)),
                machines=machines.get(row.key.group, 0),
            )
            for row in rows
        ),
        cycle=1,
    )
