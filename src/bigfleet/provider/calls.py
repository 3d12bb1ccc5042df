"""An author's Backend as a fixed set of calls: which there are, and each one awaitable.

A plain function runs in a thread. Optional methods that are missing are None here, so that no other
code asks what the Backend can do.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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

Work = Callable[[Operation], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class BackendCalls:
    describe: Callable[[], Awaitable[Inventory]]
    create: Callable[[Operation], Awaitable[Created]]
    configure: Work
    confirm_ready: Work | None
    drain: Work
    delete: Work | None
    inspect: Callable[[MachineRecord], Awaitable[HostStatus]] | None
    reset: Callable[[MachineRecord], Awaitable[None]] | None
    prices: Callable[[], Awaitable[PriceTable]] | None
    watch: Callable[[], AsyncIterator[Signal]] | None
    admit: Callable[[Kind, MachineRecord], None] | None


def calls_of(backend: Backend) -> BackendCalls:
    """Refuses a Backend that lacks what it must have."""
    problems = [
        Problem(type(backend).__name__, f"the method {name} is missing")
        for name in ("describe", "create", "configure", "drain")
        if getattr(type(backend), name) is getattr(Backend, name)
    ]
    if not isinstance(backend, ConfirmsReady) and not backend.configure_implies_ready:
        text = (
            "a machine is not CONFIGURED before its node is Ready: add confirm_ready, or set "
            "configure_implies_ready = True where a finished configure already proves it"
        )
        problems.append(Problem(type(backend).__name__, text))
    if problems:
        raise BadInput(problems)
    pool = ThreadPoolExecutor(THREADS, "backend")

    def call(method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
        return awaitable(method, pool)

    return BackendCalls(
        describe=call(backend.describe),
        create=call(backend.create),
        configure=call(backend.configure),
        confirm_ready=call(backend.confirm_ready) if isinstance(backend, ConfirmsReady) else None,
        drain=call(backend.drain),
        delete=call(backend.delete) if isinstance(backend, Deletes) else None,
        inspect=call(backend.inspect) if isinstance(backend, Inspects) else None,
        reset=call(backend.reset) if isinstance(backend, Resets) else None,
        prices=call(backend.prices) if isinstance(backend, Prices) else None,
        watch=backend.watch if isinstance(backend, Watches) else None,
        admit=backend.admit if isinstance(backend, Admits) else None,
    )


def awaitable(
    method: Callable[..., Any], pool: ThreadPoolExecutor | None = None
) -> Callable[..., Awaitable[Any]]:
    """`method` itself if it is `async`, else a call of it in a thread."""
    if inspect.iscoroutinefunction(method):
        return method

    async def in_thread(*arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(pool, lambda: method(*arguments))
        return await result if inspect.isawaitable(result) else result

    return in_thread
