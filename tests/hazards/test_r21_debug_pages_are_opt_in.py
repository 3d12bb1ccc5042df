"""R21: what a process shows of its insides is shown only if the settings ask for it."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.coordinator_process.rig import QUICK as QUICK_COORDINATOR
from tests.coordinator_process.rig import coordinated
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import JumpingClock, operating
from tests.podwatch.rig import running as podwatching
from tests.provider.rig import OPTIONS
from tests.provider.rig import running as providing
from tests.shard_system.rig import QUICK, offered, page, provided, sharded

PAGES = ("/debug/", "/debug/tasks", "/debug/stacks", "/debug/state")
#: Answered at once, and only where profiles are taken at all.
BAD_PROFILE = "/debug/profile?seconds=0"

#: A running process, as the port of its pages.
Serving = Callable[[Path, bool], AbstractAsyncContextManager[int]]


@asynccontextmanager
async def a_shard(folder: Path, asked_for: bool) -> AsyncIterator[int]:
    settings = replace(QUICK, debug_endpoints=True) if asked_for else QUICK
    async with (
        provided(folder, [offered("bare_metal", 1)]) as provider,
        sharded(folder / "data", [provider.address], settings) as shard,
    ):
        yield shard.process.metrics_port


@asynccontextmanager
async def a_coordinator(folder: Path, asked_for: bool) -> AsyncIterator[int]:
    own = QUICK_COORDINATOR
    async with coordinated(folder, replace(own, debug_endpoints=True) if asked_for else own) as up:
        yield up.process.metrics_port


@asynccontextmanager
async def an_operator(folder: Path, asked_for: bool) -> AsyncIterator[int]:
    clock = JumpingClock()
    settings: dict[str, Any] = {"debug_endpoints": True} if asked_for else {}
    async with (
        FakeApiServer(clock) as server,
        operating(folder, server, clock, **settings) as rig,
    ):
        yield rig.operator.metrics_port


@asynccontextmanager
async def a_podwatch(folder: Path, asked_for: bool) -> AsyncIterator[int]:
    settings: dict[str, Any] = {"debug_endpoints": True} if asked_for else {}
    async with FakeApiServer() as server, podwatching(server, **settings) as process:
        yield process.metrics_port


@asynccontextmanager
async def a_provider(folder: Path, asked_for: bool) -> AsyncIterator[int]:
    options = replace(OPTIONS, metrics_address="127.0.0.1:0")
    own = replace(options, debug_endpoints=True) if asked_for else options
    async with providing(options=own) as rig:
        yield rig.server.metrics_port


PROCESSES: dict[str, tuple[Serving, str]] = {
    "shard": (a_shard, "machines"),
    "coordinator": (a_coordinator, "rows"),
    "operator": (an_operator, "pods"),
    "podwatch": (a_podwatch, "pods"),
    "provider": (a_provider, "machines"),
}


@pytest.mark.parametrize(("serving", "_size"), PROCESSES.values(), ids=PROCESSES)
async def test_r21_debug_pages_are_not_found_by_default(
    tmp_path: Path, serving: Serving, _size: str
) -> None:
    async with serving(tmp_path, False) as port:
        paths = (*PAGES, BAD_PROFILE, "/debug/machines")
        assert {path: (await page(port, path))[0] for path in paths} == dict.fromkeys(paths, 404)
        assert (await page(port, "/healthz"))[0] == 200


@pytest.mark.parametrize(("serving", "size"), PROCESSES.values(), ids=PROCESSES)
async def test_r21_debug_pages_are_served_where_they_are_asked_for(
    tmp_path: Path, serving: Serving, size: str
) -> None:
    async with serving(tmp_path, True) as port:
        assert {path: (await page(port, path))[0] for path in PAGES} == dict.fromkeys(PAGES, 200)
        assert (await page(port, BAD_PROFILE))[0] == 400
        assert size in json.loads((await page(port, "/debug/state"))[1])


async def test_a_running_process_is_profiled_in_real_time(tmp_path: Path) -> None:
    async with a_coordinator(tmp_path, True) as port:
        status, text = await page(port, "/debug/profile?seconds=1")
        assert status == 200
        assert "asyncio.base_events.BaseEventLoop._run_once" in text
