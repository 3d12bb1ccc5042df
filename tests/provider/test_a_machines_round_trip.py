"""The six RPCs over real gRPC: slot, host, binding, and back."""

from bigfleet.model.machines import Host, MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.provider import Kind
from tests.provider.rig import rejection, running


async def test_a_slot_becomes_a_host_serves_a_cluster_and_becomes_a_slot_again() -> None:
    async with running() as rig:
        first = await rig.create("m-0")
        assert first.machine.state is MachineState.CREATING
        assert first.machine.host is None
        idle = await rig.get("m-0")
        assert (idle.state, idle.host) == (MachineState.IDLE, Host("fake", "h-op-mem1-1"))
        assert idle.labels["kubernetes.io/hostname"] == "node-m-0"

        second = await rig.configure("m-0", "shop", metadata={"k": "v\0"})
        assert second.machine.state is MachineState.CONFIGURING
        assert (second.machine.cluster, second.machine.shard_metadata) == ("shop", {"k": "v\0"})
        bound = await rig.get("m-0")
        assert (bound.state, bound.cluster) == (MachineState.CONFIGURED, "shop")

        third = await rig.drain("m-0", 5)
        assert (third.machine.state, third.machine.cluster) == (MachineState.DRAINING, "shop")
        free = await rig.get("m-0")
        assert (free.state, free.cluster, free.shard_metadata) == (MachineState.IDLE, "", {})

        fourth = await rig.delete("m-0")
        assert fourth.machine.state is MachineState.DELETING
        slot = await rig.get("m-0")
        assert (slot.state, slot.host) == (MachineState.SPECULATIVE, None)
        assert "kubernetes.io/hostname" not in slot.labels
        ids = [ack.operation_id for ack in (first, second, third, fourth)]
        assert ids == [f"op-mem1-{number}" for number in (1, 2, 3, 4)]


async def test_the_acknowledgement_does_not_wait_for_the_work() -> None:
    async with running() as rig:
        rig.substrate.hold(Kind.CREATE)
        await rig.create("m-0")
        assert await rig.state("m-0") is MachineState.CREATING
        rig.substrate.release()
        assert await rig.state("m-0") is MachineState.IDLE


async def test_an_unknown_machine_is_not_found_and_not_created() -> None:
    async with running() as rig:
        for call in (rig.create("x"), rig.configure("x"), rig.drain("x"), rig.delete("x")):
            assert (await rejection(call)).code is Code.NOT_FOUND
        assert (await rejection(rig.get("x"))).code is Code.NOT_FOUND


async def test_an_empty_id_is_an_invalid_argument() -> None:
    async with running() as rig:
        for call in (rig.create(""), rig.configure(""), rig.drain(""), rig.get("")):
            assert (await rejection(call)).code is Code.INVALID_ARGUMENT
