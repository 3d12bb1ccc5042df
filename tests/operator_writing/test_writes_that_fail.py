"""A write that a session cuts off is made in the next one; a 409 for a patch is tried again."""

import asyncio
from collections.abc import Callable

from bigfleet.edge.counts import Counts
from bigfleet.kube.kinds import UPCOMING_NODES
from bigfleet.model.machines import MachineState
from tests.kube_api import FakeApiServer
from tests.operator_writing.machines import node, told
from tests.operator_writing.rig import rig_on


class Interrupting(Counts):
    """Calls a function after a worker was made and before it begins."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        super().__init__()
        self._interrupt: Callable[[], None] | None = interrupt

    def set(self, name: str, value: float, **labels: str) -> None:
        super().set(name, value, **labels)
        if name == "dispatch_inflight" and self._interrupt is not None:
            asyncio.get_running_loop().call_soon(self._interrupt)
            self._interrupt = None


async def test_a_session_that_ends_before_a_worker_begins_leaves_the_object_writable() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.write_back.writer._counts = Interrupting(rig.write_back.on_disconnected)
        rig.say(told(MachineState.CREATING))
        async with asyncio.timeout(60):
            await rig.written()
        assert server.objects(UPCOMING_NODES) == {}
        rig.write_back.on_connected()
        rig.say(told(MachineState.CREATING))
        await rig.written()
        assert rig.phase() == "Provisioning"


async def test_a_replica_without_a_session_keeps_nothing_in_mind_to_write() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.write_back.on_disconnected()
        rig.write_back.look_again(["m-1", "m-2"])
        assert rig.write_back.writer.is_idle


S = MachineState


async def test_a_patch_the_server_gave_up_on_is_sent_again() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.say(told(S.CONFIGURING))
        await rig.written()
        server.fail("patch", "upcomingnodes", status=409)
        rig.nodes["m-1"] = node()
        rig.say(told(S.CONFIGURED))
        await rig.written()
        assert rig.phase() == "Ready"
        assert rig.log.warnings == []
        assert rig.outcomes()["status_update", "conflict"] == 1


async def test_a_patch_the_server_gives_up_on_again_and_again_is_tried_after_a_pause() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.say(told(S.CONFIGURING))
        await rig.written()
        server.fail("patch", "upcomingnodes", status=409, times=1000)
        rig.nodes["m-1"] = node()
        rig.say(told(S.CONFIGURED))
        await rig.written()
        tried = len(rig.ops())
        assert [event for event, _ in rig.log.warnings] == ["write_back.failed"]
        await rig.clock.advance(0.4)
        await rig.written()
        assert len(rig.ops()) == tried
        server.heal()
        await rig.clock.advance(0.1)
        await rig.written()
        assert rig.phase() == "Ready"
