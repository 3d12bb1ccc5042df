"""A whole operator waits for the VolumeAttachments of a Node, if it may read them."""

from pathlib import Path

from bigfleet.kube.kinds import NODES, VOLUME_ATTACHMENTS
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import CLUSTER, JumpingClock, Rig, operating

ATTACHED = {
    "metadata": {"name": "csi-1"},
    "spec": {"attacher": "csi.example.com", "nodeName": "n-1", "source": {}},
}


def tell_and_ask(rig: Rig) -> None:
    rig.shard.say(NodeStateUpdate("m-1", CLUSTER, MachineState.CONFIGURED, "n-1"))
    rig.shard.say(ReclaimInstruction("bf1-one", ("n-1",), 600))


async def test_a_machine_is_given_back_when_its_last_volume_is_detached(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        server.put(NODES, {"metadata": {"name": "n-1"}})
        server.put(VOLUME_ATTACHMENTS, ATTACHED)
        async with operating(tmp_path, server, clock) as rig:
            await rig.until(lambda: rig.operator.cluster_cache.attachments.cache.synced)
            tell_and_ask(rig)
            await rig.until(lambda: len(rig.shard.acks) == 1)
            await rig.passes(30)
            assert len(rig.shard.acks) == 1
            server.remove(VOLUME_ATTACHMENTS, "csi-1")
            await rig.until(lambda: len(rig.shard.acks) == 2)
            assert rig.shard.acks[-1].nodes_started == 1


async def test_an_operator_without_the_right_to_read_them_does_not_wait(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        server.put(NODES, {"metadata": {"name": "n-1"}})
        server.put(VOLUME_ATTACHMENTS, ATTACHED)
        server.fail("list", "volumeattachments", status=403, times=1_000)
        async with operating(tmp_path, server, clock) as rig:
            assert rig.operator.why_not_ready() == ""
            tell_and_ask(rig)
            await rig.until(lambda: len(rig.shard.acks) == 2)
            assert rig.shard.acks[-1].nodes_started == 1
