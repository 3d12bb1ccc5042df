"""Plans become calls: few, coalesced, bounded, and again where one failed."""

from bigfleet.kube.kinds import AVAILABLE_CAPACITIES, UPCOMING_NODES
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.session_frames import AvailableCapacityUpdate, Confidence
from bigfleet.operator.upcoming_nodes import UpcomingNodes
from bigfleet.operator.writes import PatchStatus, Write
from tests.kube_api import FakeApiServer
from tests.operator_writing.machines import KnownDrains, ReadyNodes, node, told
from tests.operator_writing.rig import rig_on, until

S = MachineState


async def test_a_whole_life_takes_eight_calls() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        for state in (S.CREATING, S.IDLE, S.CONFIGURING, S.CONFIGURED):
            rig.say(told(state))
            await rig.written()
        for joined in (node(ready=False), node()):
            rig.nodes["m-1"] = joined
            rig.write_back.look_again(["m-1"])
            await rig.written()
        for state in (S.DRAINING, S.IDLE):
            rig.say(told(state))
            await rig.written()
        assert rig.ops() == ["create", *["patch status"] * 6, "delete"]
        assert rig.outcomes() == {
            ("create", "success"): 1,
            ("status_update", "success"): 6,
            ("delete", "success"): 1,
        }
        assert server.objects(UPCOMING_NODES) == {}


async def test_two_thousand_updates_in_a_burst_become_two_calls_a_machine() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.nodes.update({f"m-{number}": node(f"node-{number}") for number in range(50)})
        for state in (S.CREATING, S.IDLE, S.CONFIGURING, S.CONFIGURED):
            rig.say(*(told(state, f"m-{number % 50}") for number in range(500)))
        await rig.written()
        assert sorted(rig.ops()) == ["create"] * 50 + ["patch status"] * 50
        phases = {found["status"]["phase"] for found in server.objects(UPCOMING_NODES).values()}
        assert phases == {"Ready"}


async def test_updates_during_a_write_become_one_more_write() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        hold = server.hold("create", "upcomingnodes")
        rig.say(told(S.CREATING))
        await hold.reached()
        rig.nodes["m-1"] = node()
        rig.say(told(S.IDLE), told(S.CONFIGURING), told(S.CONFIGURED))
        hold.release()
        await rig.written()
        assert rig.ops() == ["create", "patch status"]
        assert rig.phase() == "Ready"


async def test_a_second_operator_on_the_same_objects_writes_nothing() -> None:
    async with FakeApiServer() as server:
        async with rig_on(server) as rig:
            rig.nodes["m-1"] = node()
            rig.say(told(S.CONFIGURED, provider_id="i-7"))
            await rig.written()
        before = len(server.writes())
        async with rig_on(server) as rig:
            rig.nodes["m-1"] = node()
            rig.say(told(S.CONFIGURED, provider_id="i-7"))
            rig.write_back.on_replay_ended()
            await rig.written()
        assert len(server.writes()) == before


async def test_no_more_than_dispatch_objects_are_written_at_once() -> None:
    async with FakeApiServer() as server, rig_on(server, dispatch=4) as rig:
        hold = server.hold("create", "upcomingnodes")
        rig.say(*(told(S.CREATING, f"m-{number}") for number in range(20)))
        await until(lambda: len(hold.waiting) == 4)
        assert rig.counts.of("dispatch_inflight") == 4
        hold.release()
        await rig.written()
        assert len(server.objects(UPCOMING_NODES)) == 20
        assert rig.counts.of("dispatch_inflight") == 0


async def test_an_object_the_cache_does_not_know_yet_is_looked_at_and_patched() -> None:
    async with FakeApiServer() as server:
        spec = {"resources": {"cpu": "1"}, "labels": {"old": "1"}}
        server.put(UPCOMING_NODES, {"metadata": {"name": "un-m-1"}, "spec": spec})
        hold = server.hold("list", "upcomingnodes")
        async with rig_on(server, synced=False) as rig:
            rig.nodes["m-1"] = node()
            rig.say(told(S.CONFIGURED))
            await rig.written()
            assert rig.ops() == ["create", "patch", "patch status"]
            assert rig.outcomes()["create", "conflict"] == 1
            found = server.get(UPCOMING_NODES, "un-m-1")
            assert found["spec"]["labels"] == {"topology.kubernetes.io/zone": "eu-1a"}
            assert rig.phase() == "Ready"
            hold.release()


