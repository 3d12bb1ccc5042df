"""Alive, ready, counted: what every process answers; and in which order it ends."""

import asyncio
import gc
from collections.abc import Coroutine, Mapping
from typing import Any

import pytest

from bigfleet.edge.clock import ManualClock, next_turn
from bigfleet.edge.logs import NullLog
from bigfleet.edge.pages import HttpAnswer
from bigfleet.model.errors import StartRefused
from bigfleet.process import CoreTaskDied, Process, ProcessContext


class Counted:
    def page(self) -> HttpAnswer:
        return HttpAnswer(b"counted")


class Warnings(NullLog):
    def __init__(self) -> None:
        self.text_of: dict[str, str] = {}

    def warning(self, event: str, **facts: Any) -> None:
        self.text_of[event] = facts["msg"]


class MinimalProcess(Process):
    """Notes what it is asked to do."""

    component = "simplest"
    metrics = Counted()

    def __init__(self, stopwatch: list[float] | None = None) -> None:
        passed, self.warnings = stopwatch or [0.0], Warnings()
        super().__init__(ProcessContext(ManualClock(), self.warnings, stopwatch=lambda: passed[0]))
        self.missing: list[str] = []
        self.said: list[str] = []
        self.refuses = False
        self.breaks = asyncio.Event()

    def why_not_ready(self) -> str:
        return "".join(self.missing)

    def sizes(self) -> Mapping[str, int]:
        return {"said": len(self.said)}

    async def _open(self) -> None:
        self.said.append("open")
        if self.refuses:
            raise StartRefused("the disk is full")

    def _work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        return {name: self._noting(name) for name in ("lease", "caches", "leading")}

    def _side_work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        return {"reports": self._noting("reports")}

    async def _begin_stop(self) -> None:
        self.said.append("no new work")

    async def _finish(self, grace_seconds: float) -> None:
        self.said.append(f"work ends within {grace_seconds:g} s")

    async def _close(self) -> None:
        self.said.append("close")

    async def _noting(self, name: str) -> None:
        try:
            await self.breaks.wait()
        except asyncio.CancelledError:
            self.said.append(f"{name} ends")
            raise
        raise OSError(f"{name} broke")


async def test_a_process_whose_loop_hangs_is_not_alive() -> None:
    passed = [0.0]
    process = MinimalProcess(passed)
    assert process._healthz().status == 200
    passed[0] = 11.0
    assert process._healthz().status == 503
    assert b"the event loop is 10.9 s behind" in process._healthz().body


async def test_what_is_missing_is_said_until_it_is_there() -> None:
    process = MinimalProcess()
    process.missing.append("pods are not read yet")
    assert process._readyz().status == 503
    assert b"pods are not read yet" in process._readyz().body
    process.missing.clear()
    assert process._readyz().status == 200


async def test_a_stop_has_one_order_and_happens_once() -> None:
    process = MinimalProcess()
    await process.start()
    await next_turn()
    process.said.clear()
    await process.stop(3.0)
    await process.stop(3.0)
    assert process.said == [
        "no new work",
        "reports ends",
        "leading ends",
        "caches ends",
        "lease ends",
        "work ends within 3 s",
        "close",
    ]
    await process.until_dead()


async def test_a_start_that_is_refused_closes_what_was_opened() -> None:
    process = MinimalProcess()
    process.refuses = True
    with pytest.raises(StartRefused, match="the disk is full"):
        await process.start()
    assert process.said == ["open", "no new work", "work ends within 0 s", "close"]


async def test_a_task_that_ends_is_named() -> None:
    process = MinimalProcess()
    await process.start()
    process.breaks.set()
    with pytest.raises(CoreTaskDied, match=r"the task '\w+' has ended: OSError\('\w+ broke'\)"):
        await process.until_dead()
    await process.stop()


class LateProcess(MinimalProcess):
    """Its caches end only when they are let go, and not in order."""

    tasks_margin = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Event()

    async def _noting(self, name: str) -> None:
        try:
            await super()._noting(name)
        finally:
            if name == "caches":
                await self.let_go.wait()
                raise OSError("the connection is closed")


async def test_a_task_that_outlasts_the_stop_is_named_and_its_end_is_heard() -> None:
    """Unheard, asyncio would tell of it when the task is collected, in the middle of anything."""
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: unheard.append(told))
    process = LateProcess()
    await process.start()
    await next_turn()
    await process.stop()
    process.let_go.set()
    await asyncio.wait(process._tasks.values())
    await next_turn()
    process._tasks.clear()
    gc.collect()
    told = process.warnings.text_of
    assert told["simplest.task_is_late"] == "caches did not end within 0 s"
    assert told["simplest.task_was_late"].startswith("caches ended after the stop: OSError")
    assert unheard == []
