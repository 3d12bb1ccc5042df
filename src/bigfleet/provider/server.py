"""ProviderServer: a Backend and a store as a running provider.

It owns the lives of the parts: open, load, describe, resume, serve; and on the way down stop
mutations, let running work end or leave it to the journal, close the store.
"""

import errno
import random
import traceback
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from bigfleet import __version__
from bigfleet.edge.clock import Clock
from bigfleet.edge.driver import RealClock
from bigfleet.edge.logs import Log, NullLog
from bigfleet.edge.pages import HttpAnswer, Route
from bigfleet.model.errors import BadInput, Problem, StartRefused
from bigfleet.model.syntax import why_not_label_value
from bigfleet.process import Process, ProcessContext, serve
from bigfleet.provider.admin_service import admin_handlers
from bigfleet.provider.backend import (
    Backend,
    BackendError,
    Extends,
    KeepsTime,
    OpenContext,
    ServerExtension,
)
from bigfleet.provider.calls import BackendCalls, called
from bigfleet.provider.committer import Committer
from bigfleet.provider.config import config_of
from bigfleet.provider.driver import fresh_chance
from bigfleet.provider.faults import FaultSelectors
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.operations.attempts import DeadlinePassed
from bigfleet.provider.operations.operations import resume
from bigfleet.provider.options import ProviderOptions, tuned_for
from bigfleet.provider.parts import Parts, assembled
from bigfleet.provider.stores.memory import MemoryStore
from bigfleet.provider.stores.store import Store, StoreFailed
from bigfleet.wire.provider_admin import ProviderAdminService
from bigfleet.wire.provider_server import ProviderEndpoint

_HINT = "check its settings and credentials; `bigfleet provider doctor` looks closer"
#: On the debug page of machines; `bigfleet provider machines` lists all of them.
MOST_MACHINES = 10_000
#: How long calls may still run once no new ones are taken.
CALLS_GRACE = 5.0
HEALTH_SECONDS = 1.0


