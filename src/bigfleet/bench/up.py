"""`bigfleet bench up`: `bigfleet up` as people start it: how soon it is ready, what it takes of the
memory, how soon it ends and what it leaves. Once alone, and twice side by side."""

import asyncio
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from bigfleet.bench.measures import Measure, Say
from bigfleet.bench.processes import LoadTestFailed
from bigfleet.edge.process_usage import resident_bytes

STATED_FOR = "Budgets are stated for two idle cores and compiled kernels (`bigfleet warm`)."
#: By size; the specification says nothing about medium.
MOST_RESIDENT_MB = {"small": 350, "large": 2_000}
READY_SECONDS, END_SECONDS = 3, 2
#: A large fleet on a busy machine.
PATIENCE_SECONDS = 600.0
_LOOK_SECONDS = 0.5
_PROGRAM = "from bigfleet.cli.main import main; main()"
_ADDRESS = re.compile(r"127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, slots=True)
class UpScale:
    size: str = "small"
    #: How long it lives, ready, before it is ended.
    seconds: float = 60.0


@dataclass(slots=True)
class Started:
    process: asyncio.subprocess.Process
    #: Where its temporary files are.
    folder: Path
    ready_seconds: float
    #: The sockets it listens on, by port: another process may take a port the moment it is free.
    listening: dict[int, str]
    most_bytes: int = 0

    def look(self) -> None:
        """It and the processes that it has started."""
        now = sum(map(_resident, [self.process.pid, *self.children()]))
        self.most_bytes = max(self.most_bytes, now)

    def children(self) -> list[int]:
        # Of each of its threads.
        listed = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        try:
            return [int(pid) for each in listed for pid in each.read_text().split()]
        except OSError:
            return []


@dataclass(frozen=True, slots=True)
class Ended:
    seconds: float
    processes_left: int
    ports_left: int
    files_left: int


async def measured(given: UpScale, say: Say) -> list[Measure]:
    say(f"one {given.size} fleet starts")
    async with started(given.size) as fleet:
        say(f"it lives for {given.seconds:g} s")
        await _watched([fleet], given.seconds)
        ended = await end(fleet)
    most = MOST_RESIDENT_MB.get(given.size)
    found = [
        Measure("ready, page and first cycle", fleet.ready_seconds, "s", READY_SECONDS),
        Measure("resident memory, the most", fleet.most_bytes / 1e6, "MB", most),
        *_end_rows("Ctrl-C", [ended]),
    ]
    say("two fleets start")
    async with AsyncExitStack() as open_fleets:
        fleets = await asyncio.gather(
            *(open_fleets.enter_async_context(started(given.size)) for _ in range(2))
        )
        await _watched(fleets, min(given.seconds, 10.0))
        both = await asyncio.gather(*map(end, fleets))
    slower = max(each.ready_seconds for each in fleets)
    shared = len(fleets[0].listening.keys() & fleets[1].listening.keys())
    return [
        *found,
        Measure("two side by side: the later one is ready", slower, "s"),
        Measure("two side by side: ports that both have", shared, "", 0),
        *_end_rows("two side by side: Ctrl-C", both),
    ]


@asynccontextmanager
async def started(size: str) -> AsyncIterator[Started]:
    """Once it says that it is ready; killed when the block is left, if it still runs."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "tmp")
        folder.mkdir()
        began = perf_counter()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _PROGRAM, "up", "--headless", "--size", size),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(folder), "XDG_CONFIG_HOME": f"{temporary}/config"},
        )
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                banner = await _banner(process)
            seconds, now = perf_counter() - began, listening_sockets()
            own = {port: now.get(port, "") for port in map(int, _ADDRESS.findall(banner))}
            yield Started(process, folder, seconds, own)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def end(fleet: Started) -> Ended:
    children, began = fleet.children(), perf_counter()
    fleet.process.send_signal(signal.SIGINT)
    # Reads what it still says: it would wait for a pipe that is full.
    await fleet.process.communicate()
    seconds, now = perf_counter() - began, listening_sockets()
    return Ended(
        seconds,
        sum(Path(f"/proc/{pid}").exists() for pid in children),
        sum(now.get(port) == socket for port, socket in fleet.listening.items()),
        len(list(fleet.folder.iterdir())),
    )


def listening_sockets() -> dict[int, str]:
    """The socket that listens on each port of this machine, by the number the kernel gave it."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    rows = [line.split() for line in lines]
    # Local address, state and inode; 0A is LISTEN.
    return {int(row[1].partition(":")[2], 16): row[9] for row in rows if row[3] == "0A"}


async def _banner(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    said = ""
    while "ready in " not in said:
        line = await process.stdout.readline()
        if not line:
            raise LoadTestFailed(f"bigfleet up ended before it was ready; it said: {said}")
        said += line.decode(errors="replace")
    return said


async def _watched(fleets: Sequence[Started], seconds: float) -> None:
    until = perf_counter() + seconds
    reading = [asyncio.create_task(_read(each.process)) for each in fleets]
    while perf_counter() < until:
        for each in fleets:
            each.look()
        await asyncio.sleep(min(_LOOK_SECONDS, seconds))
    for task in reading:
        task.cancel()
    await asyncio.wait(reading)


async def _read(process: asyncio.subprocess.Process) -> None:
    """Its lines: it would wait for a pipe that is full."""
    assert process.stdout is not None
    while await process.stdout.readline():
        pass


def _resident(pid: int) -> int:
    try:
        return resident_bytes(pid)
    except OSError:
        return 0


def _end_rows(how: str, ended: Sequence[Ended]) -> list[Measure]:
    return [
        Measure(f"{how} until it has ended", max(e.seconds for e in ended), "s", END_SECONDS),
        Measure(f"{how}: processes left", sum(e.processes_left for e in ended), "", 0),
        Measure(f"{how}: ports left open", sum(e.ports_left for e in ended), "", 0),
        Measure(f"{how}: files left", sum(e.files_left for e in ended), "", 0),
    ]
