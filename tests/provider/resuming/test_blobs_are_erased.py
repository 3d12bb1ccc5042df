"""A blob is in the state while its operation runs, and nowhere in any file soon after."""

import asyncio
from pathlib import Path

from bigfleet.edge.clock import next_turn
from bigfleet.model.machines import MachineState
from bigfleet.provider import Kind, SQLiteStore
from bigfleet.provider.testing import slots
from tests.provider.rig import Rig, running

BLOB = b"a credential that must be erased"


def files_with_it(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if BLOB in file.read_bytes())


async def until(rig: Rig, machine_id: str, state: MachineState) -> None:
    async with asyncio.timeout(60):
        while await rig.state(machine_id) is not state:
            await next_turn()


async def test_the_end_of_the_operation_is_the_end_of_its_blob(tmp_path: Path) -> None:
    async with running(slots(1), store=SQLiteStore(tmp_path / "state.db", "inc")) as rig:
        await rig.create("m-0")
        await until(rig, "m-0", MachineState.IDLE)
        rig.substrate.hold(Kind.CONFIGURE)
        await rig.configure("m-0", blob=BLOB)
        assert files_with_it(tmp_path)
        rig.substrate.release()
        await until(rig, "m-0", MachineState.CONFIGURED)
        async with asyncio.timeout(60):
            while files_with_it(tmp_path):
                await rig.clock.advance(2)
                await next_turn()
