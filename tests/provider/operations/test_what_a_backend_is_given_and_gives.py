"""A Backend gets copies it may spoil; what it returns is checked before it is shown."""

from collections.abc import Mapping
from typing import cast

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.provider import Created, Host, Kind, Operation, Permanent
from bigfleet.provider.testing import FakeSubstrate, slots
from tests.provider.rig import running


class Spoiling(FakeSubstrate):
    async def create(self, op: Operation) -> Created:
        for field in (op.machine.labels, op.machine.resources, op.machine.allocatable):
            cast(dict[str, str], field).clear()
        return await super().create(op)


async def test_what_an_author_does_to_a_machine_stays_with_the_author() -> None:
    async with running(substrate=Spoiling(slots(2))) as rig:
        before = await rig.get("m-1")
        await rig.to_idle("m-0")
        made = await rig.get("m-0")
        assert (made.resources, made.allocatable) == (before.resources, before.allocatable)
        assert made.labels.items() > before.labels.items()
        assert await rig.get("m-1") == before


class Shaped(FakeSubstrate):
    """Says of every new host that it is of this shape."""

    shape: Mapping[str, str] = {}

    async def create(self, op: Operation) -> Created:
        made = await super().create(op)
        return Created(made.host, resources=self.shape, allocatable=self.shape)


@pytest.mark.parametrize("shape", [{"cpu": "many"}, {"cpu": "0"}], ids=["no number", "nothing"])
async def test_a_shape_that_cannot_be_fails_the_create(shape: dict[str, str]) -> None:
    substrate = Shaped(slots(1))
    substrate.shape = shape
    async with running(substrate=substrate) as rig:
        await rig.create("m-0")
        failed = await rig.get("m-0")
        assert failed.state is MachineState.FAILED
        assert failed.last_error.startswith("error: create returned a host of a shape")


async def test_a_shape_that_can_be_replaces_that_of_the_slot() -> None:
    substrate = Shaped(slots(1))
    substrate.shape = {"cpu": "3"}
    async with running(substrate=substrate) as rig:
        await rig.to_idle("m-0")
        assert (await rig.get("m-0")).resources == {"cpu": "3"}


async def test_a_host_without_a_name_is_not_shown_as_idle() -> None:
    class Vague(FakeSubstrate):
        async def inspect(self, machine: object) -> object:  # type: ignore[override]
            from bigfleet.provider import BOUND

            return BOUND

    async with running(substrate=Vague(slots(1))) as rig:
        rig.substrate.fail_next(Kind.CREATE, Permanent("lost the answer"))
        await rig.create("m-0")
        await rig.clock.advance(1000)
        failed = await rig.get("m-0")
        assert (failed.state, failed.host) == (MachineState.FAILED, None)


async def test_an_empty_reference_fails_the_create() -> None:
    class Nameless(FakeSubstrate):
        async def create(self, op: Operation) -> Created:
            return Created(Host(""))

    async with running(substrate=Nameless(slots(1))) as rig:
        await rig.create("m-0")
        assert "empty host reference" in (await rig.get("m-0")).last_error
