"""One shell for the commands of a page: what one block sets or starts, the next ones find."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

#: Longer than what any command on a page needs, however long it gives itself.
PATIENCE = 400.0
_DONE = "::the block is done::"
#: Ends with the tests, however those end: its input does, and its jobs go with it.
_PREAMBLE = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"


class PageShell:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        #: All it has printed, for the reader of a failure.
        self.said: list[str] = []

    async def run(self, text: str) -> list[str]:
        """The lines it printed; a command that fails ends the shell, and the test."""
        writing, reading = self._process.stdin, self._process.stdout
        assert writing is not None
        assert reading is not None
        self.said.append(f"$ {text.rstrip()}")
        writing.write(f"{text}\necho; echo '{_DONE}'\n".encode())
        await writing.drain()
        lines: list[str] = []
        async with asyncio.timeout(PATIENCE):
            while line := (await reading.readline()).decode():
                if line.rstrip() == _DONE:
                    return lines
                lines.append(line.rstrip())
                self.said.append(lines[-1])
        raise AssertionError(f"a command failed\n{self.shown()}")

    def shown(self) -> str:
        return "\n".join(self.said[-60:])

    @classmethod
    async def start(cls, folder: Path, env: Mapping[str, str]) -> Self:
        process = await asyncio.create_subprocess_exec(
            "bash",
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        shell = cls(process)
        await shell.run(_PREAMBLE)
        return shell

    async def end(self) -> None:
        """With every job it has left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()


@asynccontextmanager
async def page_shell(folder: Path, env: Mapping[str, str]) -> AsyncIterator[PageShell]:
    shell = await PageShell.start(folder, env)
    try:
        yield shell
    finally:
        await shell.end()
