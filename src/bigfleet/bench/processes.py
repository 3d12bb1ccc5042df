"""The processes of a load test: started, watched and ended; none of them outlives it.

They end with the block that started them. Where the test itself is killed there is no block any
more: a shell that reads from it notices and kills them. A child of ours is asked by a line on its
standard input and answers with a line of JSON.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bigfleet.edge.allocator import SETTINGS
from bigfleet.edge.process_usage import cpu_seconds, resident_bytes


class LoadTestFailed(Exception):
    """A process of the load test did not start, or ended too early; the text says which."""


#: Answers carry every cycle of a phase.
_LONGEST_LINE = 16 * 2**20


async def answer_lines(
    told: Callable[[], Mapping[str, object]], heard: Callable[[str], None] = lambda line: None
) -> None:
    """In the child: an answer to every line on standard input, until it is closed.

    `heard` is told what the line says, before.
    """
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        heard(line.decode().strip())
        sys.stdout.write(json.dumps(told()) + "\n")
        sys.stdout.flush()


class Child:
    """A process that answers lines."""

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self._process = process
        self._name = name

    async def ask(self, said: str = "") -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(said.encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            code = await self._process.wait()
            raise LoadTestFailed(
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
    """Runs `main` of a module, with the allocator of a daemon; ended when the block is left."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"from {module} import main; main()",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
        env={**SETTINGS, **os.environ},
    )
    try:
        yield Child(process, name)
    finally:
        if process.returncode is None:
            process.kill()
        # Reads to the end, so that no pipe is left to the collector.
        await process.communicate()


_PROGRAM = "from bigfleet.cli.main import main; main()"
_WATCHDOG = 'while read pid; do pids="$pids $pid"; done; kill -9 $pids 2>/dev/null'
#: Long enough for a busy machine; an idle one does not wait for it.
PATIENCE_SECONDS = 60.0


class RunningProcess:
    """A process and what it has written to its standard error."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process
        self._lines: list[bytes] = []
        self._is_silent = False
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        return self._process.pid

    async def line_with(self, text: bytes) -> bytes:
        """The first line that has this in it; where none comes, the load test is over."""
        seen = 0
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    for line in self._lines[seen:]:
                        if text in line:
                            return line
                    seen = len(self._lines)
                    if self._is_silent:
                        raise self._failed("has ended")
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise self._failed(f"does not come up in {PATIENCE_SECONDS:.0f} s") from None

    async def event(self, name: str) -> dict[str, Any]:
        """The facts of the first log line of that event."""
        facts: dict[str, Any] = json.loads(await self.line_with(b'"event":"%s"' % name.encode()))
        return facts

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def kill(self) -> None:
        """As a loss of power does; a second call is harmless."""
        if self._process.returncode is None:
            self._process.kill()
        await self.ended()

    async def ended(self) -> None:
        await self._process.wait()
        await self._reading

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def resident_megabytes(self) -> float:
        return resident_bytes(self.pid) / 2**20

    async def _read(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self._lines.append(line)
            self._news.set()
        self._is_silent = True
        self._news.set()

    def _failed(self, what: str) -> LoadTestFailed:
        said = b"".join(self._lines[-5:]).decode(errors="replace").strip() or "it said nothing"
        return LoadTestFailed(f"the {self.name} of the load test {what}: {said}")


class Processes:
    def __init__(self, watchdog: asyncio.subprocess.Process) -> None:
        self._watchdog = watchdog
        self._all: list[RunningProcess] = []

    async def start(self, name: str, *words: str) -> RunningProcess:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
        )
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.write(b"%d\n" % process.pid)
        running = RunningProcess(name, process)
        self._all.append(running)
        return running

    async def verb(self, name: str, *words: str) -> RunningProcess:
        """A command line of ours."""
        return await self.start(name, sys.executable, "-c", _PROGRAM, *words)

    async def end(self) -> None:
        # Before its victims, whose process numbers may be reused afterwards.
        self._watchdog.kill()
        await self._watchdog.communicate()
        await asyncio.gather(*(running.kill() for running in self._all))


@asynccontextmanager
async def processes() -> AsyncIterator[Processes]:
    watchdog = await asyncio.create_subprocess_exec(
        "sh", "-c", _WATCHDOG, stdin=asyncio.subprocess.PIPE
    )
    everything = Processes(watchdog)
    try:
        yield everything
    finally:
        await everything.end()
