"""A provider as a process of its own, watched from outside: what it spends and what it says."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from bigfleet.bench.processes import LoadTestFailed
from bigfleet.edge.process_usage import cpu_seconds, resident_bytes

SUBSTRATE = "bigfleet.bench.provider.watched_substrate:WatchedSubstrate"


@dataclass(frozen=True, slots=True)
class RunningProvider:
    address: str
    metrics_port: int
    pid: int
    #: From the start of the process until it answers.
    start_seconds: float

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def resident_bytes(self) -> int:
        return resident_bytes(self.pid)

    async def longest_stall(self) -> tuple[float, float]:
        """Seconds since it was last asked, and how many of them the loop's thread worked."""
        told = json.loads(await self._page("bench/"))
        return float(told["longest_stall_seconds"]), float(told["worked_seconds"])

    async def reconciled(self) -> float:
        """Asks for a describe and returns when it is taken over; the seconds it took."""
        before, began = await self._describes(), time.perf_counter()
        await self._page("bench/describe")
        while await self._describes() == before:
            await asyncio.sleep(0.02)
        return time.perf_counter() - began

    async def _describes(self) -> float:
        lines = (await self._page("metrics")).splitlines()
        name = "bigfleet_provider_describe_total"
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    async def _page(self, path: str) -> str:
        def read() -> str:
            with urlopen(f"http://127.0.0.1:{self.metrics_port}/{path}") as answer:
                content: bytes = answer.read()
                return content.decode()

        return await asyncio.to_thread(read)


@asynccontextmanager
async def running_provider(machines: int, state: Path | None) -> AsyncIterator[RunningProvider]:
    words = (
        f"provider run {SUBSTRATE} --addr=127.0.0.1:0 --metrics-addr=127.0.0.1:0 "
        f"--seed-count={machines} --reconcile-interval=1h"
    ).split()
    words += [] if state is None else [f"--state={state}"]
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from bigfleet.cli.main import main; main()",
        *words,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    started: dict[str, int] = {}
    said = b""
    while not started and (line := await process.stderr.readline()):
        said = line
        if b'"provider.started"' in line:
            started = json.loads(line)
    seconds = time.perf_counter() - began
    draining = asyncio.create_task(_drained(process.stderr))
    try:
        if not started:
            why = said.decode(errors="replace").strip() or "it said nothing"
            raise LoadTestFailed(f"the provider to be measured did not start: {why}")
        address = f"127.0.0.1:{started['port']}"
        yield RunningProvider(address, started["metrics_port"], process.pid, seconds)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await draining


async def _drained(stream: asyncio.StreamReader) -> None:
    while await stream.read(65536):
        """An unread pipe would stop the provider; what it logs is not measured."""
