"""One operation from its first attempt to its end: calls, retries, the deadline, and the reason.

Work that is not done by its deadline is abandoned, also when it will not stop. Nothing here touches
a record: the end is returned, and `operations.py` decides what it means now.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.model.machines import Instant
from bigfleet.provider.backend import (
    CapacityUnavailable,
    Condition,
    Created,
    HostGone,
    HostStatus,
    Operation,
    QuotaExceeded,
    Retryable,
)
from bigfleet.provider.calls import BackendCalls
from bigfleet.provider.ledger.transitions import Kind, Reason, without_blob
from bigfleet.provider.operations.limits import RetryRule
from bigfleet.provider.reconciling.record_checks import why_bad_host, why_bad_shape

T = TypeVar("T")


class DeadlinePassed(Exception):
    """The work was not done in time."""


class StoppedItself(Exception):
    """The work ended as cancelled although it was not cancelled from here."""


async def done_by(
    clock: Clock,
    deadline: Instant,
    work: Coroutine[Any, Any, T],
    abandoned: Callable[[], None] = lambda: None,
) -> T:
    """The result of `work`; DeadlinePassed at the deadline, without waiting for it to give in."""
    task = asyncio.ensure_future(work)
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(*_: object) -> None:
        if not woken.done():
            woken.set_result(None)

    timer = clock.call_later((deadline - clock.now()) / SECOND, wake)
    task.add_done_callback(wake)
    task.add_done_callback(_look_away)
    try:
        await woken
        if task.done():
            if task.cancelled():
                raise StoppedItself
            return task.result()
        raise DeadlinePassed
    finally:
        timer.cancel()
        if not task.done():
            abandoned()
            task.cancel()


def _look_away(task: asyncio.Future[Any]) -> None:
    """A late end is dropped, also one that comes while the waiter is cancelled; asking for the
    exception keeps asyncio from complaining.
    """
    if not task.cancelled():
        task.exception()


@dataclass(frozen=True, slots=True)
class Succeeded:
    created: Created | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    reason: Reason
    text: str
    #: How long the offering is to rest: for stock-outs and quotas.
    rest_seconds: float | None = None


End = Succeeded | Failed


Work = Callable[[Operation], Coroutine[Any, Any, Created | None]]


class Stage(NamedTuple):
    work: Work
    #: What it is called when the deadline passes in it.
    late: Reason
    late_text: str


@dataclass(frozen=True, slots=True)
class Attempts:
    calls: BackendCalls
    clock: Clock
    chance: random.Random
    rule: RetryRule

    async def run(self, op: Operation, *, found: HostStatus | None = None) -> End:
        """The end of the operation; `found` is what an inspection after a restart has shown."""
        if (already := _end_already_reached(op.kind, found)) is not None:
            return already
        end: End = Succeeded()
        for stage in self._stages(op.kind, found):
            end = await self._stage(op, stage)
            if isinstance(end, Failed):
                return replace(end, text=without_blob(end.text, op.bootstrap_blob))
        return end

    def _stages(self, kind: Kind, found: HostStatus | None) -> list[Stage]:
        work = Stage(self._work_of(kind), Reason.TIMEOUT, f"{kind} took too long")
        if kind is not Kind.CONFIGURE or not self.calls.can_confirm_ready:
            return [work]
        ready = Stage(self.calls.confirm_ready, Reason.READINESS, "the node was not Ready in time")
        return [ready] if _is(found, Condition.BOUND) else [work, ready]

    async def _stage(self, op: Operation, stage: Stage) -> End:
        first, retries = op.attempt, 0
        while True:
            try:
                again = replace(op, attempt=first + retries) if retries else op
                return await self._attempt(again, stage)
            except Retryable as error:
                delay = self.rule.delay(retries, error.after, self.chance)
                if delay is None:
                    return Failed(Reason.ERROR, f"gave up after {retries + 1} attempts: {error}")
                if self.clock.now() + round(delay * SECOND) >= op.deadline:
                    return Failed(stage.late, f"no time for another attempt: {error}")
                op.note(f"attempt {first + retries} failed, next in {delay:.1f} s: {error}")
            await self.clock.sleep(delay)
            retries += 1

    async def _attempt(self, op: Operation, stage: Stage) -> End:
        """Raises Retryable; every other failure is an end."""
        try:
            made = await done_by(self.clock, op.deadline, stage.work(op), op.cancelled.set)
            return Succeeded(made)
        except Retryable:
            raise
        except DeadlinePassed:
            return Failed(stage.late, stage.late_text)
        except HostGone as error:
            if op.kind is Kind.DELETE:
                return Succeeded()
            return Failed(Reason.VANISHED, str(error) or "the host is gone")
        except CapacityUnavailable as error:
            reason = Reason.STOCKOUT if op.kind is Kind.CREATE else Reason.ERROR
            return Failed(reason, str(error) or "none to be had", error.after)
        except QuotaExceeded as error:
            return Failed(Reason.QUOTA, str(error) or "the quota is used up", error.after)
        except StoppedItself:
            return Failed(Reason.ERROR, f"{op.kind} was cancelled from within")
        except Exception as error:  # noqa: BLE001 - an author's bug fails one machine, not the server
            return Failed(Reason.ERROR, str(error) or type(error).__name__)

    def _work_of(self, kind: Kind) -> Work:
        match kind:
            case Kind.CREATE:
                return self._create
            case Kind.CONFIGURE:
                return self.calls.configure
            case Kind.DRAIN:
                return self.calls.drain
            case Kind.DELETE:
                return self.calls.delete

    async def _create(self, op: Operation) -> Created:
        created = await self.calls.create(op)
        if not created.host.ref:
            raise ValueError("create returned an empty host reference")
        if why := why_bad_host(created.host):
            raise ValueError(f"create returned a host whose name is refused: {why}")
        resources, allocatable = created.resources or {}, created.allocatable or {}
        if why := why_bad_shape(resources, allocatable):
            raise ValueError(f"create returned a host of a shape that cannot be: {why}")
        return created


def _is(found: HostStatus | None, condition: Condition) -> bool:
    return found is not None and found.condition is condition


def _end_already_reached(kind: Kind, found: HostStatus | None) -> End | None:
    """What an inspection after a restart proves without any further call."""
    if _is(found, Condition.GONE):
        if kind is Kind.DELETE:
            return Succeeded()
        if kind is Kind.CREATE:
            return Failed(Reason.INTERRUPTED, "the provider restarted and no host was made")
        return Failed(Reason.VANISHED, "the host was gone after a restart of the provider")
    if _is(found, Condition.RUNNING):
        if kind is Kind.CREATE and found is not None and found.host is not None:
            return Succeeded(Created(found.host))
        if kind is Kind.DRAIN:
            return Succeeded()
    return None
