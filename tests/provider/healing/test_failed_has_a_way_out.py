"""Only the provider leads a machine out of FAILED: to a slot, to Idle, or not at all."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider import CapacityUnavailable, Gone, Kind, Permanent
from bigfleet.provider.options import FailedExit
from bigfleet.provider.testing import FakeHost, FakeSubstrate, slots
from tests.provider.rig import OPTIONS, Rig, running


async def failed_create(rig: Rig, *, error: Exception | None = None) -> None:
    rig.substrate.fail_next(Kind.CREATE, error or Permanent("bad image"))
    await rig.create("m-0")
    assert await rig.state("m-0") is MachineState.FAILED


async def test_a_machine_never_created_is_a_slot_again_after_the_hold() -> None:
    async with running() as rig:
        await failed_create(rig)
        await rig.clock.advance(299)
        assert await rig.state("m-0") is MachineState.FAILED
        await rig.clock.advance(2)
        slot = await rig.get("m-0")
        assert (slot.state, slot.last_error) == (MachineState.SPECULATIVE, "")
        again = await rig.create("m-0")
        assert again.operation_id == "op-mem1-2"


async def test_a_stockout_is_held_for_half_a_minute() -> None:
    async with running() as rig:
        await failed_create(rig, error=CapacityUnavailable("none", after=1))
        await rig.clock.advance(31)
        assert await rig.state("m-0") is MachineState.SPECULATIVE


async def test_a_host_that_runs_after_all_is_idle_with_no_history() -> None:
    async with running() as rig:
        await failed_create(rig)
        rig.substrate.hosts["m-0"] = FakeHost("late")
        await rig.clock.advance(301)
        idle = await rig.get("m-0")
        assert idle.host is not None
        assert (idle.state, idle.host.ref, idle.last_error) == (MachineState.IDLE, "late", "")


async def test_a_bound_host_is_drained_and_reset_first() -> None:
    class Resetting(FakeSubstrate):
        cleaned: list[str]

        async def reset(self, machine: MachineRecord) -> None:
            self.cleaned = [*getattr(self, "cleaned", []), machine.id]

    substrate = Resetting(slots(1))
    async with running(substrate=substrate) as rig:
        await rig.to_configured("m-0")
        substrate.fail_next(Kind.DRAIN, Permanent("stuck"))
        await rig.drain("m-0")
        failed = await rig.get("m-0")
        assert (failed.last_error, failed.cluster) == ("error: stuck", "shop")
        await rig.clock.advance(301)
        idle = await rig.get("m-0")
        assert (idle.state, idle.cluster, idle.shard_metadata) == (MachineState.IDLE, "", {})
        assert substrate.cleaned == ["m-0"]
        assert substrate.seen[-1].grace_period_seconds == 0


async def test_three_tries_with_a_doubling_hold_and_then_an_operator() -> None:
    async with running() as rig:
        await rig.to_configured("m-0")
        rig.substrate.fail_next(Kind.DRAIN, *(Permanent("stuck") for _ in range(10)))
        await rig.drain("m-0")
        await rig.get("m-0")
        tried = []
        for _ in range(100):
            await rig.clock.advance(60)
            drains = sum(1 for op in rig.substrate.seen if op.kind is Kind.DRAIN)
            tried.append(drains - 1)
        assert [tried.index(number) + 1 for number in (1, 2, 3)] == [5, 15, 35]
        assert tried[-1] == 3
        rig.substrate.errors.clear()
        assert await rig.server.parts.healer.heal("m-0") == "idle"
        assert await rig.state("m-0") is MachineState.IDLE


async def test_a_provider_that_cannot_delete_retires_a_host_that_is_gone() -> None:
    class Racks(FakeSubstrate):
        delete = None  # type: ignore[assignment]

    metal = [replace(i, host=None) for i in slots(2)]
    async with running(substrate=Racks(metal)) as rig:
        await rig.to_idle("m-0")
        rig.substrate.vanish("m-0")
        rig.substrate.signals.put_nowait(Gone("m-0"))
        assert await rig.state("m-0") is MachineState.FAILED
        del rig.substrate.instances["m-0"]
        await rig.clock.advance(301)
        assert (await rig.ids())[0] == ["m-1"]


async def test_a_new_id_for_callers_who_know_no_way_back() -> None:
    options = replace(OPTIONS, failed_exit=FailedExit.NEW_ID)
    async with running(slots(1), options=options) as rig:
        for generation in ("m-0", "m-0-g2"):
            rig.substrate.fail_next(Kind.CREATE, Permanent("bad"))
            await rig.create(generation)
            await rig.get(generation)
            await rig.clock.advance(301)
        assert (await rig.ids())[0] == ["m-0-g3"]
        await rig.clock.advance(600)
        assert (await rig.ids())[0] == ["m-0-g3"]
        await rig.create("m-0-g3")
        assert await rig.state("m-0-g3") is MachineState.IDLE
        assert rig.substrate.seen[-1].machine.id == "m-0"


async def test_without_inspect_a_describe_made_afterwards_decides() -> None:
    class Blind(FakeSubstrate):
        inspect = None  # type: ignore[assignment]

    async with running(substrate=Blind(slots(2))) as rig:
        await rig.to_idle("m-1")
        await failed_create(rig)
        await rig.clock.advance(301)
        assert await rig.state("m-0") is MachineState.SPECULATIVE


@pytest.mark.parametrize(
    ("verb", "state"), [("adopt", MachineState.IDLE), ("forget", MachineState.SPECULATIVE)]
)
async def test_an_operator_may_decide_at_once(verb: str, state: MachineState) -> None:
    async with running() as rig:
        await rig.to_configured("m-0")
        rig.substrate.fail_next(Kind.DRAIN, Permanent("stuck"))
        await rig.drain("m-0")
        await rig.get("m-0")
        assert await getattr(rig.server.parts.healer, verb)("m-0")
        record = await rig.get("m-0")
        assert (record.state, record.last_error, record.cluster) == (state, "", "")
        await rig.clock.advance(3600)
        assert await rig.state("m-0") is state
