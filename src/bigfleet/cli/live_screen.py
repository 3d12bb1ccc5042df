"""A page that is drawn again and again in the same place of a terminal.

Each drawing begins where the last one began and clears everything below itself, so that nothing of
an older page stays. What others say meanwhile on standard error appears above the page. A terminal
that has changed its size has folded its rows anew: then the whole screen is cleared first.
"""

import io
import sys
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr

from rich.console import Console, RenderableType

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_CLEAR_SCREEN, _CLEAR_BELOW, _CLEAR_ROW = "\x1b[H\x1b[2J", "\x1b[J", "\x1b[2K"


class LiveScreen:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._size = console.size
        #: Rows of the page that is on the terminal.
        self._drawn: list[str] = []
        self._open = ExitStack()

    def open(self, banner: str) -> None:
        self._banner = banner
        self._console.print(banner, highlight=False, markup=False)
        self._open.enter_context(redirect_stderr(_StderrAbovePage(self)))
        self._write(_HIDE)

    def draw(self, page: RenderableType) -> None:
        """Never higher than the terminal: what has scrolled away could not be drawn again."""
        rows = self._rendered(page)[: self._console.height - 1]
        if self._console.size != self._size:
            self._size = self._console.size
            self._write(_CLEAR_SCREEN)
            self._drawn = []
            room = self._console.height - 1 - len(rows)
            head = self._rendered(self._banner)
            self._write("".join(f"{row}\n" for row in head[:room] if len(head) <= room))
        self._write(f"{self._back()}{_lines(rows)}{_CLEAR_BELOW}")
        self._drawn = rows

    def print_above(self, text: str) -> None:
        said = self._rendered(text)
        self._write(f"{self._back()}{_lines(said)}{_CLEAR_BELOW}{_lines(self._drawn)}")

    def close(self) -> None:
        """The last page stays."""
        self._open.close()
        self._write(_SHOW)

    def _back(self) -> str:
        """To the beginning of the page."""
        return f"\r\x1b[{len(self._drawn)}A" if self._drawn else "\r"

    def _rendered(self, shown: RenderableType) -> list[str]:
        with self._console.capture() as captured:
            self._console.print(shown, highlight=False, markup=False)
        return captured.get().splitlines()

    def _write(self, text: str) -> None:
        self._console.file.write(text)
        self._console.file.flush()


class _StderrAbovePage(io.TextIOBase):
    """Standard error while a page is drawn; whole lines only."""

    def __init__(self, screen: LiveScreen) -> None:
        self._screen = screen
        self._begun = ""

    def write(self, text: str) -> int:
        *whole, self._begun = (self._begun + text).split("\n")
        if whole:
            self._screen.print_above("\n".join(whole))
        return len(text)

    def isatty(self) -> bool:
        return sys.__stderr__ is not None and sys.__stderr__.isatty()


def _lines(rows: Sequence[str]) -> str:
    return "".join(f"{_CLEAR_ROW}{row}\n" for row in rows)
