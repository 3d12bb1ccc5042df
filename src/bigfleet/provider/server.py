"""ProviderServer: a Backend and a store as a running provider.

It owns the lives of the parts: open, load, describe, resume, serve; and on the way down stop
mutations, let running work end or leave it to the journal, close the store.
"""

import asyncio
import gc
import random
import signal
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bigfleet.edge.clock import Clock
from bigfleet.edge.debug_pages import debug_routes
from bigfleet.edge.driver import RealClock, real_profiler
from bigfleet.edge.garbage_collection import collect_rarely
from bigfleet.edge.pages import Pages, Route
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.syntax import why_not_label_value
from bigfleet.provider.admin_service import admin_handlers
from bigfleet.provider.backend import Backend, KeepsTime, OpenContext
from bigfleet.provider.calls import awaitable, calls_of
from bigfleet.provider.committer import Committer
from bigfleet.provider.config import config_of
from bigfleet.provider.driver import fresh_chance
from bigfleet.provider.extensions import Extensions
from bigfleet.provider.faults import with_fault_selectors
from bigfleet.provider.http_pages import (
    machines_page,
    pages_of,
    refresh_gauges,
    sizes_of,
    why_not_ready,
)
from bigfleet.provider.logs import Log, Silence
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.metrics_pages import bound_pages, routes_behind
from bigfleet.provider.operations.resume import resume
from bigfleet.provider.options import ProviderOptions, tuned_for
from bigfleet.provider.parts import Parts, assembled
from bigfleet.provider.start_refusals import close_opened, refusing
from bigfleet.provider.stores.memory import MemoryStore
from bigfleet.provider.stores.store import Store
from bigfleet.wire.provider_admin import ProviderAdminService
from bigfleet.wire.provider_server import ProviderEndpoint, ProviderHandler

#: How long calls may still run once no new ones are taken.
CALLS_GRACE = 5.0
HEALTH_SECONDS = 1.0


