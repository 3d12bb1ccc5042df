"""The sim's hosts outlive its process: the server's records say what was there."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bigfleet.edge.clock import next_turn
from bigfleet.model.machines import MachineState
from bigfleet.provider import ManualClock, SQLiteStore
from bigfleet.provider.sim.clocks import STEPPED_START
from tests.sim.rig import Rig, running

OD = "sim--on-demand--std-2--sim-1a--000"
SP = "sim--spot--std-2--sim-1a--001"
BM = "sim--bare-metal--gpu-h100-8--sim-1a--000"
S = MachineState


@pytest.fixture
def store(tmp_path: Path) -> Callable[[], SQLiteStore]:
    return lambda: SQLiteStore(str(tmp_path / "sim.db"), "fixed")


async def waited(rig: Rig, seconds: float, machine: str, state: S) -> None:
    """The store has its own real thread, so this waits in real time, as short as it can.

    What that thread brings late is due after the time that has passed already: so time goes on.
    """
    await rig.wait(seconds)
    async with asyncio.timeout(60):
        while await rig.state(machine) is not state:
            await next_turn()
            await rig.wait(1)


async def test_hosts_and_bindings_are_as_they_were(store: Callable[[], SQLiteStore]) -> None:
    async with running(store=store()) as rig:
        await rig.do("walk", "off")
        await rig.do("price", "capacity=spot", "0.05")
        await rig.create(OD)
        await rig.create(SP)
        await waited(rig, 300, OD, S.IDLE)
        await waited(rig, 1, SP, S.IDLE)
        await rig.configure(OD)
        await waited(rig, 120, OD, S.CONFIGURED)
        before = {record.id: record for record in await rig.machines()}
        later = rig.clock.now()
    async with running(store=store(), clock=ManualClock(later)) as rig:
        after = {record.id: record for record in await rig.machines()}
        assert after == before
        await rig.wait(600)
        assert await rig.state(OD) is S.CONFIGURED
        assert rig.backend.driver.substrate.state_of(
            rig.backend.driver.substrate.supply.slots[OD]
        ) == ("configured")
        await rig.drain(OD)
        await waited(rig, 60, OD, S.IDLE)
        await rig.delete(OD)
        await waited(rig, 120, OD, S.SPECULATIVE)


@pytest.mark.parametrize("kind", ["create", "configure", "drain", "delete"])
async def test_work_cut_off_by_a_restart_is_taken_up_again(
    store: Callable[[], SQLiteStore], kind: str
) -> None:
    ends = {
        "create": S.IDLE,
        "configure": S.CONFIGURED,
        "drain": S.IDLE,
        "delete": S.SPECULATIVE,
    }
    async with running(store=store()) as rig:
        if kind != "create":
            await rig.create(OD)
            await waited(rig, 300, OD, S.IDLE)
        if kind == "drain":
            await rig.configure(OD)
            await waited(rig, 120, OD, S.CONFIGURED)
        await getattr(rig, kind)(OD)
        later = rig.clock.now()
    async with running(store=store(), clock=ManualClock(later)) as rig:
        await waited(rig, 250, OD, ends[kind])


async def test_a_host_that_vanished_after_the_restart_is_missed(
    store: Callable[[], SQLiteStore],
) -> None:
    async with running(store=store()) as rig:
        assert await rig.state(BM) is S.IDLE
        later = rig.clock.now()
    async with running(store=store(), clock=ManualClock(later + STEPPED_START // 10**9)) as rig:
        await rig.wait(60)
        await rig.do("vanish", BM)
        await waited(rig, 150, BM, S.FAILED)
