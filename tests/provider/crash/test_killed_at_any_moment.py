"""kill -9 in the middle of a mixed load, again and again: every acknowledgement is kept."""

import asyncio
import os
import random
import signal
from contextlib import suppress
from pathlib import Path

from bigfleet.wire.provider_admin import ProviderAdminClient
from bigfleet.wire.provider_client import ProviderClient
from tests.provider.crash.load import Load
from tests.provider.crash.process import MACHINES, provider_process

KILLS = 200 if os.environ.get("BIGFLEET_NIGHTLY") == "1" else 10
MOST_ACKS = 60


async def test_every_acknowledgement_survives_the_kill(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    chance = random.Random(11)
    load = Load(chance)
    for kill in range(KILLS + 1):
        async with (
            provider_process(tmp_path / "state.db", hosts) as (port, process),
            ProviderClient(f"127.0.0.1:{port}") as client,
            ProviderAdminClient(f"127.0.0.1:{port}") as admin,
        ):
            await client.connected()
            await load.check(client, admin)
            if kill == KILLS:
                break
            work = [asyncio.create_task(load.run(client, f"m-{n}")) for n in range(MACHINES)]
            await acknowledged(load, load.acks + chance.randrange(1, MOST_ACKS), work)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            await asyncio.gather(*work)
    assert load.acks > KILLS


async def acknowledged(load: Load, acks: int, work: list[asyncio.Task[None]]) -> None:
    """Returns when so many acknowledgements have arrived; the moment is nobody's choice."""
    while load.acks < acks and not all(task.done() for task in work):
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(work[0]), 0.001)
