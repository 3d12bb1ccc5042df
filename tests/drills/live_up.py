"""A live `bigfleet up`, a process of its own, and the shell of the engineer who is on call.

Nothing is waited for by the clock: a fault is injected, and the engineer's command is asked until
it shows it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from tests.architecture.tree import ROOT
from tests.drills import steered_demand
from tests.drills.faults import Fault, parts_of

#: Of the finding that Needs wait.
WAITING = "  next: why, and what helps each of them: bigfleet needs --unmet"
#: A drill that waits longer waits for what will not come.
PATIENCE_SECONDS = 120.0
#: Between two looks.
_LOOK_SECONDS = 0.2
_MOST_LINES = 100


@dataclass(frozen=True, slots=True)
class ToldFinding:
    """A finding as `bigfleet status` tells it."""

    cause: str
    #: The whole line after `next:`.
    remedy: str

    def command(self, **blanks: str) -> tuple[str, ...]:
        """The command to copy, with what the engineer fills in, such as WHY."""
        words = shlex.split(self.remedy[self.remedy.index("bigfleet ") :])[1:]
        return tuple(blanks.get(word, word) for word in words)


@dataclass(slots=True)
class LiveUp:
    process: subprocess.Popen[str]
    world: Path
    config: Path
    last_lines: deque[str]
    pods: dict[str, int] = field(default_factory=dict)
    lost_nodes: dict[str, int] = field(default_factory=dict)

    # -- the world ---------------------------------------------------------------------------------

    def wants(self, cluster: str, pods: int) -> None:
        """From now on the cluster has so many pods; each takes a machine of its own."""
        self.pods[cluster] = pods
        steered_demand.write(self.world, self.pods, self.lost_nodes)

    def loses_nodes(self, cluster: str, nodes: int) -> None:
        self.lost_nodes[cluster] = self.lost_nodes.get(cluster, 0) + nodes
        steered_demand.write(self.world, self.pods, self.lost_nodes)

    def sim(self, *words: str) -> None:
        """Something happens to the simulated provider."""
        self.shown("provider", "sim", *words, "--addr", self.provider)

    @property
    def provider(self) -> str:
        (shard,) = self.document("status")["items"]
        return str(shard["providers"][0]["address"])

    def machines_in_use(self) -> int:
        return len(self.document("machines", "state=configured")["items"])

    # -- the shell ---------------------------------------------------------------------------------

    def bigfleet(self, *words: str) -> Result:
        environment = {"XDG_CONFIG_HOME": str(self.config), "COLUMNS": "100", "NO_COLOR": "1"}
        return CliRunner(env=environment).invoke(cli, words)

    def shown(self, *words: str) -> str:
        result = self.bigfleet(*words)
        assert result.exit_code == 0, f"bigfleet {shlex.join(words)}: {result.output}"
        return result.stdout

    def document(self, *words: str) -> Any:
        return json.loads(self.shown(*words, "-o", "json"))

    def until_told(self, fault: Fault, *also: str) -> ToldFinding:
        """The first command: `bigfleet status`, until it tells of the fault, and of what else is
        named."""
        cause = parts_of(fault.says)

        def tells(shown: str) -> bool:
            named = all(text in shown for text in also)
            return named and any(map(_has(cause), shown.splitlines()))

        found = told_in(self._until(("status",), tells), cause)
        for part in parts_of(fault.remedy):
            assert part in found.remedy
        return found

    def until_shown(self, pattern: str, *words: str) -> None:
        self._until(words, lambda shown: re.search(pattern, shown) is not None)

    def until_met(self) -> None:
        """Every Need has its machines, and no pod waits for one."""
        pods = sum(self.pods.values())

        def is_met(shown: str) -> bool:
            (shard,) = json.loads(shown)["items"]
            counts = shard["needStates"]
            waits = [name for name, count in counts.items() if count and name != "met"]
            return not waits and self.machines_in_use() >= pods

        self._until(("status", "-o", "json"), is_met)

    def until_fewer(self, machines: int) -> None:
        """Clusters have given machines back."""
        self._until(("status",), lambda _shown: self.machines_in_use() < machines)

    def until_gone(self, fault: Fault) -> None:
        tells = _has(parts_of(fault.says))
        self._until(("status",), lambda shown: not any(map(tells, shown.splitlines())))

    def _until(self, words: tuple[str, ...], holds: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            result = self.bigfleet(*words)
            if result.exit_code == 0 and holds(result.stdout):
                return result.stdout
            ended = self.process.poll() is not None
            if ended or time.monotonic() > deadline:
                lines = "".join(self.last_lines)
                raise AssertionError(f"waited in vain; it shows\n{result.output}\nup says\n{lines}")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_LOOK_SECONDS)


def _has(parts: list[str]) -> Callable[[str], bool]:
    return lambda line: line.startswith("- ") and all(part in line for part in parts)


def told_in(shown: str, cause: list[str]) -> ToldFinding:
    lines = shown.splitlines()
    place = next(number for number, line in enumerate(lines) if _has(cause)(line))
    told = lines[place + 1]
    assert told.startswith("  next: "), told
    return ToldFinding(lines[place].removeprefix("- "), told.removeprefix("  next: "))


@contextmanager
def living_up(folder: Path, speed: float, pods: dict[str, int]) -> Iterator[LiveUp]:
    """With all of its demand met."""
    world, config = folder / "world.json", folder / "config"
    steered_demand.write(world, pods, {})
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.drills.steered_demand import install\n"
        f"install({str(world)!r})\n"
        "from bigfleet.cli.main import main; main()"
    )
    words = ("up", "--headless", "--speed", str(speed))
    with subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"XDG_CONFIG_HOME": str(config), "TMPDIR": str(folder)},
    ) as process:
        lines: deque[str] = deque(maxlen=_MOST_LINES)
        ready = threading.Event()
        reading = threading.Thread(target=_read, args=(process, lines, ready))
        reading.start()
        try:
            assert ready.wait(PATIENCE_SECONDS), "".join(lines)
            up = LiveUp(process, world, config, lines, dict(pods))
            up.until_met()
            yield up
        finally:
            process.kill()
            reading.join()


def _read(process: "subprocess.Popen[str]", lines: "deque[str]", ready: threading.Event) -> None:
    """A pipe that is not read would stop what writes into it."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if line.startswith("ready in "):
            ready.set()
    ready.set()
