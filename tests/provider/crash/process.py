"""A provider in a process of its own, to be killed."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.architecture.tree import ROOT

BOOT_SECONDS = 60
MACHINES = 24


@asynccontextmanager
async def provider_process(
    state: Path, hosts: Path, *more: str
) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """Its port and the process; killed at the end if it still runs."""
    arguments = (
        f"provider run tests.provider.crash.substrate:FolderSubstrate "
        f"--addr 127.0.0.1:0 --metrics-addr 127.0.0.1:0 --state {state} --set folder={hosts} "
        f"--seed-count {MACHINES} --failed-hold 1h"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from bigfleet.cli.main import main; main()",
        *arguments.split(),
        *more,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stderr is not None
    lines: list[str] = []
    async with asyncio.timeout(BOOT_SECONDS):
        port = await _port(process.stderr, lines)
    draining = asyncio.create_task(_drained(process.stderr))
    try:
        assert port, "".join(lines)
        yield port, process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()
        await draining


async def _port(stream: asyncio.StreamReader, lines: list[str]) -> int:
    """From the log line that says so; 0 if the process ended before."""
    while line := (await stream.readline()).decode():
        lines.append(line)
        if '"provider.started"' in line:
            return int(json.loads(line)["port"])
    return 0


async def _drained(stream: asyncio.StreamReader) -> None:
    while await stream.read(65536):
        pass
