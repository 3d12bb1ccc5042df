"""A whole operator: what it shows and reports of machines as their Nodes come, turn and go."""

from pathlib import Path
from typing import Any

from bigfleet.kube.kinds import NODES, PODS, UPCOMING_NODES
from bigfleet.kube.names import MACHINE_ID
from bigfleet.model.cluster_reports import LostCause, LostMachine
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from tests.kube_api import FakeApiServer
from tests.operator_system.reports import ReportDesk
from tests.operator_system.rig import CLUSTER, JumpingClock, Rig, operating

S = MachineState


def told(machine: str, state: MachineState = S.CONFIGURED) -> NodeStateUpdate:
    return NodeStateUpdate(machine, CLUSTER, state)


def node(machine: str, ready: str = "True", *, since: int = 0, **spec: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": instant_text(since)}
    return {
        "metadata": {"name": f"n-{machine}", "labels": {MACHINE_ID: machine}},
        "spec": spec,
        "status": {"conditions": [condition], "allocatable": {"cpu": "8"}},
    }


def pod(name: str, on: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", **fields}, "spec": {"nodeName": on}}


def phase(rig: Rig, machine: str = "m-1") -> str:
    if not rig.server.has(UPCOMING_NODES, f"un-{machine}"):
        return ""
    return str(rig.server.get(UPCOMING_NODES, f"un-{machine}").get("status", {}).get("phase"))


async def test_the_phase_follows_the_node(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock) as rig:
        rig.shard.say(told("m-1"))
        await rig.until(lambda: phase(rig) == "Launched")
        server.put(NODES, node("m-1", "False"))
        await rig.until(lambda: phase(rig) == "Registered")
        startup = [{"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}]
        server.put(NODES, node("m-1", taints=startup))
        await rig.passes(5)
        assert phase(rig) == "Registered"
        server.change(NODES, "n-m-1", {"spec": {"taints": None}})
        await rig.until(lambda: phase(rig) == "Ready")
        server.put(NODES, node("m-1", "Unknown"))
        await rig.until(lambda: phase(rig) == "Registered")


async def test_empty_and_unusable_machines_are_reported(tmp_path: Path) -> None:
    clock, desk = JumpingClock(), ReportDesk()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock, desk=desk) as rig:
        for machine in ("m-1", "m-2", "m-3"):
            server.put(NODES, node(machine))
        server.put(NODES, node("m-4", "False", since=clock.now()))
        server.put(PODS, pod("web", "n-m-1"))
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "logs", "uid": "u"}
        server.put(PODS, pod("logs", "n-m-2", ownerReferences=[owner | {"controller": True}]))
        rig.shard.say(*(told(f"m-{number}") for number in range(1, 6)))
        await rig.until(lambda: desk.taken and desk.last.empty_machines == ("m-2", "m-3"))
        assert desk.last.unusable_machines == ("m-4", "m-5")
        assert desk.last.lost == ()
        server.put(PODS, pod("more", "n-m-3"))
        await rig.until(lambda: desk.last.empty_machines == ("m-2",))


async def test_a_deleted_node_is_reported_after_its_time_and_told(tmp_path: Path) -> None:
    clock, desk = JumpingClock(), ReportDesk()
    async with (
        FakeApiServer(clock) as server,
        operating(tmp_path, server, clock, desk=desk, node_gone=20) as rig,
    ):
        server.put(NODES, node("m-1"))
        rig.shard.say(told("m-1"), told("m-2"))
        await rig.until(lambda: phase(rig) == "Ready")
        server.remove(NODES, "n-m-1")
        await rig.passes(15)
        assert all(report.lost == () for report in desk.taken)
        await rig.until(lambda: len(desk.last.lost) == 2)
        assert desk.last.lost == (
            LostMachine("m-1", LostCause.NODE_GONE),
            LostMachine("m-2", LostCause.NEVER_JOINED),
        )
        await rig.until(lambda: rig.events("MachineLost"))
        (event,) = rig.events("MachineLost")
        assert event["involvedObject"]["name"] == "un-m-1"
        assert 'machines_lost{cause="node_gone"} 1' in await rig.metrics()


async def test_a_fault_of_the_network_replaces_nothing(tmp_path: Path) -> None:
    clock, desk = JumpingClock(), ReportDesk()
    names = [f"m-{number}" for number in range(10)]
    async with (
        FakeApiServer(clock) as server,
        operating(tmp_path, server, clock, desk=desk, repair_conditions=("Ready=20s",)) as rig,
    ):
        for machine in names:
            server.put(NODES, node(machine))
        rig.shard.say(*(told(machine) for machine in names))
        await rig.until(lambda: phase(rig, "m-9") == "Ready")
        for machine in names[:5]:
            server.put(NODES, node(machine, "Unknown", since=clock.now()))
        await rig.passes(60)
        assert all(report.lost == () for report in desk.taken)
        assert rig.log.count("repair.held") == 1
        assert desk.last.unusable_machines == tuple(names[:5])
        for machine in names[:4]:
            server.put(NODES, node(machine))
        await rig.until(lambda: desk.last.lost == (LostMachine("m-4", LostCause.UNHEALTHY),))


async def test_another_autoscaler_is_warned_of_once(tmp_path: Path) -> None:
    clock, desk = JumpingClock(), ReportDesk()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock, desk=desk) as rig:
        image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0"
        body = pod("autoscaler-7f9c", "n-own")
        body["spec"]["containers"] = [{"name": "main", "image": image}]
        server.put(PODS, body)
        await rig.until(lambda: rig.events("OtherAutoscaler"))
        await rig.passes(60)
        (event,) = rig.events("OtherAutoscaler")
        assert "cluster-autoscaler is at work in this cluster" in event["message"]
        assert rig.log.count("other_autoscaler") == 1
        assert 'other_autoscaler{autoscaler="cluster-autoscaler"} 1' in await rig.metrics()
        server.remove(PODS, "autoscaler-7f9c", "ns")
        await rig.passes(15)
        assert "other_autoscaler{" not in await rig.metrics()
