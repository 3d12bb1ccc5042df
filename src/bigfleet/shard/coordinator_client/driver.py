"""Reports to the coordinator for ever, on a task of its own; nothing waits for it.

A round is a report, the instructions that came back, and a sync on the same line. A failure ends
the round: nothing that was not durable has been acted on, and the next round says it all again, to
the next address if need be.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    Obeyed,
    ReportReply,
    ShardReport,
)
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import CoordinatorLink
from bigfleet.shard.coordinator_client.instruction_handler import (
    DONE,
    TERM,
    InstructionAnswer,
    InstructionHandler,
)
from bigfleet.shard.coordinator_client.schedules import ReportSchedule, SyncSchedule
from bigfleet.shard.settings import CurrentShardSettings
from bigfleet.wire.report_fitting import (
    fitted_report,
    fitted_sync,
    is_small_report,
    is_small_sync,
)

T = TypeVar("T")

#: Before a report that acknowledges what was just done.
AT_ONCE_SECONDS = 0.02
_NEWER = (
    "the coordinator has a newer report of this shard id: look for a second process with the same "
    "id; if there is none, it is a report that overtook another"
)
_UNKNOWN = (
    "this coordinator knows no SyncShard: the shard goes on with what it owns by its own setting "
    "and asks again in 10 minutes"
)


class Lines(Protocol):
    """The way to coordinators, by address; each call ends within its deadline."""

    async def report(self, address: str, report: ShardReport, deadline: float) -> ReportReply: ...
    async def sync(self, address: str, request: SyncRequest, deadline: float) -> SyncReply: ...
    async def keep_only(self, addresses: tuple[str, ...]) -> None: ...
    async def close(self) -> None: ...


class ReportingShard(Protocol):
    """What a report and a sync say, where marks are kept, and what carries things out."""

    def marks(self) -> Mapping[str, bytes]:
        """What was kept of an earlier life."""
        ...

    async def keep(self, key: str, value: bytes) -> None:
        """Returns when the value is on disk under the key."""
        ...

    async def report(self) -> ShardReport:
        """Of this moment, without acknowledgements."""
        ...

    async def sync_request(self, merging: bool) -> SyncRequest:
        """Of this moment; `merging`: with everything this shard holds, for a coordinator that was
        restored."""
        ...

    async def take_sync(self, reply: SyncReply, sent: SyncRequest) -> None:
        """Returns when the reply is on disk and taken over; OSError where it cannot be kept, and
        then nothing of it was."""
        ...

    def obey(self, instruction: CoordinatorInstruction) -> Obeyed: ...


class CoordinatorClient:
    def __init__(
        self,
        lines: Lines,
        shard: ReportingShard,
        settings: CurrentShardSettings,
        counts: Counts,
        clock: Clock,
        chance: Callable[[], float],
        log: Log,
    ) -> None:
        """`chance`: from 0 up to 1."""
        self._lines = lines
        self._shard = shard
        self._settings = settings
        self._counts = counts
        self._clock = clock
        self._chance = chance
        self._log = log
        addresses = settings.now.coordinator_addr
        self._report_schedule = ReportSchedule(addresses, settings, clock.now())
        self._handler = InstructionHandler(shard.marks(), shard.obey)
        self._sync_schedule = SyncSchedule()
        #: The cycle of the last report that was news to the coordinator.
        self._acknowledged_cycle = -1
        #: What was last said of a failure: the same is not said twice.
        self._said = ""
        self._said_cut = ""

    @property
    def due(self) -> Instant:
        """When the next report goes out."""
        return self._report_schedule.due

    @property
    def _call_timeout(self) -> float:
        return self._settings.now.report.call_timeout

    def link(self) -> CoordinatorLink:
        return self._report_schedule.link(self._handler.term)

    async def run(self) -> None:
        clock = self._clock
        try:
            while True:
                await clock.sleep(max(0.0, (self.due - clock.now()) / SECOND))
                await self.report()
        finally:
            await self._lines.close()

    async def report(self) -> None:
        """One round; failures are logged and counted."""
        reporting = self._report_schedule
        whole = replace(await self._shard.report(), acks=self._handler.acks())
        fitted = await _beside(is_small_report(whole), partial(fitted_report, whole))
        report = fitted.message
        try:
            reply = await self._lines.report(reporting.address, report, self._call_timeout)
            await self._keep_term(reply.term)
            # Only now: an acknowledgement that a deposed leader heard does not count.
            self._handler.on_sent(report.acks)
            done = await self._obey(reply)
        except Rejected as problem:
            self._on_rejected("coordinator_reports_total", problem)
            return
        self._counts.add("coordinator_reports_total", result="ok")
        self._sync_schedule.on_report()
        left_off = fitted.left_off
        if self._sync_schedule.is_due(self._clock.now()):
            try:
                left_off = _sum(left_off, await self._sync(fitted.rows_left_off))
            except Rejected as problem:
                self._on_rejected("coordinator_syncs_total", problem)
                return
        complaint, cut = self._complaint(report, reply), _cut_text(left_off)
        for name, rows in left_off.items():
            self._counts.add("coordinator_rows_left_off_total", rows, field=name)
        # Another shard waits for what was done: it is reported at once.
        soon = AT_ONCE_SECONDS if done else self._sync_schedule.soon_seconds
        reporting.on_answered(self._clock.now(), self._chance(), complaint or cut, soon)
        self._say(complaint)
        self._say_cut(cut)
        await self._lines.keep_only(reporting.addresses)

    # -- instructions ----------------------------------------------------------------------------

    async def _obey(self, reply: ReportReply) -> bool:
        """Whether something was done that the coordinator does not know of yet."""
        answers = self._handler.obey(reply)
        if any(each.accepted for each in answers):
            await self._kept(DONE, self._handler.done())
        self._handler.answered(answers)
        self._tell(answers)
        return any(each.just_done for each in answers)

    def _tell(self, answers: Iterable[InstructionAnswer]) -> None:
        for each in answers:
            kind, outcome = str(each.instruction.kind), each.outcome
            self._counts.add("instructions_total", kind=kind, outcome=outcome)
            if not each.accepted:
                text = f"instruction {each.instruction.id} ({kind}): {each.why}"
                say = self._log.info if each.ack is None else self._log.warning
                say("coordinator.instruction", msg=text, outcome=outcome)

    # -- syncs -----------------------------------------------------------------------------------

    async def _sync(self, left_off_before: int) -> Mapping[str, int]:
        """How many rows of the sync were left off, by field."""
        whole = await self._shard.sync_request(self._sync_schedule.merging)
        fit = partial(fitted_sync, whole, left_off_before)
        fitted = await _beside(is_small_sync(whole), fit)
        request = fitted.message
        try:
            reply = await self._lines.sync(
                self._report_schedule.address, request, self._call_timeout
            )
        except Rejected as problem:
            if problem.code is not Code.UNIMPLEMENTED:
                raise
            self._counts.add("coordinator_syncs_total", result="unimplemented")
            if self._sync_schedule.on_unknown(self._clock.now()):
                self._log.warning("coordinator.no_sync", msg=_UNKNOWN)
            return {}
        await self._keep_term(reply.term)
        await self._durably("the answer to SyncShard", self._shard.take_sync(reply, request))
        self._sync_schedule.on_reply(reply)
        self._counts.add("coordinator_syncs_total", result="ok")
        return fitted.left_off

    # -- what is kept ----------------------------------------------------------------------------

    async def _keep_term(self, term: int) -> None:
        """On disk before anything that came with it is acted on; raises StaleTerm."""
        if self._handler.is_stale(term):
            seen = self._handler.term
            raise StaleTerm(f"an answer of term {term} was ignored: {seen} was seen before")
        row = self._handler.new_term(term)
        if row is not None:
            await self._kept(TERM, row)
            self._handler.on_term_kept(term)

    async def _kept(self, key: str, value: bytes) -> None:
        await self._durably(key, self._shard.keep(key, value))

    async def _durably(self, what: str, keeping: Awaitable[None]) -> None:
        """Without it nothing is acted on: the coordinator says it again."""
        try:
            async with asyncio.timeout(self._call_timeout):
                await keeping
        except OSError as problem:  # a timeout is one too
            text = f"{what} cannot be kept, so nothing was acted on: {problem!r}"
            raise Rejected(Code.INTERNAL, text) from problem

    # -- what is said ----------------------------------------------------------------------------

    def _complaint(self, report: ShardReport, reply: ReportReply) -> str:
        """Empty for a report without a new cycle: the coordinator rightly ignores it."""
        if reply.acknowledged:
            self._acknowledged_cycle = report.cycle
        elif report.cycle > self._acknowledged_cycle:
            return _NEWER
        return ""

    def _on_rejected(self, counter: str, problem: Rejected) -> None:
        result = _result_of(problem)
        self._counts.add(counter, result=result)
        text, at = f"{self._report_schedule.address}: {problem}", self._clock.now()
        self._report_schedule.on_rejected(problem, at, self._chance())
        # That this one does not lead is normal; that none of them does is trouble.
        if result != "not_leader" or self._report_schedule.due > at:
            self._say(text)

    def _say_cut(self, cut: str) -> None:
        if cut and not self._said_cut:
            self._log.warning("coordinator.report_cut", msg=cut)
        self._said_cut = cut

    def _say(self, trouble: str) -> None:
        if trouble and not self._said:
            text = f"{trouble}; the shard goes on without the coordinator"
            self._log.warning("coordinator.trouble", msg=text)
        elif self._said and not trouble:
            self._log.info("coordinator.back", msg="reports are answered again")
        self._said = trouble


class StaleTerm(Rejected):
    """An answer of a coordinator that was replaced."""

    def __init__(self, text: str) -> None:
        super().__init__(Code.UNAVAILABLE, text)


async def _beside(is_small: bool, work: Callable[[], T]) -> T:
    """In a thread, unless it is done in a moment."""
    return work() if is_small else await asyncio.to_thread(work)


def _sum(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _cut_text(left_off: Mapping[str, int]) -> str:
    """Empty: everything fitted."""
    if not left_off:
        return ""
    rows = ", ".join(f"{number} of {name}" for name, number in sorted(left_off.items()))
    return f"rows that do not fit into a message were left off: {rows}"


def _result_of(problem: Rejected) -> str:
    if isinstance(problem, StaleTerm):
        return "stale_term"
    return "not_leader" if problem.code is Code.FAILED_PRECONDITION else "error"
