"""What looks like a leftover before everything is known is not one."""

from bigfleet.kube.kinds import UPCOMING_NODES
from bigfleet.model.machines import MachineState
from tests.kube_api import FakeApiServer
from tests.operator_writing.machines import told
from tests.operator_writing.rig import rig_on, until

S = MachineState
LEFTOVER = {
    "metadata": {"name": "un-m-9", "annotations": {"bigfleet.lucy.sh/machine-id": "m-9"}},
    "spec": {"resources": {}},
    "status": {"phase": "Ready"},
}


async def test_a_leftover_is_deleted_after_the_replay() -> None:
    async with FakeApiServer() as server:
        server.put(UPCOMING_NODES, LEFTOVER)
        async with rig_on(server) as rig:
            rig.say(told(S.CONFIGURED))
            await rig.written()
            assert server.has(UPCOMING_NODES, "un-m-9")
            rig.write_back.on_replay_ended()
            await rig.written()
            assert [key.name for key in server.objects(UPCOMING_NODES)] == ["un-m-1"]


async def test_the_sweep_waits_until_the_upcoming_nodes_are_listed() -> None:
    async with FakeApiServer() as server:
        server.put(UPCOMING_NODES, LEFTOVER)
        hold = server.hold("list", "upcomingnodes")
        async with rig_on(server, synced=False) as rig:
            await hold.reached()
            rig.write_back.on_replay_ended()
            await rig.written()
            assert server.writes() == []
            hold.release()
            await until(lambda: not server.has(UPCOMING_NODES, "un-m-9"))


async def test_the_sweep_waits_until_the_nodes_are_known() -> None:
    async with FakeApiServer() as server:
        server.put(UPCOMING_NODES, LEFTOVER)
        async with rig_on(server) as rig:
            rig.nodes_known[0] = False
            rig.write_back.on_replay_ended()
            await rig.clock.advance(30)
            await rig.written()
            assert server.writes() == []
            rig.nodes_known[0] = True
            await rig.clock.advance(30)
            await rig.written()
            assert not server.has(UPCOMING_NODES, "un-m-9")


async def test_a_session_lost_before_the_caches_are_full_sweeps_nothing() -> None:
    async with FakeApiServer() as server:
        server.put(UPCOMING_NODES, LEFTOVER)
        async with rig_on(server) as rig:
            rig.nodes_known[0] = False
            rig.write_back.on_replay_ended()
            rig.write_back.on_disconnected()
            rig.nodes_known[0] = True
            await rig.clock.advance(60)
            await rig.written()
            assert server.writes() == []


async def test_a_missing_node_is_an_event_and_a_count() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.say(told(S.CONFIGURED))
        await rig.written()
        await rig.clock.advance(595)
        assert rig.told == []
        await rig.clock.advance(60)
        ((about, kind, reason, message),) = rig.told
        assert (about.name, kind, reason) == ("un-m-1", "Warning", "NodeMissing")
        assert about.uid == server.get(UPCOMING_NODES, "un-m-1")["metadata"]["uid"]
        assert "has had no Node for 10 minutes" in message
        assert rig.counts.of("node_missing_total") == 1
