"""Where the event loop spends its time, found by looking: a thread notes its stack every few ms.

Nothing of the process is changed for it and the loop goes on meanwhile, so it may be asked of one
that works. What waits is seen too, as a stack that ends in the selector. One at a time: two would
measure each other. The thread gets its turn when the loop lets go of the interpreter, so calls that
do are seen somewhat too often.
"""

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import FrameType

#: Up to 200 looks a second, fewer beside a loop that never rests: it is interrupted only every
#: 5 ms. One took 5 us at 30 calls deep, so the loop keeps 99.9 % of its time.
LOOK_SECONDS = 0.005

Stacks = Mapping[str, int]


class AlreadyProfiling(Exception):
    """Another profile is still being taken."""


class Profiler:
    def __init__(self, stopwatch: Callable[[], float], sleep: Callable[[float], None]) -> None:
        """`stopwatch` in seconds; `sleep` holds up the thread that calls it. Both are called from a
        thread of the profiler's own.
        """
        self._stopwatch = stopwatch
        self._sleep = sleep
        self._busy = False

    async def profile(self, seconds: float) -> Stacks:
        """How often each stack of this thread was seen, outermost call first."""
        if self._busy:
            raise AlreadyProfiling
        outcome: Future[Stacks] = Future()
        # A thread that is not waited for any more may still say what it found.
        outcome.set_running_or_notify_cancel()
        unwanted = threading.Event()
        arguments = (threading.get_ident(), seconds, unwanted, outcome)
        # A daemon: a process that stops does not wait for it.
        thread = threading.Thread(target=self._run, args=arguments, name="profiling", daemon=True)
        self._busy = True
        try:
            thread.start()
            return await asyncio.wrap_future(outcome)
        finally:
            unwanted.set()
            self._busy = False

    def _run(
        self, watched: int, seconds: float, unwanted: threading.Event, outcome: Future[Stacks]
    ) -> None:
        try:
            outcome.set_result(self._seen(watched, seconds, unwanted))
        except Exception as problem:  # noqa: BLE001 - the waiting caller is told
            outcome.set_exception(problem)

    def _seen(self, watched: int, seconds: float, unwanted: threading.Event) -> Stacks:
        stacks: Counter[str] = Counter()
        until = self._stopwatch() + seconds
        while self._stopwatch() < until and not unwanted.is_set():
            stacks[_stack_of(watched)] += 1
            self._sleep(LOOK_SECONDS)
        return stacks


def collapsed(stacks: Stacks) -> str:
    """`outer;inner 42` a line, the most frequent first: what flame graph tools read."""
    ordered = sorted(stacks.items(), key=lambda each: (-each[1], each[0]))
    return "".join(f"{stack} {count}\n" for stack, count in ordered if stack)


def _stack_of(thread: int) -> str:
    """Holds no frame longer than it looks: a frame keeps all its variables alive."""
    names = []
    frame: FrameType | None = sys._current_frames().get(thread)
    while frame is not None:
        names.append(f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return ";".join(reversed(names))
