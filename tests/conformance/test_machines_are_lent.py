"""The broker: a machine has one borrower and comes back clean, or the row is told why not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bigfleet.conformance.broker import Broker
from bigfleet.conformance.caller import Caller, Shards
from bigfleet.conformance.claims import NotServed
from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.embedded import EmbeddedLauncher
from bigfleet.conformance.launchers import Boot
from bigfleet.conformance.pace import Pace
from bigfleet.conformance.reference.provider import ReferenceSettings
from bigfleet.conformance.rows import Capabilities
from bigfleet.conformance.wirelog import WireLog
from bigfleet.model.machines import MachineState as S


@asynccontextmanager
async def lending(slots: int, *, delete: bool = True) -> AsyncIterator[tuple[Broker, Caller]]:
    clock = SystemClock()
    launcher = EmbeddedLauncher(clock, settings=ReferenceSettings(can_delete=delete))
    running = await launcher.boot(Boot("core", seed_count=slots))
    client = launcher.connect(running)
    caller = Caller(client, clock, Pace().brisk(), Shards("test", clock), WireLog())
    broker = Broker(caller, Capabilities(create=True, delete=delete))
    await broker.survey()
    try:
        yield broker, caller
    finally:
        await client.close()
        await launcher.close()


async def used(caller: Caller, machine: str) -> None:
    (await caller.create(machine)).must_be_ok()
    await caller.settles(machine, S.IDLE)
    (await caller.configure(machine, "used", {"k": "v"})).must_be_ok()


async def test_a_machine_comes_back_as_a_slot() -> None:
    async with lending(1) as (broker, caller):
        first = await broker.admit(1, 0)
        machine = first.take_speculative()
        await used(caller, machine)
        await broker.give_back(first)
        assert (await caller.get(machine)).state is S.SPECULATIVE
        assert broker.stock["speculative"] == 1


async def test_without_delete_a_slot_comes_back_as_a_clean_host() -> None:
    async with lending(1, delete=False) as (broker, caller):
        first = await broker.admit(0, 1)
        await used(caller, first.take_speculative())
        await broker.give_back(first)
        assert broker.stock == {"speculative": 0, "idle": 1, "fault": 0, "spent": 0}
        assert (await broker.admit(0, 1)).take_idle() is not None


async def test_a_row_waits_for_machines_that_are_lent() -> None:
    async with lending(2) as (broker, _):
        first = await broker.admit(2, 0)
        waiting = asyncio.ensure_future(broker.admit(1, 0))
        await broker.give_back(first)
        assert len((await waiting).speculative) == 1


async def test_a_row_that_can_never_be_served_is_told_so() -> None:
    async with lending(2) as (broker, _):
        with pytest.raises(NotServed, match="needs 3"):
            await broker.admit(3, 0)


async def test_an_id_is_never_leased_twice_in_one_row() -> None:
    async with lending(3) as (broker, _):
        allocation = await broker.admit(3, 0)
        assert len({allocation.take_speculative() for _ in range(3)}) == 3
        with pytest.raises(NotServed):
            allocation.take_speculative()
