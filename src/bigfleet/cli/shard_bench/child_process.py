"""How the load test and its child processes speak: a line asks, a line of JSON answers."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import click

from bigfleet.cli.process_usage import cpu_seconds, resident_bytes

#: Answers carry every cycle of a phase.
_LONGEST_LINE = 16 * 2**20


async def answer_lines(told: Callable[[], Mapping[str, object]]) -> None:
    """In the child: an answer to every line on standard input, until it is closed."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        sys.stdout.write(json.dumps(told()) + "\n")
        sys.stdout.flush()


class Child:
    """A process that answers lines."""

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self._process = process
        self._name = name

    async def ask(self) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        line = await self._process.stdout.readline()
        if not line:
            code = await self._process.wait()
            raise click.ClickException(
                f"the {self._name} of the load test ended with code {code}; what it said is above"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def cpu_seconds(self) -> float:
        return cpu_seconds(self._process.pid)

    def resident_bytes(self) -> int:
        return resident_bytes(self._process.pid)


@asynccontextmanager
async def child(module: str, name: str, *arguments: str) -> AsyncIterator[Child]:
    """Runs `main` of a module; ended when the block is left."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"from {module} import main; main()",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
    )
    try:
        yield Child(process, name)
    finally:
        if process.returncode is None:
            process.kill()
        # Reads to the end, so that no pipe is left to the collector.
        await process.communicate()
