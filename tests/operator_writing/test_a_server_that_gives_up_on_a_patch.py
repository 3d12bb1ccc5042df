"""A 409 for a patch: others wrote to the object all the while, and the server gave up merging.

No patch of ours carries a version, so such an answer says nothing about the patch.
"""

from bigfleet.model.machines import MachineState
from tests.kube_api import FakeApiServer
from tests.operator_writing.machines import node, told
from tests.operator_writing.rig import rig_on

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
