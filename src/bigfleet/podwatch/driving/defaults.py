"""The file of penalties by PriorityClass: read at start, and again whenever it changes."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.model.errors import BadInput, Problem
from bigfleet.podwatch.penalties import Defaults, defaults_of

#: A mounted ConfigMap is replaced within a minute; this adds little to it.
LOOK_SECONDS = 5.0


class DefaultsFile:
    def __init__(self, path: str, clock: Clock, log: Log) -> None:
        self._path = path
        self._clock = clock
        self._log = log
        self._text: str | None = None
        #: What the last good content said.
        self.current: Defaults = {}

    def read(self) -> None:
        """Raises BadInput."""
        if self._path:
            self._take(_text_of(self._path))

    async def run(self, changed: Callable[[], None]) -> None:
        """Forever; a bad file is told and the last good one stays."""
        while self._path:
            await self._clock.sleep(LOOK_SECONDS)
            try:
                text = await asyncio.to_thread(_text_of, self._path)
                if text == self._text:
                    continue
                self._take(text)
            except BadInput as problem:
                for each in problem.problems:
                    said = f"{each}; what the file said before stays in force"
                    self._log.error("defaults.refused", msg=said, subject=str(each))
                continue
            self._log.info("defaults.read", msg=f"{self._path}: read again after a change")
            changed()
        await asyncio.Event().wait()

    def _take(self, text: str) -> None:
        # A text is complained about once, so it counts as seen even when it is bad.
        self._text = text
        self.current = defaults_of(text, self._path)


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as problem:
        said = getattr(problem, "strerror", None) or str(problem)
        raise BadInput([Problem(path, f"cannot be read: {said}")]) from None