class ProviderServer(Process):
    component = "provider"
    metrics: ProviderMetrics
    # A Backend may bring a clock of simulated time, and no timer may come ten times a second there.
    longest_lag_seconds = None
    # The fleet: a collector that walks it again and again costs a third of the start, and later
    # stops the loop for long.
    keeps_what_it_starts_with = True

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
        super().__init__(
            ProcessContext(self.clock, log or NullLog(), tls=self.options.tls, version=__version__)
        )
        self.metrics = ProviderMetrics(__version__, self.context.certificate_ends)
        self._backend = backend
        self._store = store or MemoryStore()
        self._chance = chance or fresh_chance()
        self._log = self.context.log
        self._open_context = OpenContext(
            self.options.provider,
            self.clock,
            offerings,
            seed_count,
            use_fake_backend,
            self.options.fault_selectors,
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
        #: What the Backend adds; nothing before it was opened.
        self._extension = ServerExtension()
        self._parts: Parts | None = None
        self._endpoint: ProviderEndpoint | None = None

    @property
    def port(self) -> int:
        return self._endpoint.port if self._endpoint is not None else 0

    @property
    def shutdown_grace(self) -> float:
        return self.options.timing.drain_on_stop

    @property
    def parts(self) -> Parts:
        assert self._parts is not None, "the server has not been started"
        return self._parts

    async def serve(self) -> None:
        """Runs until SIGTERM or SIGINT."""
        await serve(self)

    def why_not_ready(self) -> str:
        committer = self.parts.committer
        if self._stopped.is_set():
            return "stopping"
        if not committer.writable:
            return f"the state cannot be written: {committer.trouble}"
        if not self.parts.reconciler.healthy:
            return "the substrate cannot be described"
        return ""

    def sizes(self) -> Mapping[str, int]:
        committer = self.parts.committer
        return {
            "machines": len(committer.published),
            "operations": len(self.parts.operations),
            "revision": committer.published.head,
        }

    # -- its part of a start and of a stop -------------------------------------------------------

    async def _open(self) -> None:
        try:
            await self._open_backend()
        except StoreFailed as failed:
            raise StartRefused(str(failed)) from failed
        await self._listen()
        await self._show_health()

    async def _open_backend(self) -> None:
        backend, committer = self._backend, self._committer
        calls = BackendCalls(backend)
        owed = await committer.load()
        self._open_context = replace(self._open_context, incarnation=committer.incarnation)
        async with refusing(backend, "be opened", self._log):
            await called(backend.open, self._open_context)
        self._opened = True
        if isinstance(backend, Extends):
            self._extension = backend.extension()
        if self.options.fault_selectors or self._extension.fault_selectors:
            calls = FaultSelectors(backend, self.clock)
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
        if not len(committer.published):
            async with refusing(backend, "describe its substrate", self._log):
                await parts.reconciler.first()
        await resume(owed, parts.operations, committer, self.clock, self._log)

    async def _listen(self) -> None:
        parts = self.parts
        handler = self._extension.wrapped(parts.answers)
        admin = ProviderAdminService(admin_handlers(parts, self._store, self.clock))
        self._endpoint = ProviderEndpoint(
            handler,
            address=self.options.address,
            tls=self.options.tls,
            reflection=self.options.reflection,
            extra_services=[admin, *self._extension.services()],
            observe=self.metrics.observe_call,
            failed=self._on_internal_error,
        )
        wanted = self.options.metrics_address
        try:
            await self._serve_pages_on(wanted)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE or not self.options.metrics_may_move:
                raise
            # It was only a default: any free port will do.
            await self._serve_pages_on(f"{wanted.rpartition(':')[0]}:0")
            text = (
                f"{wanted} is in use; give --metrics-addr to choose one, or leave it empty for none"
            )
            self._log.warning("metrics.moved", wanted=wanted, port=self.metrics_port, text=text)
        await self._endpoint.start()

    async def _serve_pages_on(self, address: str) -> None:
        await self._serve_pages(
            address,
            debug=self.options.debug_endpoints,
            more_debug={"machines": lambda: machines_page(self.parts.committer)},
            routes=self._routes(),
        )

    def _routes(self) -> Mapping[str, Route]:
        """With mTLS every caller has a name, and these pages ask for none: they stay closed."""
        routes = self._extension.routes()
        if self.options.tls is None or not routes:
            return routes
        text = "HTTP checks no names; with TLS use the same verbs over gRPC on the provider's port"
        self._log.warning("routes.closed", routes=sorted(routes), text=text)
        return {}

    def _before_commit(self) -> None:
        self._extension.before_commit()

    def _on_internal_error(self, method: str, problem: Exception) -> None:
        self.metrics.counts.add("internal_errors_total", method=method)
        self._log.error("rpc.internal", method=method, text=repr(problem))

    def _on_side_task_died(self, name: str, problem: BaseException) -> None:
        self.metrics.counts.add("internal_errors_total", method="loop")
        self._log.error("loop.broken", task=name, text=repr(problem))

    def _side_work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        parts = self.parts
        return {
            "reconciling": parts.reconciler.run(),
            "healing": parts.healer.run(),
            "signals": parts.signals.watch(),
            "prices": parts.signals.refresh_prices(),
            "health": self._follow_health(),
        }

    def _started_facts(self) -> Mapping[str, Any]:
        return {"port": self.port}

    async def _follow_health(self) -> None:
        while True:
            await self.clock.sleep(HEALTH_SECONDS)
            await self._show_health()

    async def _show_health(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.set_serving(not self.why_not_ready())

    async def _begin_stop(self) -> None:
        if self._endpoint is not None and self.port:
            await self._endpoint.set_serving(False)

    async def _finish(self, grace_seconds: float) -> None:
        if self._parts is not None:
            self._parts.answers.stop_mutations()
            await self._parts.operations.finish(grace_seconds)
        if self._endpoint is not None and self.port:
            await self._endpoint.stop(CALLS_GRACE)

    async def _close(self) -> None:
        await self._committer.close()
        await close_opened(self._backend, self._log, opened=self._opened)


@asynccontextmanager
async def refusing(backend: Backend, verb: str, log: Log) -> AsyncIterator[None]:
    """What the Backend raises within becomes StartRefused; BadInput already is a refusal.

    What it raises on purpose, and what a wrong setting makes Python raise, is said as it is.
    Anything else is a fault in the Backend: it refuses the start too, and its traceback is logged.
    """
    name = type(backend).__name__
    try:
        yield
    except (BadInput, StoreFailed):
        raise
    except DeadlinePassed:
        raise StartRefused(f"{name} could not {verb}: it took too long; {_HINT}") from None
    except (BackendError, ValueError, OSError) as said:
        text = str(said) or type(said).__name__
        raise StartRefused(f"{name} could not {verb}: {text}; {_HINT}") from said
    except Exception as fault:
        log.error("backend.broken", text=repr(fault), traceback=traceback.format_exc())
        text = f"{type(fault).__name__}: {fault}"
        raise StartRefused(f"{name} could not {verb}: {text} (a fault in the Backend)") from fault


async def close_opened(backend: Backend, log: Log, *, opened: bool) -> None:
    """The last call; after a failed `open` its own failure must not hide the first one."""
    try:
        await called(backend.close)
    except Exception as error:
        if opened:
            raise
        log.warning("backend.close", text=repr(error))


def machines_page(committer: Committer) -> HttpAnswer:
    """The first machines by id; `leftOff` says how many there are beside them."""
    entries = committer.published.entries()

    def build() -> bytes:
        shown = sorted(entries, key=lambda entry: entry.id)[:MOST_MACHINES]
        items = [
            {
                "id": entry.id,
                "state": entry.state.label,
                "revision": entry.revision,
                "operations": entry.standing.operations,
                "lastError": entry.record.last_error,
            }
            for entry in shown
        ]
        return orjson.dumps({"items": items, "leftOff": len(entries) - len(shown)})

    return HttpAnswer(b"", build=build)
