"""--watch: a verb asks again at an interval, until Ctrl-C.

On a terminal the answer is redrawn in place; into a pipe every answer is appended. The first answer
must succeed: a wrong flag or a server that was never there ends the verb with its exit code. Later
failures are shown and the question is asked again.
"""

import io
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TextIO

import click

from bigfleet.cli.terminal import unread

_HOME, _CLEAR_LINE, _CLEAR_BELOW = b"\x1b[H", b"\x1b[K", b"\x1b[J"
_CLEAR_ALL = b"\x1b[2J"
_PARTIAL = 5


@dataclass(slots=True)
class PrintedAnswer:
    """What one answer printed, and how it ended."""

    out: bytes = b""
    problems: bytes = b""
    exit_code: int = 0


def watch(
    ask: Callable[[], None], seconds: float, pause: Callable[[float], None] = time.sleep
) -> None:
    """Ctrl-C ends it with 0, and so does a reader that closes the pipe."""
    try:
        first = True
        while True:
            found = _asked(ask)
            if first and found.exit_code not in (0, _PARTIAL):
                _write(sys.stderr, found.problems)
                raise click.exceptions.Exit(found.exit_code)
            if not _shown(found, first=first):
                return
            first = False
            pause(seconds)
    except KeyboardInterrupt:
        return


class _Captured(io.TextIOWrapper):
    """Collects bytes, and says of the terminal what the real stream says."""

    def __init__(self, real: IO[str]) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self._real = real

    def isatty(self) -> bool:
        return self._real.isatty()

    def taken(self) -> bytes:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue()


@contextmanager
def _captured() -> Iterator[tuple[_Captured, _Captured]]:
    streams = sys.stdout, sys.stderr
    caught = _Captured(streams[0]), _Captured(streams[1])
    sys.stdout, sys.stderr = caught
    try:
        yield caught
    finally:
        sys.stdout, sys.stderr = streams


def _asked(ask: Callable[[], None]) -> PrintedAnswer:
    code = 0
    with _captured() as (out, problems):
        try:
            ask()
        except click.exceptions.Exit as ended:
            code = ended.exit_code
    return PrintedAnswer(out.taken(), problems.taken(), code)


def _shown(found: PrintedAnswer, *, first: bool) -> bool:
    """False: the reader has gone."""
    if sys.stdout.isatty():
        screen = _fitting((found.out + found.problems).splitlines())
        lines = b"".join(line + _CLEAR_LINE + b"\n" for line in screen)
        return _write(sys.stdout, (_CLEAR_ALL if first else b"") + _HOME + lines + _CLEAR_BELOW)
    _write(sys.stderr, found.problems)
    return _write(sys.stdout, found.out)


def _fitting(lines: list[bytes]) -> list[bytes]:
    """A screen that scrolls cannot be redrawn in place: the rest is counted."""
    height = shutil.get_terminal_size().lines - 1
    if len(lines) <= height:
        return lines
    kept = max(1, height - 1)
    return [*lines[:kept], f"... and {len(lines) - kept} more lines".encode()]


def _write(stream: TextIO, content: bytes) -> bool:
    try:
        stream.flush()
        stream.buffer.write(content)
        stream.buffer.flush()
    except BrokenPipeError:
        unread()
        return False
    return True
