"""R19: SIGTERM ends a shard in time, however many streams are open, read or not."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

from bigfleet.model.provider_calls import Code
from bigfleet.wire.session_client import SessionClient
from tests.shard_processes.process import serving, shard_words
from tests.shard_system.operators import end_of, hello_of
from tests.shard_system.rig import offered, provided
from tests.shard_system.waiting import until_told

IDLE_SESSIONS = 100
#: The shard's own word; a stream that merely breaks has another.
STOPPING = "the shard is stopping"


async def test_r19_a_hundred_idle_sessions_do_not_hold_up_a_stop(tmp_path: Path) -> None:
    async with (
        provided(tmp_path, [offered("bare_metal", 1)]) as provider,
        serving(*shard_words(tmp_path / "data", provider.address)) as shard,
        SessionClient(shard.address, shared=True) as client,
        AsyncExitStack() as lines,
    ):
        sessions = [
            await lines.enter_async_context(client.open(hello_of(f"c{number}")))
            for number in range(IDLE_SESSIONS)
        ]

        async def all_in() -> bool:
            return await shard.metric("active_sessions") == IDLE_SESSIONS

        await until_told(all_in)
        shard.send(signal.SIGTERM)
        # Half of them read, half never do: the process ends all the same.
        readers = [asyncio.create_task(end_of(session)) for session in sessions[::2]]
        assert await shard.ended() == 0
        ends = [await reader for reader in readers]
        assert {(end.code, end.text) for end in ends} == {(Code.UNAVAILABLE, STOPPING)}
        late = [await end_of(session) for session in sessions[1::2]]
        assert {end.code for end in late} == {Code.UNAVAILABLE}
