"""Shards and providers in processes of their own: started from the command line, killed at will."""

import asyncio
import json
import resource
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.architecture.tree import ROOT
from tests.shard_system.rig import AT_ONCE, page
from tests.shard_system.waiting import PATIENCE, until

_PROGRAM = "from bigfleet.cli.main import main; main()"


@dataclass(slots=True)
class Running:
    """A process of ours, and all it has logged."""

    process: asyncio.subprocess.Process
    #: Log lines; what is not JSON has only a `text`.
    lines: list[dict[str, Any]] = field(default_factory=list)
    #: Ends when the process can say no more and all it said is in `lines`.
    reading: asyncio.Task[None] = field(init=False)

    def __post_init__(self) -> None:
        self.reading = asyncio.create_task(_read(self.process, self.lines))

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def started(self) -> dict[str, Any] | None:
        return next((e for e in self.lines if str(e.get("event")).endswith(".started")), None)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._start['port']}"

    @property
    def epoch(self) -> int:
        return int(self._start["epoch"])

    @property
    def _start(self) -> Mapping[str, Any]:
        assert self.started is not None, self.lines
        return self.started

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("event") == event]

    async def metric(self, name: str) -> float:
        """The sum over all labels; 0 where there is none."""
        _, text = await page(int(self._start["metrics_port"]), "/metrics")
        rows = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
        return sum(
            float(value)
            for label, _, value in rows
            if label.partition("{")[0] == f"bigfleet_shard_{name}"
        )

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def kill(self) -> None:
        """kill -9, and it is gone."""
        self.send(signal.SIGKILL)
        await self.process.wait()

    async def ended(self) -> int:
        """How; its last words can be seen then."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait({self.reading})
            return await self.process.wait()

    def fill_disk(self, is_full: bool = True) -> None:
        """No file of the process can be written beyond its first byte."""
        most = 1 if is_full else resource.RLIM_INFINITY
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


@asynccontextmanager
async def launched(*words: str) -> AsyncIterator[Running]:
    """A command line of ours; killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, *words, stderr=asyncio.subprocess.PIPE, cwd=ROOT
    )
    running = Running(process)
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await running.reading


@asynccontextmanager
async def serving(*words: str) -> AsyncIterator[Running]:
    """The same, once it serves."""
    async with launched(*words) as running:
        await until(
            lambda: running.started or running.process.returncode is not None,
            lambda: running.lines,
        )
        assert running.started, running.lines
        yield running


async def _read(process: asyncio.subprocess.Process, lines: list[dict[str, Any]]) -> None:
    assert process.stderr is not None
    while line := (await process.stderr.readline()).decode():
        try:
            lines.append(json.loads(line))
        except ValueError:
            lines.append({"text": line})


def provider_words(folder: Path, offers: list[dict[str, Any]], address: str) -> list[str]:
    """A sim that keeps its state in the folder."""
    file = folder / "offers.json"
    file.write_text(json.dumps(offers))
    return [
        *("provider", "run", "sim", "--addr", address, "--metrics-addr", ""),
        *("--offerings", str(file), "--state", str(folder / "provider.db"), "--latency", AT_ONCE),
    ]


def shard_words(data_dir: Path, provider: str, *more: str) -> list[str]:
    """A shard in a hurry, as those on the rig are."""
    return [
        *("shard", "--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"),
        *("--data-dir", str(data_dir), "--provider-addr", f"p0={provider}", "--workers", "1"),
        *("--cycle-interval", "200ms", "--cycle-min-gap", "20ms"),
        *("--reconcile-interval", "100ms", "--reconcile-breaker-probe", "500ms"),
        *("--reclaim-cap-fraction", "0"),
        *("--empty-rollup-guard", "false"),
        *("--thrash-hold", "0s"),
        *more,
    ]
