"""That a machine has no Node is believed of a view of now, not of one whose watch has failed."""

from pathlib import Path

import pytest

from bigfleet.kube.kinds import NODES, UPCOMING_NODES
from bigfleet.kube.names import MACHINE_ID
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import CLUSTER, JumpingClock, Rig, operating

TOLD = NodeStateUpdate("m-1", CLUSTER, MachineState.CONFIGURED, "n-1")


def go_blind(server: FakeApiServer) -> None:
    """Nodes, and only they, cannot be read any more."""
    server.fail("watch", NODES.plural, status=403, reason="Forbidden", times=10**6)
    server.fail("list", NODES.plural, status=403, reason="Forbidden", times=10**6)
    server.drop_watches(NODES.plural)


def phase(rig: Rig) -> object:
    return rig.server.get(UPCOMING_NODES, "un-m-1").get("status", {}).get("phase")


@pytest.mark.parametrize("labels", [{MACHINE_ID: "m-1"}, {}], ids=["by its label", "by its name"])
async def test_a_machine_the_shard_forgot_keeps_its_object_until_nodes_are_seen_again(
    tmp_path: Path, labels: dict[str, str]
) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock) as rig:
        rig.shard.say(TOLD)
        await rig.until(lambda: server.has(UPCOMING_NODES, "un-m-1") and phase(rig) == "Launched")
        go_blind(server)
        await rig.passes(5)
        server.put(NODES, {"metadata": {"name": "n-1", "labels": labels}})
        await rig.shard_dies()
        rig.shard.knows.clear()
        await rig.shard_returns()
        await rig.passes(60)
        assert server.has(UPCOMING_NODES, "un-m-1"), "its Node is there"
        server.heal()
        await rig.until(lambda: phase(rig) == "Failed")


async def test_no_node_is_called_missing_while_nodes_cannot_be_seen(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock) as rig:
        rig.shard.say(TOLD)
        await rig.until(lambda: server.has(UPCOMING_NODES, "un-m-1"))
        go_blind(server)
        await rig.passes(5)
        server.put(NODES, {"metadata": {"name": "n-1"}})
        await rig.passes(700)
        assert rig.events("NodeMissing") == []
        assert rig.operator.counts.of("node_missing_total") == 0
