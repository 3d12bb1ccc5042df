"""FaultyBackend: an author's Backend whose calls go wrong by plan, to see what becomes of it.

The most telling fault is LOST: it was done and the answer is lost. A Backend that cannot find
its own object by the operation id or a tag then makes a second one.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any

from bigfleet.provider.backend import Backend, Created, Inventory, Operation, Retryable
from bigfleet.provider.calls import awaitable

#: What a Backend may have beside the required methods; it has here what it has there.
_OPTIONAL = ("confirm_ready", "delete", "inspect", "reset")
_AS_IT_IS = ("watch", "prices", "admit", "make_clock", "tuned")


class Fault(StrEnum):
    #: Fails before anything is done.
    REFUSED = "refused"
    #: Done, but the answer is lost.
    LOST = "lost"
    #: Does not come back until it is cancelled.
    HANGS = "hangs"


#: (method, how often it was called before) -> what goes wrong; None: nothing.
Plan = Callable[[str, int], Fault | None]


def every(number: int, fault: Fault, *methods: str) -> Plan:
    """Every `number`-th call of these methods, of any where none is named."""

    def plan(method: str, before: int) -> Fault | None:
        return fault if (not methods or method in methods) and before % number == 0 else None

    return plan


class FaultyBackend(Backend):
    def __init__(self, inner: Backend, plan: Plan) -> None:
        self._inner = inner
        self._plan = plan
        self._calls: Counter[str] = Counter()
        #: How often each fault happened.
        self.faults: Counter[Fault] = Counter()
        self.config = type(inner).config  # type: ignore[misc]
        self.limits = inner.limits
        for flag in ("configure_implies_ready", "allow_any_id", "fake"):
            setattr(self, flag, getattr(inner, flag))
        if hasattr(inner, "cfg"):
            self.cfg = inner.cfg
        for name in _OPTIONAL:
            if getattr(inner, name, None) is not None:
                setattr(self, name, self._faulty(name))
        for name in _AS_IT_IS:
            if getattr(inner, name, None) is not None:
                setattr(self, name, getattr(inner, name))

    async def open(self, ctx: Any) -> None:
        self._inner.cfg = self.cfg
        await awaitable(self._inner.open)(ctx)

    async def close(self) -> None:
        await awaitable(self._inner.close)()

    async def describe(self) -> Inventory:
        found: Inventory = await self._faulty("describe")()
        return found

    async def create(self, op: Operation) -> Created:
        made: Created = await self._faulty("create")(op)
        return made

    async def configure(self, op: Operation) -> None:
        await self._faulty("configure")(op)

    async def drain(self, op: Operation) -> None:
        await self._faulty("drain")(op)

    def _faulty(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def called(*arguments: Any) -> Any:
            fault = self._plan(name, self._calls[name])
            self._calls[name] += 1
            if fault is not None:
                self.faults[fault] += 1
            if fault is Fault.REFUSED:
                raise Retryable(f"{name} was refused on purpose")
            if fault is Fault.HANGS:
                await asyncio.get_running_loop().create_future()
            result = await awaitable(getattr(self._inner, name))(*arguments)
            if fault is Fault.LOST:
                raise Retryable(f"the answer of {name} was lost on purpose")
            return result

        return called