class ProviderServer:
    def __init__(
        self,
        backend: Backend,
        store: Store | None = None,
        options: ProviderOptions | None = None,
        *,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        log: Log | None = None,
        offerings: Path | None = None,
        seed_count: int = 32,
        use_fake_backend: bool = False,
        tune: bool = True,
    ) -> None:
        """`tune`: the Backend's own defaults hold wherever the options still have the contract's;
        False: they are in the options already.
        """
        self.metrics = ProviderMetrics()
        if not hasattr(backend, "cfg"):
            backend.cfg = config_of(backend.config, {})
        given = options or ProviderOptions()
        self.options = tuned_for(backend, given) if tune else given
        if wrong := why_not_label_value(self.options.provider):
            # It is a label of every machine; a shard would refuse them all.
            raise BadInput([Problem("provider", wrong)])
        self.clock = clock or (
            backend.make_clock() if isinstance(backend, KeepsTime) else RealClock()
        )
        self._backend = backend
        self._store = store or MemoryStore()
        self._chance = chance or fresh_chance()
        self._log = log or Silence()
        self._context = OpenContext(
            self.options.provider,
            self.clock,
            offerings,
            seed_count,
            use_fake_backend,
            self.options.fault_selectors,
            extensions=Extensions(),
        )
        self._committer = Committer(
            self._store,
            self.clock,
            self.metrics,
            before_commit=self._before_commit,
            operation_prefix=self.options.operation_prefix,
            journal_rows=self.options.journal_rows,
            log=self._log,
        )
        self._opened = False
        self._parts: Parts | None = None
        self._endpoint: ProviderEndpoint | None = None
        self._pages: Pages | None = None
        self._loops: list[asyncio.Task[None]] = []
        self._stopping = False
        self.port = 0
        self.metrics_port = 0

    @property
    def parts(self) -> Parts:
        assert self._parts is not None, "the server has not been started"
        return self._parts

    async def start(self) -> int:
        """Everything up and answering; the port of the six RPCs."""
        try:
            await self._open()
            await self._listen()
        except BaseException:
            await self.stop(0.0)
            raise
        for loop in self._loop_work():
            task = asyncio.create_task(loop)
            task.add_done_callback(self._loop_ended)
            self._loops.append(task)
        await self._show_health()
        self._log.info("provider.started", port=self.port, metrics_port=self.metrics_port)
        return self.port

    async def _open(self) -> None:
        backend, committer = self._backend, self._committer
        calls = calls_of(backend)
        owed = await committer.load()
        self._context = replace(self._context, incarnation=committer.incarnation)
        async with refusing(backend, "be opened", self._log):
            await awaitable(backend.open)(self._context)
        self._opened = True
        if self.options.fault_selectors:
            calls = with_fault_selectors(calls, self.clock)
        limits = self.options.limits
        self._parts = parts = assembled(
            committer,
            calls,
            backend.limits if limits is None else limits,
            self.clock,
            self._chance,
            self.options,
            self.metrics,
            self._log,
            allow_any_id=backend.allow_any_id,
        )
        self._context.extensions.describe_now = parts.reconciler.want
        self.metrics.before_scrape(lambda: refresh_gauges(self.metrics, committer))
        if not len(committer.published):
            async with refusing(backend, "describe its substrate", self._log):
                await parts.reconciler.first()
        await resume(owed, parts.operations, committer, self.clock, self._log)

    async def _listen(self) -> None:
        extensions, parts = self._context.extensions, self.parts
        handler: ProviderHandler = parts.answers
        if extensions.wrap_handler is not None:
            handler = extensions.wrap_handler(handler)
        admin = ProviderAdminService(admin_handlers(parts, self._store, self.clock))
        self._endpoint = ProviderEndpoint(
            handler,
            address=self.options.address,
            tls=self.options.tls,
            reflection=self.options.reflection,
            extra_services=[admin, *extensions.services],
            observe=self.metrics.observe_call,
            failed=self._failed,
        )
        if self.options.metrics_address:
            pages = pages_of(parts, self.metrics, self._why_not_ready)
            routes = routes_behind(self.options.tls, extensions.routes, self._log)
            self._pages = Pages(pages, {**self._debug_routes(parts), **routes})
            self.metrics_port = await bound_pages(self._pages, self.options, self._log)
        self.port = await self._endpoint.start()

    def _debug_routes(self, parts: Parts) -> Mapping[str, Route]:
        more = {"machines": lambda: machines_page(parts.committer)}
        wanted = self.options.debug_endpoints
        return debug_routes(wanted, lambda: sizes_of(parts), real_profiler(), more)

    def _before_commit(self) -> None:
        if (hook := self._context.extensions.before_commit) is not None:
            hook()

    def _failed(self, method: str, problem: Exception) -> None:
        self.metrics.internal_errors_total.labels(method).inc()
        self._log.error("rpc.internal", method=method, text=repr(problem))

    def _loop_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (problem := task.exception()) is not None:
            self.metrics.internal_errors_total.labels("loop").inc()
            self._log.error("loop.broken", text=repr(problem))

    def _loop_work(self) -> list[Coroutine[Any, Any, None]]:
        parts = self.parts
        return [
            parts.reconciler.run(),
            parts.healer.run(),
            parts.signals.watch(),
            parts.signals.refresh_prices(),
            self._follow_health(),
        ]

    def _why_not_ready(self) -> str | None:
        return why_not_ready(self.parts, stopping=self._stopping)

    async def _follow_health(self) -> None:
        while True:
            await self.clock.sleep(HEALTH_SECONDS)
            await self._show_health()

    async def _show_health(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.set_serving(self._why_not_ready() is None)

    async def serve(self) -> None:
        """Runs until SIGTERM or SIGINT."""
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
        # What the fleet consists of stays: a collector that walks it again and again costs a third
        # of the start, and later stops the loop for long.
        gc.disable()
        try:
            await self.start()
            gc.freeze()
        finally:
            gc.enable()
        collecting = asyncio.create_task(collect_rarely(RealClock()))
        await ended.wait()
        collecting.cancel()
        await self.stop()

    async def stop(self, drain_seconds: float | None = None) -> None:
        """NOT_SERVING, no new mutations, running work gets its time, then everything closes."""
        if self._stopping:
            return
        self._stopping = True
        if drain_seconds is None:
            drain_seconds = self.options.timing.drain_on_stop
        if self._endpoint is not None and self.port:
            await self._endpoint.set_serving(False)
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        if self._parts is not None:
            self._parts.answers.stop_mutations()
            await self._parts.operations.finish(drain_seconds)
        if self._endpoint is not None and self.port:
            await self._endpoint.stop(CALLS_GRACE)
        if self._pages is not None:
            await self._pages.stop()
        await self._committer.close()
        await close_opened(self._backend, self._log, opened=self._opened)
        self._log.info("provider.stopped")