async def test_an_object_deleted_under_a_patch_is_made_again() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.say(told(S.CONFIGURING))
        await rig.written()
        hold = server.hold("patch", "upcomingnodes")
        rig.nodes["m-1"] = node()
        rig.say(told(S.CONFIGURED))
        await hold.reached()
        server.remove(UPCOMING_NODES, "un-m-1")
        hold.release()
        await rig.written()
        assert rig.phase() == "Ready"
        assert rig.outcomes()["status_update", "conflict"] == 1


async def test_a_create_that_failed_is_tried_again_after_a_pause() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        server.fail("create", "upcomingnodes", status=503, times=2)
        rig.say(told(S.CREATING))
        await rig.written()
        rig.say(told(S.IDLE))
        await rig.written()
        assert rig.ops() == ["create"]
        await rig.clock.advance(0.5)
        await rig.written()
        assert rig.ops() == ["create", "create"]
        await rig.clock.advance(1.0)
        await until(lambda: server.has(UPCOMING_NODES, "un-m-1"))
        await rig.written()
        assert rig.phase() == "Launched"
        assert rig.outcomes()["create", "error"] == 2


async def test_a_missing_right_is_said_once_for_all_objects_and_tried_ever_more_rarely() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        server.fail("create", "upcomingnodes", status=403, times=80, message="cannot create")
        rig.say(*(told(S.CREATING, f"m-{number}") for number in range(10)))
        await rig.written()
        ((event, text),) = rig.log.warnings
        assert event == "write_back.failed"
        assert "cannot create" in text
        for tries, pause in enumerate((5, 10, 20, 40, 80, 160, 300, 300), start=1):
            await rig.clock.advance(pause - 1)
            await rig.written()
            assert rig.ops() == ["create"] * 10 * tries
            await rig.clock.advance(1)
            await rig.written()
        assert len(rig.log.warnings) == 1
        assert len(server.objects(UPCOMING_NODES)) == 10


class NeverContent(UpcomingNodes):
    """What a server looks like that drops a field of what it is sent."""

    def next_write(self, name: str, at: Instant) -> Write:
        return PatchStatus(name, {"status": {"phase": "Ready", "unknown": 1}})


async def test_an_object_that_does_not_keep_what_is_written_is_not_written_for_ever() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.say(told(S.CREATING))
        await rig.written()
        before = len(rig.ops())
        ready = ReadyNodes(rig.nodes)
        objects = NeverContent(ready, KnownDrains(rig.standings), ready)
        rig.write_back.writer.touch(objects, "un-m-1")
        await rig.written()
        assert len(rig.ops()) == before + 1
        assert [event for event, _ in rig.log.warnings] == ["write_back.not_taken"]


async def test_a_lost_session_stops_between_two_writes() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        hold = server.hold("create", "upcomingnodes")
        rig.say(told(S.CREATING), told(S.CREATING, "m-2"))
        await until(lambda: len(hold.waiting) == 2)
        rig.write_back.on_disconnected()
        hold.release()
        await rig.written()
        assert rig.ops() == ["create", "create"]
        rig.write_back.on_connected()
        rig.say(told(S.CREATING))
        await rig.written()
        assert rig.ops() == ["create", "create", "patch status"]


async def test_a_node_that_appears_is_written_without_a_word_of_the_shard() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.say(told(S.CONFIGURING))
        await rig.written()
        rig.nodes["m-1"] = node("node-1", "uid-1")
        rig.write_back.look_again(["m-1"])
        await rig.written()
        status = server.get(UPCOMING_NODES, "un-m-1")["status"]
        assert status["nodeRef"]["name"] == "node-1"


async def test_the_time_to_a_phase_is_measured_to_the_written_object() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        hold = server.hold("patch", "upcomingnodes")
        rig.nodes["m-1"] = node()
        rig.say(told(S.CONFIGURED))
        await hold.reached()
        await rig.clock.advance(2)
        hold.release()
        await rig.written()
        labels = (("phase", "Ready"),)
        measured = rig.counts.histograms["node_state_update_duration_seconds", labels]
        assert (measured.count, measured.total) == (1, 2.0)


async def test_available_capacity_is_written_and_goes_when_it_is_stale() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        update = AvailableCapacityUpdate("p=1", (), 3, Confidence.HIGH, 0.5)
        for _ in range(5):
            rig.write_back.on_available(update)
            await rig.written()
        assert rig.ops("availablecapacities") == ["create"]
        await until(lambda: len(rig.write_back.available.seen) == 1)
        await rig.clock.advance(615)
        await rig.written()
        assert rig.ops("availablecapacities") == ["create", "delete"]
        assert server.objects(AVAILABLE_CAPACITIES) == {}
