"""Processes of the rig: each with its log in a file, none outlives the tests.

The test that starts one ends it. If the tests themselves are killed, a shell that reads from them
notices and kills in their stead.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bigfleet.edge.process_usage import cpu_seconds, resident_bytes
from tests.shard_system.rig import page
from tests.shard_system.waiting import until

_PROGRAM = "from bigfleet.cli.main import main; main()"
#: Kills by number, and only after the numbers were written to it: see `_watched`.
_WATCHDOG = 'read gone; kill -9 "$0" 2>/dev/null'
_ORDERLY_SECONDS = 20.0
_SHOWN_CHARACTERS = 4_000


class Ended(Exception):
    """A process is gone that should run; the end of its log is the text."""


class Supervised:
    """One command line, started and ended as often as a test likes; its log goes on."""

    def __init__(
        self, name: str, words: Sequence[str], log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.words = list(words)
        self.log = log
        self._env = {**os.environ, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        #: Where the log of the present life begins.
        self._begins = 0

    def start(self) -> None:
        assert self._process is None, f"{self.name} runs already"
        self._begins = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._env
            )
        # Its standard input ends with this process, however that ends.
        words = ["sh", "-c", _WATCHDOG, str(self._process.pid)]
        self._watchdog = subprocess.Popen(words, stdin=subprocess.PIPE)

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} does not run"
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """As a loss of power does; a second call is harmless."""
        self._end(signal.SIGKILL)

    def stop(self) -> int | None:
        """In order, with SIGTERM; what does not heed it is killed. None: it did not run."""
        return self._end(signal.SIGTERM)

    def ended_within(self, seconds: float) -> bool:
        """Waits that long at most."""
        assert self._process is not None, f"{self.name} does not run"
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def must_run(self) -> None:
        if not self.runs:
            raise Ended(f"{self.name} has ended\n{self.shown()}")

    def shown(self) -> str:
        """The end of its log, for the reader of a failure."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return f"--- the end of {self.log}\n{text[-_SHOWN_CHARACTERS:]}"

    # -- what a process of ours says ------------------------------------------------------------

    def lines(self) -> list[dict[str, Any]]:
        """Log lines of its present life; what is not JSON has only a `text`."""
        with self.log.open("rb") as log:
            log.seek(self._begins)
            return [_line(text) for text in log.read().splitlines()]

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line.get("event") == event]

    async def event(self, name: str) -> dict[str, Any]:
        """The facts of the first log line of that event, as soon as it is there."""

        def told() -> bool:
            # Asked first: it may say the word and end before the next line of ours.
            runs = self.runs
            if self.logged(name):
                return True
            if not runs:
                raise Ended(f"{self.name} has ended without {name}\n{self.shown()}")
            return False

        await until(told, self.shown)
        return self.logged(name)[0]

    async def page(self, path: str) -> tuple[int, str]:
        """A GET at its metrics address: the status and the body."""
        return await page(self.metrics_port, path)

    async def metric(self, name: str) -> float:
        """The sum over all labels; 0 where there is none."""
        _, text = await self.page("/metrics")
        rows = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
        return sum(float(value) for label, _, value in rows if label.partition("{")[0] == name)

    @property
    def metrics_port(self) -> int:
        started = [line for line in self.lines() if "metrics_port" in line]
        assert started, f"{self.name} has not said its metrics port\n{self.shown()}"
        return int(started[0]["metrics_port"])

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def resident_megabytes(self) -> float:
        return resident_bytes(self.pid) / 2**20

    def _end(self, number: signal.Signals) -> int | None:
        process, watchdog = self._process, self._watchdog
        if process is None or watchdog is None:
            return None
        # Before its victim: its number may belong to another process afterwards.
        watchdog.kill()
        watchdog.communicate()
        self._process = self._watchdog = None
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(number)
        try:
            return process.wait(_ORDERLY_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


class Family:
    """Processes that end together: the last one started goes first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.members: list[Supervised] = []
        self._lock = threading.Lock()

    def start(
        self, name: str, words: Sequence[str], env: Mapping[str, str] | None = None
    ) -> Supervised:
        member = Supervised(name, words, self.folder / f"{name}.log", env)
        member.start()
        with self._lock:
            self.members.append(member)
        return member

    def start_verb(self, name: str, *words: str) -> Supervised:
        """A command line of ours."""
        return self.start(name, [sys.executable, "-c", _PROGRAM, *words])

    def kill(self) -> None:
        for member in reversed(self.members):
            member.kill()

    def shown(self) -> str:
        return "\n".join(member.shown() for member in self.members)


def _line(text: bytes) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except ValueError:
        line = None
    return line if isinstance(line, dict) else {"text": text.decode(errors="replace")}
