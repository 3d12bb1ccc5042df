"""A whole operator deletes the Node of a machine that has left; the server has the last word."""

from pathlib import Path

from bigfleet.kube.kinds import NODES
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import CLUSTER, JumpingClock, Rig, operating

S = MachineState
NOT_READY = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def has_node(server: FakeApiServer, name: str, status: object = NOT_READY) -> None:
    server.put(NODES, {"metadata": {"name": name}, "status": status})


async def leaves(rig: Rig, number: int = 1) -> None:
    name = f"n-{number}"
    machine = f"m-{number}"
    rig.shard.say(NodeStateUpdate(machine, CLUSTER, S.CONFIGURED, name))
    await rig.until(lambda: rig.operator.cluster_cache.node_map.machine_of(name) == machine)
    rig.shard.say(NodeStateUpdate(machine, CLUSTER, S.DRAINING, name))
    rig.shard.say(NodeStateUpdate(machine, CLUSTER, S.IDLE))


async def test_the_node_goes_and_the_others_stay(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock) as rig:
        for name in ("n-1", "own-1"):
            has_node(server, name)
        await rig.until(lambda: rig.operator.cluster_cache.node_map.node("own-1"))
        await leaves(rig)
        await rig.passes(100)
        assert server.has(NODES, "n-1")
        await rig.until(lambda: not server.has(NODES, "n-1"))
        await rig.passes(200)
        assert server.has(NODES, "own-1")
        (call,) = server.calls("delete", "nodes")
        assert call.body["preconditions"]["uid"]
        assert rig.operator.counts.of("nodes_deleted_total") == 1
        assert len(rig.events("NodeDeleted")) == 1


async def test_a_node_the_server_calls_ready_stays(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock) as rig:
        has_node(server, "n-1")
        await rig.until(lambda: rig.operator.cluster_cache.node_map.node("n-1"))
        await leaves(rig)
        server.freeze_watches("nodes")
        has_node(server, "n-1", READY)
        await rig.passes(140)
        assert server.has(NODES, "n-1")
        assert server.calls("delete", "nodes") == []


async def test_nothing_is_deleted_where_that_is_turned_off(
    tmp_path: Path,
) -> None:
    clock = JumpingClock()
    async with (
        FakeApiServer(clock) as server,
        operating(tmp_path, server, clock, delete_nodes=False) as rig,
    ):
        has_node(server, "n-1")
        await rig.until(lambda: rig.operator.cluster_cache.node_map.node("n-1"))
        await leaves(rig)
        await rig.passes(200)
        assert server.calls("delete", "nodes") == []


async def test_nothing_is_deleted_while_the_shard_is_away(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock) as rig:
        has_node(server, "n-1")
        await rig.until(lambda: rig.operator.cluster_cache.node_map.node("n-1"))
        await leaves(rig)
        await rig.passes(60)
        await rig.shard_dies()
        await rig.passes(200)
        assert server.calls("delete", "nodes") == []


async def test_a_server_that_refuses_is_left_alone_for_a_while(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock) as rig:
        server.fail("delete", "nodes", status=403, times=1)
        has_node(server, "n-1")
        await rig.until(lambda: rig.operator.cluster_cache.node_map.node("n-1"))
        await leaves(rig)
        await rig.until(lambda: len(server.calls("delete", "nodes")) == 1)
        await rig.passes(60)
        assert len(server.calls("delete", "nodes")) == 1
        assert rig.log.count("node_cleanup.failed") == 1
