"""The key is (machine, kind): a repeat gets the first id, a new trip a new one."""

import asyncio

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.provider import Kind
from tests.provider.rig import rejection, running


async def test_a_repeat_on_the_way_and_at_the_target_has_the_first_id() -> None:
    async with running() as rig:
        rig.substrate.hold(Kind.CREATE)
        first = await rig.create("m-0")
        assert (await rig.create("m-0")).operation_id == first.operation_id
        rig.substrate.release()
        await rig.get("m-0")
        again = await rig.create("m-0")
        assert (again.operation_id, again.machine.state) == (
            first.operation_id,
            MachineState.IDLE,
        )
        assert len(rig.substrate.seen) == 1


async def test_a_new_trip_to_the_same_target_has_a_new_id() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        ids = []
        for _ in range(2):
            ids.append((await rig.configure("m-0")).operation_id)
            await rig.get("m-0")
            ids.append((await rig.drain("m-0")).operation_id)
            await rig.get("m-0")
        assert len(set(ids)) == 4
        assert (await rig.drain("m-0")).operation_id == ids[-1]


async def test_another_cluster_is_a_conflict_and_not_a_repeat() -> None:
    async with running() as rig:
        await rig.to_configured("m-0", "shop")
        conflict = await rejection(rig.configure("m-0", "other"))
        assert (conflict.code, conflict.reason) == (Code.ABORTED, "binding-conflict")
        assert (await rig.get("m-0")).cluster == "shop"


async def test_other_metadata_for_the_same_cluster_changes_nothing() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        first = await rig.configure("m-0", metadata={"a": "1"})
        await rig.get("m-0")
        again = await rig.configure("m-0", metadata={"a": "2"}, blob=b"other")
        assert again.operation_id == first.operation_id
        assert again.machine.shard_metadata == {"a": "1"}
        assert rig.server.metrics.counts.of("configure_payload_mismatch_total") == 1


async def test_many_callers_at_once_start_one_operation() -> None:
    async with running() as rig:
        acks = await asyncio.gather(*(rig.create("m-0") for _ in range(16)))
        assert len({ack.operation_id for ack in acks}) == 1
        await rig.get("m-0")
        assert len(rig.substrate.seen) == 1
        assert len(rig.server.parts.answers._locks) == 0


async def test_a_drain_of_a_machine_never_drained_is_refused_and_changes_nothing() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        refused = await rejection(rig.drain("m-0"))
        assert (refused.code, refused.reason) == (Code.ABORTED, "out-of-position")
        assert await rig.state("m-0") is MachineState.IDLE
