"""The lines between shards and coordinators: calls that are lost, late, doubled or cut off.

A call goes there and back, and the schedule moves it: the caller waits until it has an answer
or its deadline is over. What was sent may arrive long after the caller stopped waiting.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import ReportReply, ShardReport
from bigfleet.model.provider_calls import Code, Rejected

Request = ShardReport | SyncRequest
Reply = ReportReply | SyncReply
#: Carries a request out at an address; raises Rejected.
Serve = Callable[[str, Request], Reply]


#: Answers that may come once more.
_REMEMBERED = 3


class Ruling(Enum):
    """What becomes of the next call."""

    ANSWERED = auto()
    #: It waits to arrive.
    LATE = auto()
    #: It has arrived, and its answer waits.
    ANSWER_LATE = auto()
    LOST = auto()
    ANSWER_LOST = auto()
    #: Answered, and a copy of it arrives again some day.
    TWICE = auto()
    #: It is lost, and an answer from before comes once more.
    OLD_ANSWER = auto()


@dataclass(slots=True)
class Call:
    shard: str
    address: str
    request: Request
    #: None: no caller waits for an answer.
    waiter: "asyncio.Future[Reply] | None"
    #: Of a call that has arrived.
    answer: Reply | Rejected | None = None

    def told(self, answer: Reply | Rejected) -> None:
        if self.waiter is None or self.waiter.done():
            return
        if isinstance(answer, Rejected):
            self.waiter.set_exception(answer)
        else:
            self.waiter.set_result(answer)


class Network:
    def __init__(self, serve: Serve, sent: Callable[[Request], None]) -> None:
        """`sent` hears of every request that leaves a shard, also of those that fail."""
        self._serve = serve
        self._sent = sent
        #: On their way, oldest first.
        self.calls: list[Call] = []
        #: Of the next calls of each shard, in order; when there is none, it is answered.
        self.rulings: dict[str, list[Ruling]] = {}
        #: Shards whose lines are cut.
        self.cut: set[str] = set()
        #: The last answers to each shard's calls of a kind, newest last.
        self._answers: dict[tuple[str, type[Request]], list[Reply]] = {}

    async def call(self, shard: str, address: str, request: Request) -> Any:
        self._sent(request)
        rulings = self.rulings.get(shard) or [Ruling.ANSWERED]
        ruling = Ruling.LOST if shard in self.cut else rulings.pop(0)
        waiter: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        call = Call(shard, address, request, waiter)
        self._begin(call, ruling)
        return await waiter

    def _begin(self, call: Call, ruling: Ruling) -> None:
        if ruling is Ruling.LATE:
            self.calls.append(call)
            return
        if ruling in (Ruling.LOST, Ruling.OLD_ANSWER):
            old = self._old_answer(call) if ruling is Ruling.OLD_ANSWER else None
            call.told(old or _broken())
            return
        self._arrive(call)
        assert call.answer is not None
        match ruling:
            case Ruling.ANSWER_LATE:
                self.calls.append(call)
            case Ruling.ANSWER_LOST:
                call.told(_broken())
            case Ruling.TWICE:
                self.calls.append(Call(call.shard, call.address, call.request, None))
                call.told(call.answer)
            case _:
                call.told(call.answer)

    def _old_answer(self, call: Call) -> Reply | None:
        """The last that had a view, as those can do the most harm; else the oldest."""
        before = self._answers.get((call.shard, type(call.request)), [])
        views = [each for each in before if isinstance(each, SyncReply) and each.ownership]
        return next(reversed(views), before[0] if before else None)

    def _arrive(self, call: Call) -> None:
        try:
            call.answer = self._serve(call.address, call.request)
        except Rejected as problem:
            call.answer = problem
        else:
            before = self._answers.setdefault((call.shard, type(call.request)), [])
            before.append(call.answer)
            del before[:-_REMEMBERED]

    # -- what the schedule does ------------------------------------------------------------------

    def go_on(self, call: Call) -> None:
        """It arrives; or its answer does."""
        if call.shard in self.cut:
            return
        if call.answer is None:
            self._arrive(call)
            if call.waiter is None:
                self.calls.remove(call)
            return
        self.calls.remove(call)
        call.told(call.answer)

    def expire(self, shard: str) -> None:
        """The caller has waited too long; what was sent may still arrive."""
        for call in [call for call in self.calls if call.shard == shard and call.waiter]:
            call.told(Rejected(Code.DEADLINE_EXCEEDED, "no answer came in time"))
            call.waiter = None
            if call.answer is not None:
                self.calls.remove(call)

    def hang_up(self, shard: str) -> None:
        """The caller is dead."""
        for call in [call for call in self.calls if call.shard == shard and call.waiter]:
            call.waiter = None
            if call.answer is not None:
                self.calls.remove(call)

    def clear(self) -> None:
        """Everything on its way is lost."""
        for call in self.calls:
            call.told(_broken())
        self.calls = []
        self.cut = set()
        self.rulings = {}

    def is_waiting(self, shard: str) -> bool:
        return any(c.shard == shard and c.waiter and not c.waiter.done() for c in self.calls)


class ShardLines:
    """One shard's way to the coordinators."""

    def __init__(self, network: Network, shard: str) -> None:
        self._network = network
        self._shard = shard

    async def report(self, address: str, report: ShardReport, deadline: float) -> ReportReply:
        reply: ReportReply = await self._network.call(self._shard, address, report)
        return reply

    async def sync(self, address: str, request: SyncRequest, deadline: float) -> SyncReply:
        reply: SyncReply = await self._network.call(self._shard, address, request)
        return reply

    async def keep_only(self, addresses: tuple[str, ...]) -> None:
        """There is nothing to keep."""

    async def close(self) -> None:
        """There is nothing to close."""


def _broken() -> Rejected:
    return Rejected(Code.UNAVAILABLE, "the line broke")
