"""Static stability of the whole process: what is under way stops, what is due waits."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bigfleet.kube.kinds import (
    AVAILABLE_CAPACITIES,
    CAPACITY_REQUESTS,
    NODES,
    PODS,
    UPCOMING_NODES,
)
from bigfleet.kube.names import RECLAIM
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import (
    AvailableCapacityUpdate,
    Confidence,
    NodeStateUpdate,
    ReclaimInstruction,
)
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import CLUSTER, JumpingClock, Rig, operating

S = MachineState
TEN_MINUTES = 600
BUDGETS = "poddisruptionbudgets"


def request(name: str, cpu: str = "1", **spec: object) -> dict[str, object]:
    whole = {"priority": 0, "resources": {"cpu": cpu}, **spec}
    return {"metadata": {"name": name, "namespace": "team"}, "spec": whole}


def update(machine: str, state: MachineState, node: str = "") -> NodeStateUpdate:
    return NodeStateUpdate(machine, CLUSTER, state, node)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """One pod on a Node that is being emptied, and a budget that keeps it; a Node that misses."""
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        server.put(NODES, {"metadata": {"name": "n-1"}})
        server.put(CAPACITY_REQUESTS, request("web-0"))
        labels = {"app": "web"}
        meta = {"name": "web-0", "namespace": "team", "labels": labels}
        server.put(
            PODS,
            {"metadata": meta, "spec": {"nodeName": "n-1"}, "status": {"phase": "Running"}},
        )
        spec = {"minAvailable": 1, "selector": {"matchLabels": labels}}
        server.put(BUDGETS, {"metadata": {"name": "web", "namespace": "team"}, "spec": spec})
        async with operating(tmp_path, server, clock) as rig:
            rig.shard.say(
                update("m-1", S.CONFIGURED, "n-1"),
                update("m-2", S.CONFIGURED, "n-2"),
                AvailableCapacityUpdate("aa" * 8, (), 3, Confidence.HIGH, 1.0),
            )
            await rig.until(lambda: len(server.objects(UPCOMING_NODES)) == 2)
            await rig.until(lambda: len(server.objects(AVAILABLE_CAPACITIES)) == 1)
            rig.shard.say(ReclaimInstruction("bf1-one", ("n-1",), 3_600))
            await rig.until(lambda: len(server.calls("evict")) >= 2)
            await rig.until(lambda: is_acknowledged(rig, "web-0"))
            yield rig


def is_acknowledged(rig: Rig, name: str) -> bool:
    found = rig.server.get(CAPACITY_REQUESTS, name, "team")
    return bool(found.get("status", {}).get("phase") == "Acknowledged")


async def test_ten_minutes_without_a_shard_bring_no_write_but_the_leases(rig: Rig) -> None:
    await rig.shard_dies()
    before, renewed = len(rig.writes()), len(rig.server.writes("leases"))
    server = rig.server
    # Everything invites: the budget is gone, a Node comes and one goes, demand comes and is odd.
    server.remove(BUDGETS, "web", "team")
    server.put(NODES, {"metadata": {"name": "n-2"}})
    server.put(CAPACITY_REQUESTS, request("web-1"))
    odd = {"key": "cores", "operator": "Gt", "values": ["8"]}
    server.put(CAPACITY_REQUESTS, request("odd", requirements=[odd]))
    await rig.passes(TEN_MINUTES / 2)
    server.drop_watches()
    server.remove(NODES, "n-2")
    await rig.passes(TEN_MINUTES / 2 + 60)
    assert [done.call for done in rig.writes()[before:]] == []
    assert len(server.writes("leases")) > renewed + 100, "it was alive, and led"
    assert server.get(NODES, "n-1")["spec"]["unschedulable"]
    assert server.has(PODS, "web-0", "team")
    assert len(server.objects(UPCOMING_NODES)) == 2
    assert len(server.objects(AVAILABLE_CAPACITIES)) == 1


async def test_what_was_under_way_goes_on_with_the_next_session(rig: Rig) -> None:
    await rig.shard_dies()
    rig.server.remove(BUDGETS, "web", "team")
    rig.server.put(CAPACITY_REQUESTS, request("web-1"))
    await rig.passes(30)
    rig.shard.acks.clear()
    rig.shard.rollups.clear()
    await rig.shard_returns()
    rig.shard.say(ReclaimInstruction("bf1-one", ("n-1",), 3_600))
    await rig.until(lambda: not rig.server.has(PODS, "web-0", "team"))
    await rig.until(lambda: len(rig.shard.acks) >= 2)
    assert {ack.instruction_id for ack in rig.shard.acks} == {"bf1-one"}
    await rig.until(lambda: is_acknowledged(rig, "web-1"))
    assert rig.milli_cpus() == 2_000


async def test_a_shard_that_calls_it_off_after_its_return_gets_the_node_uncordoned(
    rig: Rig,
) -> None:
    await rig.shard_dies()
    await rig.passes(30)
    assert rig.server.get(NODES, "n-1")["spec"]["unschedulable"]
    await rig.shard_returns()
    # It knows the machine as Configured, and says nothing of an instruction.
    await rig.until(lambda: not rig.server.get(NODES, "n-1")["spec"].get("unschedulable"))
    assert RECLAIM not in rig.server.get(NODES, "n-1")["metadata"].get("annotations", {})
    assert rig.server.has(PODS, "web-0", "team")


async def test_a_write_the_server_did_not_take_is_not_made_up_for_without_a_session(
    rig: Rig,
) -> None:
    """It is tried again and again, then the shard dies, then the server would take it."""
    server = rig.server
    server.fail("patch", UPCOMING_NODES.plural, status=503, times=10_000)
    server.fail("create", UPCOMING_NODES.plural, status=503, times=10_000)
    rig.shard.say(update("m-2", S.DRAINING, "n-2"), update("m-3", S.CONFIGURING))
    await rig.until(lambda: len(server.calls("patch", UPCOMING_NODES.plural)) >= 3)
    await rig.shard_dies()
    server.heal()
    before = len(rig.writes())
    await rig.passes(60)
    assert [done.call for done in rig.writes()[before:]] == []
    await rig.shard_returns()
    await rig.until(lambda: len(server.objects(UPCOMING_NODES)) == 3)
