"""What looks like a leftover before everything is known is none."""

from bigfleet.kube.kinds import UPCOMING_NODES
from bigfleet.model.machines import MachineState
from tests.kube_api import FakeApiServer
from tests.operator_writing.machines import told
from tests.operator_writing.stage import stage_on, until

S = MachineState
LEFTOVER = {
    "metadata": {"name": "un-m-9", "annotations": {"bigfleet.lucy.sh/machine-id": "m-9"}},
    "spec": {"resources": {}},
    "status": {"phase": "Ready"},
}


async def test_a_leftover_is_deleted_after_the_replay() -> None:
    async with FakeApiServer() as server:
        server.put(UPCOMING_NODES, LEFTOVER)
        async with stage_on(server) as stage:
            stage.say(told(S.CONFIGURED))
            await stage.written()
            assert server.has(UPCOMING_NODES, "un-m-9")
            stage.write_back.on_replay_ended()
            await stage.written()
            assert [key.name for key in server.objects(UPCOMING_NODES)] == ["un-m-1"]


async def test_the_sweep_waits_until_the_upcoming_nodes_are_listed() -> None:
    async with FakeApiServer() as server:
        server.put(UPCOMING_NODES, LEFTOVER)
        hold = server.hold("list", "upcomingnodes")
        async with stage_on(server, synced=False) as stage:
            await hold.reached()
            stage.write_back.on_replay_ended()
            await stage.written()
            assert server.writes() == []
            hold.release()
            await until(lambda: not server.has(UPCOMING_NODES, "un-m-9"))


async def test_the_sweep_waits_until_the_nodes_are_known() -> None:
    async with FakeApiServer() as server:
        server.put(UPCOMING_NODES, LEFTOVER)
        async with stage_on(server) as stage:
            stage.nodes_known[0] = False
            stage.write_back.on_replay_ended()
            await stage.clock.advance(30)
            await stage.written()
            assert server.writes() == []
            stage.nodes_known[0] = True
            await stage.clock.advance(30)
            await stage.written()
            assert not server.has(UPCOMING_NODES, "un-m-9")


async def test_a_session_lost_before_the_caches_are_full_sweeps_nothing() -> None:
    async with FakeApiServer() as server:
        server.put(UPCOMING_NODES, LEFTOVER)
        async with stage_on(server) as stage:
            stage.nodes_known[0] = False
            stage.write_back.on_replay_ended()
            stage.write_back.on_disconnected()
            stage.nodes_known[0] = True
            await stage.clock.advance(60)
            await stage.written()
            assert server.writes() == []


async def test_a_missing_node_is_an_event_and_a_count() -> None:
    async with FakeApiServer() as server, stage_on(server) as stage:
        stage.say(told(S.CONFIGURED))
        await stage.written()
        await stage.clock.advance(595)
        assert stage.told == []
        await stage.clock.advance(60)
        ((about, kind, reason, message),) = stage.told
        assert (about.name, kind, reason) == ("un-m-1", "Warning", "NodeMissing")
        assert about.uid == server.get(UPCOMING_NODES, "un-m-1")["metadata"]["uid"]
        assert "has had no Node for 10 minutes" in message
        assert stage.counts.of("node_missing_total") == 1
