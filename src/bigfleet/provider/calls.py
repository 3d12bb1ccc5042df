"""An author's Backend as a fixed set of calls: which there are, and each one awaitable.

A plain function runs in a thread. A flag says whether the Backend has an optional method.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider.backend import (
    Admits,
    Backend,
    ConfirmsReady,
    Created,
    Deletes,
    HostStatus,
    Inspects,
    Inventory,
    Operation,
    Prices,
    PriceTable,
    Resets,
    Signal,
    Watches,
)
from bigfleet.provider.ledger.transitions import Kind

#: As many as all lanes together, and some for reads.
THREADS = 256


class BackendCalls:
    """Refuses a Backend that lacks what it must have."""

    def __init__(self, backend: Backend) -> None:
        if problems := _missing(backend):
            raise BadInput(problems)
        self._backend = backend
        self._readiness = backend if isinstance(backend, ConfirmsReady) else None
        self._deleting = backend if isinstance(backend, Deletes) else None
        self._inspecting = backend if isinstance(backend, Inspects) else None
        self._resetting = backend if isinstance(backend, Resets) else None
        self._pricing = backend if isinstance(backend, Prices) else None
        self._watching = backend if isinstance(backend, Watches) else None
        self._admitting = backend if isinstance(backend, Admits) else None
        self.can_confirm_ready = self._readiness is not None
        self.can_delete = self._deleting is not None
        self.can_inspect = self._inspecting is not None
        self.can_reset = self._resetting is not None
        self.can_price = self._pricing is not None
        self.can_watch = self._watching is not None
        self.can_admit = self._admitting is not None
        self._pool = ThreadPoolExecutor(THREADS, "backend")

    async def describe(self) -> Inventory:
        found: Inventory = await called(self._backend.describe, pool=self._pool)
        return found

    async def create(self, op: Operation) -> Created:
        made: Created = await called(self._backend.create, op, pool=self._pool)
        return made

    async def configure(self, op: Operation) -> None:
        await called(self._backend.configure, op, pool=self._pool)

    async def confirm_ready(self, op: Operation) -> None:
        if self._readiness is not None:
            await called(self._readiness.confirm_ready, op, pool=self._pool)

    async def drain(self, op: Operation) -> None:
        await called(self._backend.drain, op, pool=self._pool)

    async def delete(self, op: Operation) -> None:
        assert self._deleting is not None
        await called(self._deleting.delete, op, pool=self._pool)

    async def inspect(self, machine: MachineRecord) -> HostStatus:
        assert self._inspecting is not None
        status: HostStatus = await called(self._inspecting.inspect, machine, pool=self._pool)
        return status

    async def reset(self, machine: MachineRecord) -> None:
        if self._resetting is not None:
            await called(self._resetting.reset, machine, pool=self._pool)

    async def prices(self) -> PriceTable:
        assert self._pricing is not None
        table: PriceTable = await called(self._pricing.prices, pool=self._pool)
        return table

    def watch(self) -> AsyncIterator[Signal]:
        assert self._watching is not None
        return self._watching.watch()

    def admit(self, kind: Kind, machine: MachineRecord) -> None:
        if self._admitting is not None:
            self._admitting.admit(kind, machine)


def _missing(backend: Backend) -> list[Problem]:
    name = type(backend).__name__
    problems = [
        Problem(name, f"the method {method} is missing")
        for method in ("describe", "create", "configure", "drain")
        if getattr(type(backend), method) is getattr(Backend, method)
    ]
    if not isinstance(backend, ConfirmsReady) and not backend.configure_implies_ready:
        text = (
            "a machine is not CONFIGURED before its node is Ready: add confirm_ready, or set "
            "configure_implies_ready = True where a finished configure already proves it"
        )
        problems.append(Problem(name, text))
    return problems


async def called(
    method: Callable[..., Any], *arguments: Any, pool: ThreadPoolExecutor | None = None
) -> Any:
    """The result of an author's method; one that is not `async` runs in a thread."""
    if inspect.iscoroutinefunction(method):
        return await method(*arguments)
    loop = asyncio.get_running_loop()
    result = await loop.run_in_executor(pool, partial(method, *arguments))
    return await result if inspect.isawaitable(result) else result
