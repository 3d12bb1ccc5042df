"""What authors test with: faults by plan, and the suite on a Backend in this process."""

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.provider import Backend, Inventory, Operation, Rate
from bigfleet.provider.calls import BackendCalls
from bigfleet.provider.testing import (
    FakeSubstrate,
    Fault,
    FaultyBackend,
    assert_backend,
    every,
    slots,
)
from tests.provider.rig import running as running_fake


class Minimal(Backend):
    configure_implies_ready = True

    async def describe(self) -> Inventory:
        return Inventory(slots(1))

    async def create(self, op: Operation) -> object:  # type: ignore[override]
        raise NotImplementedError

    configure = drain = create  # type: ignore[assignment]


def test_it_can_what_the_backend_can_and_no_more() -> None:
    plan = every(1, Fault.LOST)
    full = BackendCalls(FaultyBackend(FakeSubstrate(), plan))
    bare = BackendCalls(FaultyBackend(Minimal(), plan))
    assert full.can_delete
    assert full.can_watch
    assert not bare.can_delete
    assert not bare.can_confirm_ready


async def run(plan_fault: Fault, *methods: str) -> tuple[MachineState, int, int]:
    """Where a Create ends on a substrate that goes wrong once, its hosts, and the faults."""
    inner = FakeSubstrate(slots(1))
    faulty = FaultyBackend(inner, every(1000, plan_fault, *methods))
    async with running_fake(substrate=faulty) as rig:  # type: ignore[arg-type]
        await rig.create("m-0")
        await rig.clock.advance(400)
        return await rig.state("m-0"), len(inner.hosts), faulty.faults[plan_fault]


async def test_a_lost_answer_is_asked_for_again_and_finds_its_host() -> None:
    assert await run(Fault.LOST, "create") == (MachineState.IDLE, 1, 1)


async def test_a_refused_call_is_tried_again() -> None:
    assert await run(Fault.REFUSED, "create") == (MachineState.IDLE, 1, 1)


async def test_a_call_that_hangs_fails_by_its_deadline() -> None:
    assert await run(Fault.HANGS, "create") == (MachineState.FAILED, 0, 1)


class Slow(FakeSubstrate):
    limits = {"write": Rate(0.001, burst=1)}

    async def create(self, op: Operation) -> object:  # type: ignore[override]
        async with op.limit("write"):
            return await super().create(op)


class Forgetful(FakeSubstrate):
    """Leaves every host bound."""

    async def drain(self, op: Operation) -> None:
        raise ValueError("no such verb")


def test_a_sound_backend_passes_without_its_limits() -> None:
    assert_backend(Slow, only="B101,B206,B402")


def test_a_broken_backend_is_told_which_rows_it_breaks() -> None:
    with pytest.raises(AssertionError, match=r"(?s)Forgetful is FAILED.*B104 failed"):
        assert_backend(Forgetful, only="B104")
