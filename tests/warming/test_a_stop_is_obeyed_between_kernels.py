"""SIGTERM while kernels are compiled: no other one is begun, and the process ends as always."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from bigfleet import compiling
from bigfleet.cli.progress import compile_all
from bigfleet.shard.driving.cycles import KernelWarmup
from tests.shard_processes.process import launched, shard_words
from tests.shard_system.rig import Lines
from tests.shard_system.waiting import until

#: That the stand-in for the compiler compiles.
KERNELS = 5


class Compiler:
    """Stands for the compiler; `meanwhile` happens while the third kernel is compiled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
        self.done = 0
        self.ended = threading.Event()
        self._meanwhile = meanwhile
        monkeypatch.setattr(compiling, "compile_kernels", self.compile)
        monkeypatch.setattr(compiling, "is_complete", lambda: False)
        monkeypatch.setattr(compiling, "why_not_kept", lambda: "")

    def compile(self, told: Callable[[compiling.Progress], None]) -> compiling.Progress:
        try:
            for self.done in range(1, KERNELS + 1):
                told(compiling.Progress(self.done - 1, KERNELS, "k", 0.1))
                if self.done == 3:
                    self._meanwhile()
            return compiling.Progress(KERNELS, KERNELS, "k", 0.1)
        finally:
            self.ended.set()


async def test_a_shard_that_is_stopped_begins_no_other_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    third, go_on = threading.Event(), threading.Event()

    def meanwhile() -> None:
        third.set()
        assert go_on.wait(30)

    compiler = Compiler(monkeypatch, meanwhile)
    warming = KernelWarmup(Lines())
    running = asyncio.create_task(warming.run())
    await asyncio.to_thread(third.wait, 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not compiler.ended.is_set(), "a stop does not wait for the kernel under way"
    go_on.set()
    assert await asyncio.to_thread(compiler.ended.wait, 30)
    assert compiler.done == 4, "the fourth was announced, and not compiled"
    assert not warming.is_done


def test_a_command_that_is_stopped_begins_no_other_kernel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    compiler = Compiler(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(click.exceptions.Exit) as stopped:
        compile_all(always=True)
    assert stopped.value.exit_code == 128 + signal.SIGTERM
    assert compiler.done == 4
    assert f"stopped after 3 of {KERNELS} kernels" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) == before


async def test_a_shard_that_compiles_stops_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    async with launched(*shard_words(tmp_path / "data", "127.0.0.1:1")) as shard:
        await until(lambda: any(cache.rglob("*.nbc")), lambda: shard.lines)
        shard.send(signal.SIGTERM)
        assert await shard.ended() == 0
    assert shard.logged("shard.stopped")
    assert not shard.logged("shard.started")
    assert not shard.logged("kernels.compiled")
    assert len([*cache.rglob("*.nbc")]) < len(compiling.all_kernels())
