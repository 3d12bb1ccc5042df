"""SIGTERM: running work is left to the journal, the process ends with 0, the next one goes on."""

import asyncio
import signal
from pathlib import Path

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import CreateCall
from bigfleet.wire.provider_client import ProviderClient
from tests.provider.crash.process import provider_process

LONGEST_END = 60


async def test_an_orderly_end_is_quick_and_loses_nothing(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    state = tmp_path / "state.db"
    slow = ("--set", "longest=3600", "--drain-timeout", "100ms")
    async with (
        provider_process(state, hosts, *slow) as (port, process),
        ProviderClient(f"127.0.0.1:{port}") as client,
    ):
        promised = await client.create(CreateCall("m-0"))
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(LONGEST_END):
            assert await process.wait() == 0
    (hosts / "m-0").touch()
    async with (
        provider_process(state, hosts) as (port, _),
        ProviderClient(f"127.0.0.1:{port}") as client,
        asyncio.timeout(LONGEST_END),
    ):
        while (await client.get("m-0")).state is MachineState.CREATING:
            continue
        again = await client.create(CreateCall("m-0"))
        assert again.operation_id == promised.operation_id
        assert again.machine.state is MachineState.IDLE
