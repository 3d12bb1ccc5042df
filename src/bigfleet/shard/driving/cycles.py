"""A shard's own timers: decision cycles, the tick of every second, and compiling at the start.

Cycles run on a wake or at the interval, one at a time, the engine in its own thread.

A cycle that takes too long decides nothing: its late result is thrown away, and no other begins
before it has ended. Seconds in which the process compiled are not the engine's: they do not count.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from bigfleet import compiling
from bigfleet.compiling import seconds_spent
from bigfleet.edge.clock import next_turn
from bigfleet.edge.logs import Log
from bigfleet.engine.acquisition import RunWorkers
from bigfleet.journal.recorder import FailedCycle
from bigfleet.journal.writer import JournalWriter
from bigfleet.model.machines import Instant
from bigfleet.shard.cycle import CycleInput, Deliberation, deliberate
from bigfleet.shard.driving.event_feed import EventFeed
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.state import ShardState
from bigfleet.shard.statement_keeper import StatementKeeper


class StandsStill(Protocol):
    """Work beside cycles that gives a cycle the machine."""

    def hold(self) -> None: ...

    def go_on(self) -> None: ...


class Cycles:
    def __init__(
        self,
        state: ShardState,
        outlet: Outlet,
        run_workers: RunWorkers,
        stopwatch: Callable[[], float],
        compiled_for: Callable[[], float] = seconds_spent,
        journal: JournalWriter | None = None,
        feed: EventFeed | None = None,
        beside: Sequence[StandsStill] = (),
        statements: StatementKeeper | None = None,
    ) -> None:
        self._state = state
        self._beside = beside
        self._journal = journal
        self._statements = statements
        self._feed = feed
        self._outlet = outlet
        self._run_workers = run_workers
        self._stopwatch = stopwatch
        #: Seconds this process has compiled, so far.
        self._compiled_for = compiled_for
        self._engine = ThreadPoolExecutor(1, "engine")
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        while True:
            began = self._stopwatch()
            await self.once()
            settings = self._state.settings
            # From begin to begin: a long cycle has already waited.
            gap = settings.cycle_min_gap - (self._stopwatch() - began)
            await self._outlet.clock.sleep(max(0.0, gap))
            await self._wake_or(settings.cycle_interval - (self._stopwatch() - began))

    async def once(self) -> None:
        """One cycle; its failure is an event like its end."""
        for each in self._beside:
            each.hold()
        try:
            await self._once()
        finally:
            for each in self._beside:
                each.go_on()

    async def _once(self) -> None:
        state, outlet = self._state, self._outlet
        self._woken.clear()
        began = self._stopwatch()
        if not state.may_decide(outlet.now()):
            outlet.obey(state.taken())
            return
        given = state.begin_cycle(outlet.now())
        loop = asyncio.get_running_loop()
        running: asyncio.Future[Deliberation] = loop.run_in_executor(
            self._engine, deliberate, given, self._run_workers, self._stopwatch
        )
        await self._ended_or_late(running)
        if not running.done():
            self._fail(given, f"the engine took longer than {state.settings.engine_timeout:g} s")
            await asyncio.wait({running})
            return
        problem = running.exception()
        if problem is not None:
            self._fail(given, repr(problem))
            return
        thought, decided = running.result(), self._stopwatch()
        outlet.obey(state.end_cycle(thought, outlet.now(), decided - began))
        if state.decision_loop.finished is not None:
            for reader in (self._journal, self._statements):
                if reader is not None:
                    reader.offer(state.decision_loop.finished)
        state.phase_took("execute", self._stopwatch() - decided)
        if self._feed is not None:
            self._feed.cycle_ended()

    def _fail(self, given: CycleInput, why: str) -> None:
        self._outlet.obey(self._state.fail_cycle(given, why, self._outlet.now()))
        if self._journal is not None:
            self._journal.keep_failure(FailedCycle(given, why))

    def close(self) -> None:
        self._engine.shutdown(wait=False, cancel_futures=True)

    async def _ended_or_late(self, running: "asyncio.Future[Deliberation]") -> None:
        """Waits as long as the engine may take, and as long again as was compiled meanwhile."""
        wait: float = self._state.settings.engine_timeout
        counted = self._compiled_for()
        while wait > 0 and not running.done():
            await asyncio.wait({running}, timeout=wait)
            compiled = self._compiled_for()
            wait, counted = compiled - counted, compiled

    async def _wake_or(self, seconds: float) -> None:
        if seconds <= 0 or self._woken.is_set():
            return
        waiting = asyncio.ensure_future(self._woken.wait())
        timer = self._outlet.clock.call_later(seconds, self._woken.set)
        try:
            await waiting
        finally:
            timer.cancel()


TICK_SECONDS = 1.0
SETTLE_SECONDS = 0.2


async def every_second(state: ShardState, outlet: Outlet, pause_file: Path) -> None:
    """Deadlines, rests and expiries; and whether there is a pause file."""
    while True:
        await outlet.clock.sleep(TICK_SECONDS)
        text, written = await asyncio.to_thread(read_pause_file, pause_file)
        outlet.obey(state.pause_file_read(text, written, outlet.now()))
        outlet.obey(state.tick(outlet.now()))


async def settle_ownership(state: ShardState, outlet: Outlet) -> None:
    """Machines that became another shard's leave a few at a time, soon after the view came."""
    while True:
        await outlet.clock.sleep(SETTLE_SECONDS)
        while state.continue_sweep():
            outlet.obey(state.taken())
            await next_turn()
        outlet.obey(state.taken())


def read_pause_file(path: Path) -> tuple[str | None, Instant | None]:
    """Its text and when it was written; None: there is none. One that cannot be read pauses."""
    try:
        return path.read_text(), path.stat().st_mtime_ns
    except FileNotFoundError:
        return None, None
    except (OSError, UnicodeDecodeError) as problem:
        return f"unreadable: {problem}", None


#: Less is a cache being read: not worth a line.
_WORTH_A_LINE_SECONDS = 2.0


class _Stopped(Exception):
    """Ends the thread that compiles, between two kernels."""


class KernelWarmup:
    """Compiles once, in a thread of its own; `why_not_ready` is empty when all are compiled.

    Compiled on first use they would stop a cycle for seconds, and some of them the event loop.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._is_done = False
        self._is_stopped = False
        #: Written by the thread that compiles.
        self._progress = compiling.Progress(0, len(compiling.all_kernels()), "", 0.0)

    async def run(self) -> None:
        """Cancelled, it ends at once; its thread ends with the kernel under way."""
        try:
            ended = await asyncio.to_thread(compiling.compile_kernels, self._told)
        except asyncio.CancelledError:
            self._is_stopped = True
            raise
        self._is_done = True
        if ended.seconds >= _WORTH_A_LINE_SECONDS:
            text = f"compiled {ended.total} kernels in {ended.seconds:.1f} s"
            self._log.info("kernels.compiled", msg=text, seconds=round(ended.seconds, 1))
        if why := compiling.why_not_kept():
            self._log.warning("kernels.not_kept", msg=why)

    @property
    def is_done(self) -> bool:
        return self._is_done

    def why_not_ready(self) -> str:
        if self._is_done:
            return ""
        done, total, _, seconds = self._progress
        return f"compiling kernels: {done} of {total} after {seconds:.0f} s"

    def _told(self, progress: compiling.Progress) -> None:
        self._progress = progress
        if self._is_stopped:
            raise _Stopped
