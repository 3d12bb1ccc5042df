"""Follows a page from top to bottom in an empty folder, as a reader would.

Blocks with a file name are written, a recorded journal is copied to `journal`, Python is run,
`bigfleet` commands are run and their output is compared. A command that ends in `&` stays up until
the end of the page. Where a page names default ports or relies on them the walk uses free ones:
walks never meet what else runs here.

Only what serves, or loads Python of the page, is a process of its own: a page has dozens of
commands that answer within milliseconds, and to start a process takes half a second.
"""

import os
import shutil
import subprocess
import sys
import threading
from contextlib import ExitStack, chdir
from pathlib import Path
from types import TracebackType
from typing import Self

from click.testing import CliRunner

from bigfleet.cli.main import cli
from tests.architecture.pages import Block, Command, commands_of, normalised
from tests.architecture.tree import ROOT
from tests.held_ports import held_port

BIGFLEET = Path(sys.executable).with_name("bigfleet")
#: A certification is the longest a page asks for.
LONGEST_SECONDS = 300.0
PROVIDER, SHARD, SHARD_METRICS = "127.0.0.1:9000", "127.0.0.1:7780", "127.0.0.1:8780"
COORDINATOR, COORDINATOR_METRICS = "127.0.0.1:7790", "127.0.0.1:8790"
PORTS = (PROVIDER, SHARD, SHARD_METRICS, COORDINATOR, COORDINATOR_METRICS)
#: What mypy knows of the package stays for the next run.
TYPES = ROOT / ".mypy_cache" / "pages"
COLUMNS = 100
_LEFT_OUT = ["..."]
#: Commands that load Python of the page.
_LOADING = (("provider", "doctor"), ("conformance",))
STARTED = ("provider.started", "shard.started", "coordinator.started")


class PageWalk:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left_running = ExitStack()
        self._own = {
            known: f"127.0.0.1:{self._left_running.enter_context(held_port())}" for known in PORTS
        }
        #: Whether the page has started a coordinator: only then is it asked.
        self._coordinated = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left_running.close()

    def step(self, block: Block) -> None:
        if block.file:
            (self._folder / block.file).write_text(self._own_ports(block.text))
        elif block.language == "python":
            self._must_work([sys.executable, "-c", self._own_ports(block.text)], block)
        elif block.language == "console":
            if block.journal:
                shutil.rmtree(self._folder / "journal", ignore_errors=True)
                shutil.copytree(ROOT / block.journal, self._folder / "journal")
            for command in commands_of(block):
                self._run(command)

    def check_types(self) -> None:
        """What a reader copies is as strict as what we write."""
        names = sorted(path.name for path in self._folder.glob("*.py"))
        if not names:
            return
        flags = ["--strict", "--explicit-package-bases", f"--cache-dir={TYPES}"]
        self._must_work([sys.executable, "-m", "mypy", *flags, *names], "types")

    def _run(self, command: Command) -> None:
        assert command.words[0] == "bigfleet", f"{command}: only bigfleet is run"
        if command.words[-1] == "&":
            self._start(self._words(command.words[:-1]), command)
            return
        words = self._words(command.words)
        if any(command.words[1 : 1 + len(verb)] == verb for verb in _LOADING):
            output = self._must_work(words, command)
        else:
            output = self._must_answer(words[1:], command)
        if command.output:
            shown = self._own_ports("\n".join(command.output))
            assert agree(columns_of(output), columns_of(shown)), f"{command}\n{output}"

    def _words(self, words: tuple[str, ...]) -> list[str]:
        """The command with the ports of this walk, for those that use a port."""
        made = [str(BIGFLEET), *words[1:]]
        if words[1] == "provider":
            made.append(f"--addr={self._own[PROVIDER]}")
        if words[1:3] == ("provider", "run"):
            made.append("--metrics-addr=127.0.0.1:0")
        return made

    def _own_ports(self, text: str) -> str:
        for known, own in self._own.items():
            text = text.replace(known, own)
        return text

    def _must_answer(self, words: list[str], of: Command) -> str:
        with chdir(self._folder):
            runner = CliRunner(env=self._environment())
            # The runner knows no COLUMNS; click leaves two of them free.
            done = runner.invoke(cli, words, prog_name="bigfleet", terminal_width=COLUMNS - 2)
        assert done.exit_code == 0, f"{of} ended with {done.exit_code}\n{done.output}"
        return done.stdout

    def _must_work(self, words: list[str], of: object) -> str:
        done = subprocess.run(
            words,
            cwd=self._folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        assert done.returncode == 0, (
            f"{of} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done.stdout

    def _environment(self) -> dict[str, str]:
        path = f"{BIGFLEET.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        return {
            **os.environ,
            "PATH": path,
            "PYTHONPATH": os.pathsep.join([str(self._folder), *_own_sources()]),
            "XDG_CONFIG_HOME": str(self._folder / ".config"),
            "MYPYPATH": ".",
            "COLUMNS": str(COLUMNS),
            "BIGFLEET_CLI_SHARD": self._own[SHARD],
            **({"BIGFLEET_CLI_COORDINATOR": self._own[COORDINATOR]} if self._coordinated else {}),
        }

    def _start(self, words: list[str], command: Command) -> None:
        self._coordinated |= words[1] == "coordinator"
        process = subprocess.Popen(
            words,
            cwd=self._folder,
            env=self._environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        self._left_running.enter_context(process.stderr)
        self._left_running.callback(_end, process)
        said = []
        for line in process.stderr:
            said.append(line)
            if any(event in line for event in STARTED):
                # Its further output must not fill the pipe.
                listening = threading.Thread(target=process.stderr.read)
                listening.start()
                self._left_running.callback(listening.join)
                self._left_running.callback(process.terminate)
                return
        raise AssertionError(f"{command} did not come up\n{''.join(said)}")


def agree(lines: list[list[str]], shown: list[list[str]]) -> bool:
    """Line by line; a line `...` on the page stands for any number of lines."""
    if _LEFT_OUT not in shown:
        return lines == shown
    cut = shown.index(_LEFT_OUT)
    head, rest = shown[:cut], shown[cut + 1 :]
    starts = range(cut, len(lines) + 1)
    return lines[:cut] == head and any(agree(lines[start:], rest) for start in starts)


def _own_sources() -> list[str]:
    """Where these tests take BigFleet from, if not from what is installed."""
    said = os.environ.get("PYTHONPATH", "")
    return [said] if said else []


def columns_of(output: str) -> list[list[str]]:
    """Words a line: how wide a column is depends on what varies in it."""
    return [line.split() for line in normalised(output).splitlines()]


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    process.wait()
