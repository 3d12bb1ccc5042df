"""kill -9 in the middle of a mixed load, again and again: every acknowledgement is kept."""

import asyncio
import random
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from bigfleet.wire.provider_admin import ProviderAdminClient
from bigfleet.wire.provider_client import ProviderClient
from tests.nightly import IS_NIGHTLY
from tests.provider.crash.load import Load
from tests.provider.crash.process import MACHINES, provider_process

KILLS = 200 if IS_NIGHTLY else 12
MOST_ACKS = 60
#: A busy machine lets a restarted provider finish before the test looks: then more kills are needed
#: until enough of them are seen to have hit something.
MOST_KILLS = 3 * KILLS


#: A boot and some hundred checks each, on a machine that does ten other things.
@pytest.mark.timeout(60 + 15 * MOST_KILLS)
async def test_every_acknowledgement_survives_the_kill(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    chance = random.Random(11)
    load = Load(chance)
    for kill in range(MOST_KILLS + 1):
        async with (
            provider_process(tmp_path / "state.db", hosts) as (port, process),
            ProviderClient(f"127.0.0.1:{port}") as client,
            ProviderAdminClient(f"127.0.0.1:{port}") as admin,
        ):
            await client.connected()
            await load.check(client, admin)
            if kill == MOST_KILLS or (kill >= KILLS and load.interrupted > KILLS):
                assert await unlike(client, hosts) == []
                break
            work = [asyncio.create_task(load.run(client, f"m-{n}")) for n in range(MACHINES)]
            await acknowledged(load, load.acks + chance.randrange(1, MOST_ACKS), work)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            await asyncio.gather(*work)
    assert load.acks > KILLS
    assert load.interrupted > KILLS, "the kills did not hit operations under way"


async def unlike(client: ProviderClient, hosts: Path) -> list[str]:
    """Machines with a host that serves another cluster than the provider shows."""
    records, _ = await client.list()
    hosted = [record for record in records if record.host is not None]
    assert hosted
    return [r.id for r in hosted if (hosts / r.id).read_text() != r.cluster]


async def acknowledged(load: Load, acks: int, work: list[asyncio.Task[None]]) -> None:
    """Returns when so many acknowledgements have arrived; the moment is not chosen."""
    while load.acks < acks and not all(task.done() for task in work):
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(work[0]), 0.001)
