"""Timeouts, retries, late ends: nothing stays transitional, and FAILED says why."""

from dataclasses import replace

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.provider import (
    CapacityUnavailable,
    HostGone,
    Kind,
    Permanent,
    QuotaExceeded,
    Retryable,
)
from bigfleet.provider.options import Timing
from bigfleet.provider.testing import slots
from tests.provider.rig import OPTIONS, rejection, running


async def test_work_that_takes_too_long_fails_and_its_late_end_is_dropped() -> None:
    async with running() as rig:
        rig.substrate.hold(Kind.CREATE)
        await rig.create("m-0")
        await rig.clock.advance(299)
        assert await rig.state("m-0") is MachineState.CREATING
        await rig.clock.advance(1)
        failed = await rig.get("m-0")
        assert (failed.state, failed.last_error) == (
            MachineState.FAILED,
            "timeout: create took too long",
        )
        rig.substrate.release()
        assert (await rig.get("m-0")).last_error == failed.last_error
        assert rig.substrate.seen[0].cancelled.is_set()


async def test_a_drain_gets_its_grace_beside_its_timeout() -> None:
    async with running() as rig:
        await rig.to_configured("m-0")
        rig.substrate.hold(Kind.DRAIN)
        await rig.drain("m-0", 100)
        await rig.clock.advance(699)
        assert await rig.state("m-0") is MachineState.DRAINING
        await rig.clock.advance(2)
        assert (await rig.get("m-0")).last_error.startswith("timeout:")


async def test_a_node_that_never_gets_ready_fails_by_readiness() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        rig.substrate.hosts["m-0"].ready = False
        await rig.configure("m-0")
        await rig.clock.advance(599)
        assert await rig.state("m-0") is MachineState.CONFIGURING
        await rig.clock.advance(2)
        failed = await rig.get("m-0")
        assert failed.last_error.startswith("readiness:")
        assert failed.cluster == "shop"


async def test_a_retryable_error_is_tried_again_with_the_same_operation_id() -> None:
    async with running() as rig:
        rig.substrate.fail_next(Kind.CREATE, Retryable("busy"), Retryable("busy", after=20))
        await rig.create("m-0")
        await rig.clock.advance(1)
        assert [op.attempt for op in rig.substrate.seen] == [1, 2]
        await rig.clock.advance(19)
        assert len(rig.substrate.seen) == 2
        await rig.clock.advance(2)
        assert await rig.state("m-0") is MachineState.IDLE
        assert {op.operation_id for op in rig.substrate.seen} == {"op-mem1-1"}


async def test_after_eight_retries_it_is_over() -> None:
    async with running() as rig:
        rig.substrate.fail_next(Kind.CREATE, *(Retryable("busy") for _ in range(20)))
        await rig.create("m-0")
        await rig.clock.advance(280)
        assert len(rig.substrate.seen) == 9
        assert (await rig.get("m-0")).last_error == "error: gave up after 9 attempts: busy"


async def test_a_permanent_error_and_a_bug_fail_at_once() -> None:
    async with running() as rig:
        rig.substrate.fail_next(Kind.CREATE, Permanent("bad image"), KeyError("oops"))
        for machine_id, text in (("m-0", "error: bad image"), ("m-1", "error: 'oops'")):
            await rig.create(machine_id)
            assert (await rig.get(machine_id)).last_error == text


async def test_last_error_is_cut_and_never_shows_the_blob() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        rig.substrate.fail_next(Kind.CONFIGURE, Permanent("secret-token" + "\u00e9" * 5000))
        await rig.configure("m-0", blob=b"secret-token")
        failed = await rig.get("m-0")
        assert len(failed.last_error.encode()) <= 1024 + len("error: ")
        assert "secret" not in failed.last_error


async def test_a_delete_of_a_host_that_is_gone_has_succeeded() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        rig.substrate.fail_next(Kind.DELETE, HostGone("no such vm"))
        await rig.delete("m-0")
        assert await rig.state("m-0") is MachineState.SPECULATIVE


async def test_a_drain_of_a_host_that_is_gone_has_vanished() -> None:
    async with running() as rig:
        await rig.to_configured("m-0")
        rig.substrate.fail_next(Kind.DRAIN, HostGone("no such vm"))
        await rig.drain("m-0")
        assert (await rig.get("m-0")).last_error == "vanished: no such vm"


async def test_a_stockout_rests_its_offering_and_no_other() -> None:
    other_zone = slots(1, "z", zone="z2")
    async with running([*slots(3), *other_zone]) as rig:
        rig.substrate.fail_next(Kind.CREATE, CapacityUnavailable("none left", after=120))
        await rig.create("m-0")
        assert (await rig.get("m-0")).last_error == "stockout: none left"
        refused = await rejection(rig.create("m-1"))
        assert (refused.code, refused.reason) == (Code.RESOURCE_EXHAUSTED, "stockout")
        assert await rig.state("m-1") is MachineState.SPECULATIVE
        await rig.to_idle("z-0")
        await rig.clock.advance(121)
        await rig.to_idle("m-1")


async def test_a_used_up_quota_is_refused_at_admission_afterwards() -> None:
    async with running() as rig:
        rig.substrate.fail_next(Kind.CREATE, QuotaExceeded("100 of 100"))
        await rig.create("m-0")
        assert (await rig.get("m-0")).last_error == "quota: 100 of 100"
        refused = await rejection(rig.create("m-1"))
        assert (refused.code, refused.reason) == (Code.RESOURCE_EXHAUSTED, "quota")


async def test_a_failed_machine_takes_no_mutation() -> None:
    async with running() as rig:
        rig.substrate.fail_next(Kind.CREATE, Permanent("bad"))
        await rig.create("m-0")
        await rig.get("m-0")
        for call in (rig.create("m-0"), rig.configure("m-0"), rig.drain("m-0")):
            refused = await rejection(call)
            assert (refused.code, refused.reason) == (Code.ABORTED, "failed")


async def test_waiting_for_a_place_is_bounded_and_other_kinds_go_on() -> None:
    options = replace(OPTIONS, places={**OPTIONS.places, Kind.CREATE: 1}, timing=Timing(queue=50))
    async with running(slots(3), options=options) as rig:
        await rig.to_configured("m-2")
        rig.substrate.hold(Kind.CREATE)
        await rig.create("m-0")
        await rig.create("m-1")
        assert await rig.state("m-1") is MachineState.CREATING
        assert [op.machine.id for op in rig.substrate.seen if op.kind is Kind.CREATE][1:] == ["m-0"]
        await rig.drain("m-2")
        assert await rig.state("m-2") is MachineState.IDLE
        await rig.clock.advance(51)
        assert (await rig.get("m-1")).last_error == "timeout: no place became free in time"
        rig.substrate.release()
        assert await rig.state("m-0") is MachineState.IDLE


async def test_the_clock_of_the_work_starts_when_the_work_starts() -> None:
    options = replace(OPTIONS, places={**OPTIONS.places, Kind.CREATE: 1})
    async with running(slots(2), options=options) as rig:
        rig.substrate.hold(Kind.CREATE)
        await rig.create("m-0")
        await rig.create("m-1")
        await rig.clock.advance(301)
        assert await rig.state("m-0") is MachineState.FAILED
        await rig.clock.advance(298)
        assert await rig.state("m-1") is MachineState.CREATING
        await rig.clock.advance(5)
        assert (await rig.get("m-1")).last_error == "timeout: create took too long"
