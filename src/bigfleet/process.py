"""The skeleton of every long-running process: shard, coordinator, operator, podwatch, provider.

A process says what is its own: what it opens, which tasks it runs, what it closes, why it is not
ready. All the rest is here, once: probes, metrics and debug pages, tasks, signals, settings read
again, the order of a stop, and the exit code.

What happens on SIGTERM or Ctrl-C: `serve` has a handler for both and calls `Process.stop`, which

1. takes no new work (`_begin_stop`) and closes its page,
2. ends the tasks: first those the process can live without, then `leading`, then all others, and
   `lease` last,
3. lets running work end within the grace and ends the lines to others (`_finish`),
4. closes the HTTP pages, then files and connections (`_close`).

Then `exit_now` ends the process with 0. It exits with 1 when a task has ended that never should.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

from bigfleet.edge.clock import Clock, LoopLag
from bigfleet.edge.debug_pages import debug_routes
from bigfleet.edge.driver import (
    RealClock,
    draw,
    new_id,
    random_bytes,
    real_profiler,
    replica_name,
    stopwatch,
)
from bigfleet.edge.garbage_collection import collect_rarely
from bigfleet.edge.heap import return_freed_memory
from bigfleet.edge.logs import Log
from bigfleet.edge.pages import HttpAnswer, Page, Pages, Route, probe
from bigfleet.edge.thread_turns import take_quick_turns

if TYPE_CHECKING:
    # A process without gRPC lines does not load gRPC.
    from bigfleet.wire.lines import TlsFiles
    from bigfleet.wire.real_times import WireTimes

#: What tasks may take to end; giving a lease back is a call.
TASKS_MARGIN_SECONDS = 5.0
#: Of the tasks a process cannot live without: the one that ends first, and the one that ends last.
_FIRST, _LAST = "leading", "lease"


class CoreTaskDied(RuntimeError):
    """A task has ended that never should; the text names it, or says what it said."""


class ServedPage(Protocol):
    """The page of a process, for browsers."""

    @property
    def port(self) -> int: ...
    async def start(self) -> int:
        """Its port; OSError where its address is taken."""

    async def stop(self) -> None: ...


#: Makes the page of a process that serves.
MakePage = Callable[["Process"], ServedPage]


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """What the starter of a process gives it; the defaults are those of a real one."""

    clock: Clock
    log: Log
    #: Seconds, for measuring only.
    stopwatch: Callable[[], float] = stopwatch
    new_id: Callable[[], str] = new_id
    #: From 0 up to 1, for jitter.
    draw: Callable[[], float] = draw
    #: For secrets.
    random_bytes: Callable[[int], bytes] = random_bytes
    #: Tells replicas apart.
    identity: str = ""
    tls: "TlsFiles | None" = None
    version: str = ""
    #: None: it lives by the real clock, as every process does but a simulated one.
    times: "WireTimes | None" = None
    #: None: it serves no page.
    make_page: "MakePage | None" = None

    def certificate_ends(self) -> float | None:
        """In seconds since 1970; None: there is no certificate, or it cannot be read just now."""
        from bigfleet.edge.certificates import expires_at

        try:
            return expires_at(self.tls.cert.read_bytes()) if self.tls else None
        except OSError:
            return None


def real_context(
    log: Log, tls: "TlsFiles | None", version: str, make_page: "MakePage | None" = None
) -> ProcessContext:
    return ProcessContext(
        RealClock(),
        log,
        identity=replica_name(),
        tls=tls,
        version=version,
        make_page=make_page,
    )


class Metrics(Protocol):
    def page(self) -> HttpAnswer: ...


class Process:
    #: How its log lines begin: `shard.started`.
    component: ClassVar[str]
    #: Problems of tasks whose texts say what happened and what to do.
    self_explaining: ClassVar[tuple[type[Exception], ...]] = ()
    #: A process whose event loop is further behind is not alive; None: nothing is measured.
    longest_lag_seconds: ClassVar[float | None] = 10.0
    #: What exists when it has started stays: the collector never walks it.
    keeps_what_it_starts_with: ClassVar[bool] = False

    metrics: Metrics

    def __init__(self, context: ProcessContext) -> None:
        self.context = context
        self.lag = LoopLag(context.clock, context.stopwatch, self._on_lag)
        #: The process goes on without them.
        self.side_tasks: dict[str, asyncio.Task[None]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._pages: Pages | None = None
        self._web: ServedPage | None = None
        self._was_refused = False
        self._stopped = asyncio.Event()

    # -- what a process says of itself -----------------------------------------------------------

    @property
    def port(self) -> int:
        """Of its gRPC services; 0: it has none."""
        return 0

    @property
    def name(self) -> str:
        """Which of its kind it is; empty: it has no name."""
        return ""

    @property
    def address(self) -> str:
        """Where its gRPC services are reached; empty: it has none."""
        return ""

    @property
    def shutdown_grace(self) -> float:
        """Seconds that running work gets at a stop."""
        return 0.0

    @property
    def tasks_margin(self) -> float:
        return TASKS_MARGIN_SECONDS

    def why_not_alive(self) -> str:
        """Empty: it lives."""
        longest, late = self.longest_lag_seconds, self.lag.seconds
        behind = longest is not None and late >= longest
        return f"the event loop is {late:.1f} s behind" if behind else ""

    def why_not_ready(self) -> str:
        """Empty: ready. Other processes are left out: a restart of this one would not help."""
        raise NotImplementedError

    def sizes(self) -> Mapping[str, Any]:
        """Of everything that could grow, by name."""
        raise NotImplementedError

    def _facts(self) -> Mapping[str, Any]:
        """What its first and its last log line say to tell it from others of its kind."""
        return {}

    def _started_facts(self) -> Mapping[str, Any]:
        return {}

    def apply_settings(self, settings: Any) -> None:
        """Its settings, read again; by default none of them can change while it runs."""

    async def _open(self) -> None:
        """Serves when this returns. OSError where an address is taken; StartRefused."""
        raise NotImplementedError

    def _work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """The process exits if one of these tasks ends."""
        return {}

    def _side_work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        return {}

    def _on_side_task_died(self, name: str, problem: BaseException) -> None:
        self.context.log.error(f"{self.component}.task", msg=f"{name} has ended: {problem!r}")

    def _on_lag(self, seconds: float) -> None:
        """Ten times a second."""

    async def _begin_stop(self) -> None:
        """Takes no new work from here on."""

    async def _finish(self, grace_seconds: float) -> None:
        """Lets running work end, then ends the lines to others."""

    async def _close(self) -> None:
        """Files and connections."""

    # -- what all have in common -----------------------------------------------------------------

    @property
    def web_port(self) -> int:
        """Of its page; 0: it serves none."""
        return self._web.port if self._web is not None else 0

    @property
    def metrics_port(self) -> int:
        return self._pages.port if self._pages is not None else 0

    async def start(self) -> int:
        """Up; its port. OSError where an address is taken; StartRefused. Closed if it fails."""
        try:
            await self._open()
            if self.context.make_page is not None:
                self._web = self.context.make_page(self)
                await self._web.start()
        except BaseException as problem:
            self._was_refused = isinstance(problem, Exception)
            await self.stop(0.0)
            raise
        work = dict(self._work())
        if self.longest_lag_seconds is not None:
            work["lag"] = self.lag.run()
        self._tasks = {name: asyncio.create_task(each, name=name) for name, each in work.items()}
        for name, each in self._side_work().items():
            self.side_tasks[name] = task = asyncio.create_task(each, name=name)
            task.add_done_callback(self._on_side_task_done)
        facts = {**self._facts(), **self._started_facts()}
        if self._web is not None:
            facts["web_port"] = self._web.port
        self.context.log.info(f"{self.component}.started", **facts, metrics_port=self.metrics_port)
        return self.port

    async def until_dead(self) -> None:
        """Returns at a stop; raises CoreTaskDied when a task ends that never should."""
        stopping = asyncio.ensure_future(self._stopped.wait())
        try:
            done, _ = await asyncio.wait(
                {stopping, *self._tasks.values()}, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            stopping.cancel()
        for task in () if self._stopped.is_set() else done - {stopping}:
            problem = None if task.cancelled() else task.exception()
            said = str(problem) if isinstance(problem, self.self_explaining) else ""
            text = said or f"the task {task.get_name()!r} has ended: {problem!r}"
            raise CoreTaskDied(text) from problem

    async def stop(self, grace_seconds: float | None = None) -> None:
        """Returns within the grace and a few seconds; a second call is harmless."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        await self._begin_stop()
        if self._web is not None:
            await self._web.stop()
        await self._ended(self.side_tasks.values())
        ends_between = [task for name, task in self._tasks.items() if name not in (_FIRST, _LAST)]
        await self._ended(self._named(_FIRST))
        await self._ended(ends_between)
        await self._ended(self._named(_LAST))
        await self._finish(self.shutdown_grace if grace_seconds is None else grace_seconds)
        if self._pages is not None:
            await self._pages.stop()
        await self._close()
        if not self._was_refused:
            text = "stopped in order"
            self.context.log.info(f"{self.component}.stopped", msg=text, **self._facts())

    async def _serve_pages(
        self,
        address: str,
        *,
        debug: bool,
        more_debug: Mapping[str, Page] | None = None,
        routes: Mapping[str, Route] | None = None,
    ) -> None:
        """Probes, metrics and debug pages; OSError where the address is taken."""
        if address in ("", "0"):
            return
        pages = {"/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self.metrics.page}
        insides = debug_routes(debug, self.sizes, real_profiler(), more_debug)
        self._pages = Pages(pages, {**insides, **(routes or {})})
        await self._pages.start(address)

    def _healthz(self) -> HttpAnswer:
        why = self.why_not_alive()
        return probe(not why, why or "alive")

    def _readyz(self) -> HttpAnswer:
        why = self.why_not_ready()
        return probe(not why, why or "ready")

    def _named(self, name: str) -> list[asyncio.Task[None]]:
        return [self._tasks[name]] if name in self._tasks else []

    async def _ended(self, tasks: Collection[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=self.tasks_margin)
        for task in late:
            # What it works with is closed under it.
            text = f"{task.get_name()} did not end within {self.tasks_margin:g} s"
            self.context.log.warning(f"{self.component}.task_is_late", msg=text)
            task.add_done_callback(self._on_late_task_done)

    def _on_late_task_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (problem := task.exception()) is not None:
            text = f"{task.get_name()} ended after the stop: {problem!r}"
            self.context.log.warning(f"{self.component}.task_was_late", msg=text)

    def _on_side_task_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._on_side_task_died(task.get_name(), problem)

    def _on_internal_error(self, method: str, problem: Exception) -> None:
        self.context.log.error("rpc.internal", msg=f"{method}: {problem!r}", method=method)


async def serve(process: Process, reload: Callable[[], None] | None = None) -> int:
    """Until SIGTERM, SIGINT, or the death of a task; the exit code. Raises what `start` raises.

    `reload` reads the settings again, at SIGHUP.
    """
    take_quick_turns()
    clock = RealClock()
    # Before the start says that it is up: a caller that waits for it may ask for the end at once.
    stopping = asyncio.ensure_future(asked_to_stop().wait())
    if reload is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    code = 0
    if process.keeps_what_it_starts_with:
        gc.disable()
    try:
        is_up = await started_before(stopping, process.start())
    finally:
        gc.enable()
    if is_up and process.keeps_what_it_starts_with:
        gc.freeze()
    beside = [asyncio.create_task(each(clock)) for each in (collect_rarely, return_freed_memory)]
    if is_up:
        living = asyncio.ensure_future(process.until_dead())
        await asyncio.wait({stopping, living}, return_when=asyncio.FIRST_COMPLETED)
        if living.done() and (problem := living.exception()) is not None:
            process.context.log.error(f"{process.component}.died", msg=str(problem))
            code = 1
    for task in beside:
        task.cancel()
    await process.stop()
    return code


def asked_to_stop() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    asked = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    return asked


async def started_before(
    stopping: "asyncio.Future[Any]", starting: Coroutine[Any, Any, object]
) -> bool:
    """False: a stop was asked for meanwhile, and the start was cancelled. Raises what it raises."""
    task = asyncio.ensure_future(starting)
    await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    if task.cancelled():
        return False
    task.result()
    return True


def exit_now(code: int) -> NoReturn:
    """Everything is durable and closed. To return would be to wait for every thread, and one may
    hang on a disk or in a Backend."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
