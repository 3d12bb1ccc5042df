"""How long an event loop is not free, and what it was doing.

The longest piece of work is CPU time of one callback or one step of a task: what blocks the loop
under any load. How late a timer comes tells the same by the clock; there a machine without a free
processor and a loop that catches up count too, so it means something on an idle machine only. A
second thread looks where the loop is while it is late.
"""

import asyncio
import gc
import sys
import threading
import time
import traceback
from asyncio.events import Handle
from collections import Counter, defaultdict
from collections.abc import Callable
from heapq import nlargest
from pathlib import Path
from types import FrameType
from typing import Any

EVERY_SECONDS = 0.005
#: A loop later than this is looked at.
LATE_SECONDS = 0.025
_SHOWN_FRAMES = 4
_SHOWN_PIECES = 8


class LoopWatch:
    """What happened since it was last asked."""

    def __init__(self) -> None:
        self._due = time.perf_counter() + EVERY_SECONDS
        self._thread = threading.get_ident()
        self._seen = ""
        self._collection_began = 0.0
        self._forget()

    def start(self) -> None:
        """In the loop's thread; for the rest of the process's life."""
        gc.callbacks.append(self._on_collection)
        threading.Thread(target=self._look, daemon=True).start()
        # Every callback and every step of a task goes through here; there is no hook for it.
        setattr(Handle, "_run", self._timed(getattr(Handle, "_run")))  # noqa: B009, B010
        self._wait()

    def told(self) -> dict[str, object]:
        told: dict[str, object] = {
            "late": self._late,
            "where": self._where,
            "work": self._work,
            "worker": self._worker,
            "collecting": self._collecting,
            "pieces": [
                (name, seconds, self._runs[name])
                for name, seconds in nlargest(
                    _SHOWN_PIECES, self._spent.items(), key=lambda piece: piece[1]
                )
            ],
        }
        self._forget()
        return told

    def _forget(self) -> None:
        self._late, self._where = 0.0, ""
        #: The longest piece of work: CPU seconds, and whose.
        self._work, self._worker = 0.0, ""
        self._collecting = 0.0
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._runs: Counter[str] = Counter()

    def _timed(self, run: Callable[[Any], None]) -> Callable[[Any], None]:
        clock = time.thread_time

        def timed(handle: Any) -> None:
            name = _name_of(handle)
            before = clock()
            run(handle)
            took = clock() - before
            self._spent[name] += took
            self._runs[name] += 1
            if took > self._work:
                self._work, self._worker = took, name

        return timed

    def _wait(self) -> None:
        self._due = time.perf_counter() + EVERY_SECONDS
        asyncio.get_running_loop().call_later(EVERY_SECONDS, self._came)

    def _came(self) -> None:
        late = time.perf_counter() - self._due
        if late > self._late:
            self._late, self._where = late, self._seen
        self._seen = ""
        self._wait()

    def _look(self) -> None:
        while True:
            time.sleep(EVERY_SECONDS)
            if time.perf_counter() - self._due > LATE_SECONDS:
                frame = sys._current_frames().get(self._thread)
                self._seen = _frames_of(frame) if frame is not None else ""

    def _on_collection(self, phase: str, _facts: dict[str, int]) -> None:
        """In the thread that ran into it: no other thread runs meanwhile."""
        if phase == "start":
            self._collection_began = time.thread_time()
        else:
            self._collecting = max(self._collecting, time.thread_time() - self._collection_began)


def _name_of(handle: Any) -> str:
    """Of a task, what it runs; else the callback."""
    callback = handle._callback
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return str(getattr(owner.get_coro(), "__qualname__", owner.get_name()))
    return str(getattr(callback, "__qualname__", None) or type(callback).__name__)


def _frames_of(frame: FrameType) -> str:
    ours = [f for f in traceback.extract_stack(frame) if "bigfleet" in f.filename]
    names = [f"{Path(f.filename).stem}.{f.name}:{f.lineno}" for f in ours[-_SHOWN_FRAMES:]]
    return " > ".join(names)
