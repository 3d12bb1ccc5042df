"""A day of stepped time on a whole provider: marks, journal, indices and memory stay bounded."""

import gc
from collections.abc import AsyncIterator
from dataclasses import replace

from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code, CreateCall, Token
from bigfleet.provider import MemoryStore
from bigfleet.provider.ledger.fences import Fences
from bigfleet.provider.sim import SimConfig
from bigfleet.provider.sim.world.state import EventLog
from tests.nightly import IS_NIGHTLY
from tests.provider.rig import rejection
from tests.sim.rig import OPTIONS, Rig, running

HOURS = 25 if IS_NIGHTLY else 4
#: By then every table has been filled once.
WARM = 2
#: Small bounds, so that hours suffice to reach them.
ROWS, UNKNOWN_MARKS, LINES = 40, 30, 100


def sizes(rig: Rig, store: MemoryStore) -> dict[str, int]:
    parts = rig.server.parts
    gc.collect()
    return {
        "marks": len(list(parts.committer.fences.all())),
        "stored marks": len(store._marks),
        "journal": len(store._journal),
        "machines": len(parts.committer.published),
        "lines of changes": len(parts.committer.published._changed_at),
        "locks": len(parts.changes._locks),
        "operations": len(parts.operations),
        "heals": len(parts.healer._due),
        "objects": len(gc.get_objects()),
    }


async def turn(rig: Rig, number: int) -> None:
    """Every machine at rest moves one step on; a client invents ids all the time."""
    for record in await rig.machines():
        if record.state is S.SPECULATIVE:
            await rig.create(record.id)
        elif record.state is S.CONFIGURED:
            await rig.drain(record.id)
        elif record.state is S.IDLE and (number % 3 or record.price_per_hour == 0):
            await rig.configure(record.id)
        elif record.state is S.IDLE:
            await rig.delete(record.id)
    for invented in range(4):
        call = CreateCall(f"none-{number}-{invented}", Token("shard-0", 1, 1))
        assert (await rejection(rig.client.create(call))).code is Code.NOT_FOUND


async def hours(rig: Rig, store: MemoryStore) -> AsyncIterator[dict[str, int]]:
    for hour in range(HOURS):
        for tenth in range(6):
            await turn(rig, 6 * hour + tenth)
            await rig.wait(600)
        yield sizes(rig, store)


async def test_a_busy_day_leaves_no_more_behind_than_its_first_hours() -> None:
    store = MemoryStore("mem")
    options = replace(OPTIONS, journal_rows=ROWS)
    async with running(SimConfig(notice="30s"), store, options) as rig:
        committer = rig.server.parts.committer
        committer.fences = Fences(committer.published.__contains__, capacity=UNKNOWN_MARKS)
        rig.backend.driver.log = EventLog(kept=LINES)
        await rig.do("failure-rate", "create", "0.05")
        hourly = [found async for found in hours(rig, store)]
        operations = committer.counter
    machines = hourly[0]["machines"]
    bound = {
        "marks": machines + UNKNOWN_MARKS,
        "stored marks": machines + UNKNOWN_MARKS + 1,  # dropped with the next write
        "journal": ROWS + machines,
        "machines": machines,
        "lines of changes": 2 * machines + 1024,
        "locks": 0,
        "operations": machines,
        "heals": machines,
        "objects": hourly[WARM]["objects"] * 21 // 20,
    }
    assert operations > 60 * HOURS
    assert {name: size for name, size in hourly[-1].items() if size > bound[name]} == {}
