"""A live `bigfleet up` as a process of its own, and the address of its page."""

import json
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

#: A page that takes longer does not come.
PATIENCE_SECONDS = 180.0
_MOST_LINES = 200
_DEADLINE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class LivePage:
    #: Without a slash at its end.
    address: str
    process: "subprocess.Popen[str]"
    #: What `up` said last.
    lines: "deque[str]"

    def shown(self) -> str:
        return "".join(self.lines)

    def end(self) -> None:
        """As Ctrl-C does."""
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)

    def get(self, path: str) -> Any:
        """Below /api/v1."""
        return self._asked(Request(f"{self.address}/api/v1{path}"))

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """As the page does it."""
        headers = {"content-type": "application/json", "x-bigfleet": "1", "origin": self.address}
        content = json.dumps(body).encode()
        return self._asked(Request(f"{self.address}/api/v1{path}", content, headers))

    def _asked(self, request: Request) -> Any:
        with urlopen(request, timeout=_DEADLINE_SECONDS) as answer:
            return json.load(answer)


@contextmanager
def served(folder: Path, *words: str, tour: bool = False) -> Iterator[LivePage]:
    """Ready: every shard has decided, and the page answers.

    `tour`: it is offered; else it is left, as it would play by itself beside an open page.
    """
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
            page = LivePage(address, process, lines)
            if not tour and page.get("/scenario")["tour"]["available"]:
                page.post("/scenario", {"do": "leave"})
            yield page
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
