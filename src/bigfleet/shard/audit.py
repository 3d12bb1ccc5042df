"""The audit file: one JSON line for each action and what became of it, for people and log shippers.

Written by a thread of its own from a bounded queue: a full queue or a full disk loses lines, counts
them and says so once, and never holds up the shard. At its size the file becomes `<file>.1`, the
one before `<file>.2`, and so on.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from bigfleet.edge.sqlite_files import disk_problem

#: Lines that may wait: a few cycles of a busy shard, some tens of megabytes.
CAPACITY = 100_000
#: Lines written between two looks at the queue.
_BATCH = 1000


class AuditFile:
    def __init__(
        self,
        path: Path,
        rotate_bytes: int,
        files: int,
        on_trouble: Callable[[str], None] = lambda text: None,
        capacity: int = CAPACITY,
        in_real_time: Callable[[str], str] | None = None,
    ) -> None:
        """`on_trouble` hears, in the writer's thread, of the first lost line and (empty) of the
        first one written after it. `in_real_time`: what a time of a line is by people's watches;
        None: it is that already.
        """
        self._path = path
        self._rotate_bytes = rotate_bytes
        self._files = files
        self._on_trouble = on_trouble
        self._capacity = capacity
        self._in_real_time = in_real_time
        #: Lines that never reached the file.
        self.lost = 0
        #: Why lines do not reach the file; empty: they do.
        self.trouble = ""
        self._changed = threading.Condition()
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._idle = True
        self._closing = False
        self._handle = -1
        self._size = 0
        self._thread = threading.Thread(target=self._work, name="audit", daemon=True)
        self._thread.start()

    @property
    def degraded(self) -> bool:
        return bool(self.trouble)

    def write(self, line: Mapping[str, Any]) -> None:
        """Never blocks."""
        with self._changed:
            if len(self._waiting) >= self._capacity or self._closing:
                self.lost += 1
                return
            self._waiting.append(line)
            self._changed.notify_all()

    def flush(self, patience_seconds: float = 5.0) -> bool:
        """Blocks until what was written so far was tried; False: not in time."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._idle and not self._waiting, patience_seconds
            )

    def close(self, patience_seconds: float = 5.0) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(patience_seconds)

    # -- the thread ------------------------------------------------------------------------------

    def _work(self) -> None:
        while lines := self._next_lines():
            told = map(self._told, lines)
            content = b"".join(orjson.dumps(line, option=_LINE, default=str) for line in told)
            try:
                self._append(content)
            except OSError as problem:
                self._close_handle()
                self._lose(len(lines))
                why = disk_problem(self._path, problem)
                self._say(f"{self._path}: {why}; lines are lost until that ends")
            else:
                self._say("")
        self._close_handle()

    def _told(self, line: Mapping[str, Any]) -> Mapping[str, Any]:
        turned = self._in_real_time
        return line if turned is None else {**line, "time": turned(line["time"])}

    def _next_lines(self) -> list[Mapping[str, Any]]:
        """At least one; none: it is over."""
        with self._changed:
            self._idle = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._closing)
            self._idle = False
            count = min(len(self._waiting), _BATCH)
            return [self._waiting.popleft() for _ in range(count)]

    def _append(self, content: bytes) -> None:
        if self._handle < 0:
            self._open()
        if self._size and self._size + len(content) > self._rotate_bytes:
            self._rotate()
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(self._handle, left) :]
        except OSError:
            # Half a line would spoil the first one after it.
            os.ftruncate(self._handle, self._size)
            raise
        self._size += len(content)

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._handle = os.open(self._path, flags, 0o600)
        self._size = os.fstat(self._handle).st_size

    def _rotate(self) -> None:
        self._close_handle()
        for number in range(self._files, 1, -1):
            older = self._numbered(number - 1)
            if older.exists():
                older.replace(self._numbered(number))
        if self._files:
            self._path.replace(self._numbered(1))
        else:
            self._path.unlink()
        self._open()

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _close_handle(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _lose(self, lines: int) -> None:
        with self._changed:
            self.lost += lines

    def _say(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self._on_trouble(trouble)


_LINE = orjson.OPT_APPEND_NEWLINE
