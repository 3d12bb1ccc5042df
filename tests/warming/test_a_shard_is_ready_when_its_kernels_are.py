"""A shard compiles before it serves, says so on its pages, and compiles nothing afterwards."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bigfleet import compiling
from bigfleet.edge.clock import ManualClock
from bigfleet.process import ProcessContext
from bigfleet.shard.driving.cycles import Cycles, KernelWarmup
from bigfleet.shard.driving.process import ShardProcess
from tests.shard_system.demand import HIGH, LOW
from tests.shard_system.operators import operating
from tests.shard_system.rig import QUICK, Lines, offered, provided, sharded
from tests.shard_system.waiting import until
from tests.warming.dispatchers import compiled_types

#: That the stand-in for the compiler compiles.
KERNELS = 20


async def test_a_live_shard_compiles_nothing(tmp_path: Path) -> None:
    offers = [offered("bare_metal", 2), offered("on_demand", 2)]
    async with (
        provided(tmp_path, offers) as provider,
        sharded(tmp_path / "data", [provider.address], QUICK) as shard,
    ):
        before, spent = compiled_types(), compiling.seconds_spent()
        async with (
            operating("batch", shard.address) as batch,
            operating("web", shard.address) as web,
        ):
            await batch.wants(4, LOW)
            await until(lambda: len(batch.configured()) == 4, lambda: batch.nodes)
            await web.wants(2, HIGH)
            await until(lambda: len(web.configured()) == 2, lambda: web.nodes)
            await web.wants(0, HIGH)
            await until(lambda: not web.configured(), lambda: web.nodes)
        assert compiled_types() == before
        assert compiling.seconds_spent() == spent


class Kernels:
    """Stands for the compiler: goes on with each kernel when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done = asyncio.Event()
        self.on_loop = False
        self._loop = asyncio.get_running_loop()
        monkeypatch.setattr(compiling, "compile_kernels", self.compile)

    def compile(self, told: Callable[[compiling.Progress], None]) -> compiling.Progress:
        self.on_loop = threading.current_thread() is threading.main_thread()
        told(compiling.Progress(12, KERNELS, "k", 8.3))
        asyncio.run_coroutine_threadsafe(self.done.wait(), self._loop).result(30)
        return compiling.Progress(KERNELS, KERNELS, "k", 20.0)


async def test_pages_say_how_far_compiling_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernels, log, clock = Kernels(monkeypatch), Lines(), ManualClock()
    settings = replace(QUICK, data_dir=str(tmp_path), metrics_addr="")
    process = ShardProcess(settings, ProcessContext(clock, log, stopwatch=lambda: 0.0))
    compiled = asyncio.create_task(process.warmup.run())
    await until(lambda: f"12 of {KERNELS}" in process.why_not_ready())
    assert f"compiling kernels: 12 of {KERNELS} after 8 s" in process.why_not_ready()
    # Longer than a shard may be silent: a cold start on a slow machine is not a reason to kill it.
    await clock.advance(3_600)
    assert process.why_not_alive() == ""
    kernels.done.set()
    await compiled
    assert "compiling" not in process.why_not_ready()
    assert process.why_not_alive() == "the last cycle began 3600 s ago"
    await process.stop(0.0)
    assert not kernels.on_loop
    assert log.events("kernels.compiled")


async def test_that_nothing_is_kept_is_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        compiling, "compile_kernels", lambda told: compiling.Progress(KERNELS, KERNELS, "k", 0.4)
    )
    monkeypatch.setattr(compiling, "why_not_kept", lambda: "cannot be kept")
    log = Lines()
    await KernelWarmup(log).run()
    assert [(level, event) for level, event, _ in log.said] == [("warning", "kernels.not_kept")]


@pytest.mark.parametrize(
    ("compiled", "is_late"), [([0.0, 0.0], True), ([0.0, 30.0, 30.0], False)], ids=["no", "yes"]
)
async def test_seconds_of_compiling_do_not_count_against_a_cycle(
    compiled: list[float], is_late: bool
) -> None:
    state: Any = SimpleNamespace(settings=SimpleNamespace(engine_timeout=0.001))
    outlet: Any = None
    left = iter(compiled)
    cycles = Cycles(state, outlet, map, lambda: 0.0, lambda: next(left))
    loop = asyncio.get_running_loop()
    running: asyncio.Future[Any] = loop.create_future()
    if not is_late:
        loop.call_later(0.05, running.set_result, None)
    await cycles._ended_or_late(running)
    assert running.done() is not is_late
    running.cancel()
    cycles.close()
