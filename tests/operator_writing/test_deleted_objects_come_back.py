"""Objects of ours that a hand deletes are made anew while their machine is there."""

from bigfleet.kube.kinds import AVAILABLE_CAPACITIES, UPCOMING_NODES
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import AvailableCapacityUpdate, Confidence
from tests.kube_api import FakeApiServer
from tests.operator_writing.machines import told
from tests.operator_writing.rig import rig_on, until


async def test_an_upcoming_node_that_was_deleted_by_hand_is_made_again() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.say(told(MachineState.CREATING))
        await rig.written()
        await until(lambda: "un-m-1" in rig.write_back.upcoming.seen.names())
        server.remove(UPCOMING_NODES, "un-m-1")
        await until(lambda: server.objects(UPCOMING_NODES))
        await rig.written()
        assert rig.phase() == "Provisioning"


async def test_an_available_capacity_that_was_deleted_by_hand_is_made_again() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.write_back.on_available(AvailableCapacityUpdate("aa" * 8, (), 3, Confidence.HIGH, 1.0))
        await rig.written()
        (name,) = rig.write_back.available.seen.names()
        server.remove(AVAILABLE_CAPACITIES, name)
        await until(lambda: server.objects(AVAILABLE_CAPACITIES))


async def test_what_a_drained_machine_leaves_behind_is_not_made_again() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        for state in (MachineState.CONFIGURED, MachineState.DRAINING, MachineState.IDLE):
            rig.say(told(state))
            await rig.written()
        await until(lambda: not rig.write_back.upcoming.seen.names())
        await rig.written()
        assert server.objects(UPCOMING_NODES) == {}
        assert rig.ops().count("create") == 1


async def test_nothing_comes_back_while_no_session_is_open() -> None:
    async with FakeApiServer() as server, rig_on(server) as rig:
        rig.say(told(MachineState.CREATING))
        await rig.written()
        rig.write_back.on_disconnected()
        server.remove(UPCOMING_NODES, "un-m-1")
        await until(lambda: not rig.write_back.upcoming.seen.names())
        await rig.written()
        assert server.objects(UPCOMING_NODES) == {}
