"""A live `bigfleet up` as a process of its own, and the address of its page."""

import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: A page that takes longer does not come.
PATIENCE_SECONDS = 180.0
_MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class LivePage:
    #: Without a slash at its end.
    address: str
    process: "subprocess.Popen[str]"
    #: What `up` said last.
    lines: "deque[str]"

    def shown(self) -> str:
        return "".join(self.lines)


@contextmanager
def served(folder: Path, *words: str) -> Iterator[LivePage]:
    """Ready: every shard has decided, and the page answers."""
    program = "from bigfleet.cli.main import main; main()"
    command = [sys.executable, "-c", program, "up", "--headless", *words]
    # Of its own: contexts and temporary files of a person who works here stay as they are.
    environment = {"XDG_CONFIG_HOME": str(folder / "config"), "TMPDIR": str(folder)}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | environment,
    ) as process:
        lines: deque[str] = deque(maxlen=_MOST_LINES)
        ready, banner = threading.Event(), list[str]()
        reading = threading.Thread(target=_read, args=(process, lines, banner, ready))
        reading.start()
        try:
            assert ready.wait(PATIENCE_SECONDS), "".join(lines)
            assert process.poll() is None, "".join(lines)
            [address] = banner
            yield LivePage(address, process, lines)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            reading.join()


def _read(
    process: "subprocess.Popen[str]",
    lines: "deque[str]",
    banner: list[str],
    ready: threading.Event,
) -> None:
    """A pipe that is not read would stop what writes into it."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if not banner and (found := re.search(r"web\s+(http://[^/\s]+)", line)):
            banner.append(found[1])
        if line.startswith("ready in "):
            ready.set()
    ready.set()
