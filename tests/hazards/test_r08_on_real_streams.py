"""R08 with real gRPC: a second stream of a cluster ends the first, and leaves nothing behind."""

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path

from bigfleet.model.provider_calls import Code
from bigfleet.model.session_frames import Acknowledgement
from bigfleet.wire.session_client import Session, SessionClient
from tests.shard_system.operators import end_of, hello_of
from tests.shard_system.rig import ShardRig, offered, provided, sharded
from tests.shard_system.waiting import PATIENCE, until


async def admitted(session: Session) -> None:
    async with asyncio.timeout(PATIENCE):
        assert isinstance(await session.read(), Acknowledgement)


async def reconnected(shard: ShardRig, times: int) -> list[Code]:
    """That many streams of one cluster, each dialled while the last still stands."""
    client, ends = SessionClient(shard.address), []
    async with AsyncExitStack() as lines:
        older: Session | None = None
        for _ in range(times):
            newer = await lines.enter_async_context(client.open(hello_of("shop")))
            await admitted(newer)
            if older is not None:
                ends.append((await end_of(older)).code)
            older = newer
        assert len(shard.process.state.parts.sessions) == 1
    await until(lambda: len(shard.process.state.parts.sessions) == 0)
    return ends


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_r08_the_first_of_two_streams_sees_aborted(tmp_path: Path) -> None:
    async with (
        provided(tmp_path, [offered("bare_metal", 1)]) as provider,
        sharded(tmp_path / "data", [provider.address]) as shard,
    ):
        assert await reconnected(shard, 2) == [Code.ABORTED]
        assert shard.counted("session_lifecycle_total", event="replaced") == 1


async def test_r08_a_hundred_reconnects_leave_no_task_and_no_descriptor(tmp_path: Path) -> None:
    async with (
        provided(tmp_path, [offered("bare_metal", 1)]) as provider,
        sharded(tmp_path / "data", [provider.address]) as shard,
    ):
        await reconnected(shard, 10)
        tasks, files = len(asyncio.all_tasks()), descriptors()
        assert await reconnected(shard, 100) == [Code.ABORTED] * 99
        # A List or a tick may be under way now that was not before: a few more or less.
        await until(
            lambda: len(asyncio.all_tasks()) <= tasks + 5,
            lambda: f"{tasks} tasks became {len(asyncio.all_tasks())}",
        )
        await until(
            lambda: descriptors() <= files + 5,
            lambda: f"{files} descriptors became {descriptors()}",
        )
