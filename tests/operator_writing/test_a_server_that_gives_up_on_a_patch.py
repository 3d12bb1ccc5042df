"""A 409 for a patch: others wrote to the object all the while, and the server gave up merging.

No patch of ours carries a version, so such an answer is no word against what the patch says.
"""

from bigfleet.model.machines import MachineState
from tests.kube_api import FakeApiServer
from tests.operator_writing.machines import node, told
from tests.operator_writing.stage import stage_on

S = MachineState


async def test_a_patch_the_server_gave_up_on_is_sent_again() -> None:
    async with FakeApiServer() as server, stage_on(server) as stage:
        stage.say(told(S.CONFIGURING))
        await stage.written()
        server.fail("patch", "upcomingnodes", status=409)
        stage.nodes["m-1"] = node()
        stage.say(told(S.CONFIGURED))
        await stage.written()
        assert stage.phase() == "Ready"
        assert stage.log.warnings == []
        assert stage.outcomes()["status_update", "conflict"] == 1


async def test_a_patch_the_server_gives_up_on_again_and_again_is_tried_after_a_pause() -> None:
    async with FakeApiServer() as server, stage_on(server) as stage:
        stage.say(told(S.CONFIGURING))
        await stage.written()
        server.fail("patch", "upcomingnodes", status=409, times=1000)
        stage.nodes["m-1"] = node()
        stage.say(told(S.CONFIGURED))
        await stage.written()
        tried = len(stage.ops())
        assert [event for event, _ in stage.log.warnings] == ["write_back.failed"]
        await stage.clock.advance(0.4)
        await stage.written()
        assert len(stage.ops()) == tried
        server.heal()
        await stage.clock.advance(0.1)
        await stage.written()
        assert stage.phase() == "Ready"
