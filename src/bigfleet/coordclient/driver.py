"""Reports to the coordinator for ever, on a task of its own; nothing waits for it.

What a report says, where marks are kept and who carries instructions out is given from outside.
SyncShard will follow a report on the same line when there is a coordinator that answers it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from bigfleet.coordclient.obeying import DONE, TERM, Handler, Obeying
from bigfleet.coordclient.reporting import Pace, Reporting
from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.model.coordinator_calls import (
    AckOutcome,
    InstructionKind,
    ReportReply,
    ShardReport,
)
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import CoordinatorLink
from bigfleet.wire.coordinator_client import CoordinatorLines

_NEWER = (
    "the coordinator has a newer report of this shard id: look for a second process with the same "
    "id; if there is none, it is a report that overtook another"
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    clock: Clock
    #: From 0 up to 1.
    chance: Callable[[], float]
    log: Log
    #: The report of this moment, without acknowledgements.
    report: Callable[[], Awaitable[ShardReport]]
    #: Returns when the value is on disk under the key.
    keep: Callable[[str, bytes], Awaitable[None]]
    #: A counter's name and labels.
    count: Callable[..., None]
    pace: Callable[[], Pace]
    call_timeout_seconds: float
    #: What was kept of an earlier life.
    kept: Mapping[str, bytes] = field(default_factory=dict)
    handlers: Mapping[InstructionKind, Handler] = field(default_factory=dict)


class CoordinatorClient:
    def __init__(
        self, addresses: tuple[str, ...], lines: CoordinatorLines, around: Surroundings
    ) -> None:
        self._lines = lines
        self._around = around
        self._reporting = Reporting(addresses, around.pace, around.clock.now())
        self._obeying = Obeying(around.kept, around.handlers)
        #: What was last said of a failure: the same is not said twice.
        self._said = ""

    @property
    def due(self) -> Instant:
        """When the next report goes out."""
        return self._reporting.due

    def link(self) -> CoordinatorLink:
        return self._reporting.link(self._obeying.term)

    async def run(self) -> None:
        clock = self._around.clock
        try:
            while True:
                await clock.sleep(max(0.0, (self.due - clock.now()) / SECOND))
                await self.report()
        finally:
            await self._lines.close()

    async def report(self) -> None:
        """One report, whatever becomes of it."""
        around, reporting = self._around, self._reporting
        acks = self._obeying.acks()
        report = replace(await around.report(), acks=acks)
        try:
            reply = await self._lines.report(reporting.address, report, around.call_timeout_seconds)
            self._obeying.on_sent(acks)
            if self._obeying.is_stale(reply):
                self._ignore(reply)
                return
            await self._obey(reply)
        except Rejected as problem:
            self._on_rejected(problem)
            return
        complaint = "" if reply.acknowledged else _NEWER
        reporting.on_answered(around.clock.now(), around.chance(), complaint)
        around.count("coordinator_reports_total", result="ok")
        self._say(complaint)
        await self._lines.keep_only(reporting.addresses)

    async def _obey(self, reply: ReportReply) -> None:
        term = self._obeying.new_term(reply)
        if term is not None:
            await self._kept(TERM, term)
            self._obeying.on_term_kept(reply)
        obeyed = self._obeying.obey(reply)
        if any(each.ack.outcome is AckOutcome.ACCEPTED for each in obeyed):
            await self._kept(DONE, self._obeying.done())
        self._obeying.answered(obeyed)
        for each in obeyed:
            kind, outcome = each.instruction.kind, each.ack.outcome
            self._around.count("instructions_total", kind=str(kind), outcome=outcome.label)
            if outcome is not AckOutcome.ACCEPTED:
                text = f"instruction {each.instruction.id} ({kind}): {each.ack.reason}"
                self._around.log.warning("coordinator.instruction", msg=text, outcome=outcome.label)

    async def _kept(self, key: str, value: bytes) -> None:
        """Without it nothing is acted on: the coordinator says it again."""
        try:
            async with asyncio.timeout(self._around.call_timeout_seconds):
                await self._around.keep(key, value)
        except OSError as problem:  # a timeout is one too
            text = f"{key} cannot be kept, so nothing was acted on: {problem!r}"
            raise Rejected(Code.INTERNAL, text) from problem

    def _ignore(self, reply: ReportReply) -> None:
        text = f"an answer of term {reply.term} was ignored: {self._obeying.term} was seen before"
        self._around.count("coordinator_reports_total", result="stale_term")
        stale = Rejected(Code.UNAVAILABLE, text)
        self._reporting.on_rejected(stale, self._around.clock.now(), self._around.chance())
        self._say(text)

    def _on_rejected(self, problem: Rejected) -> None:
        result = "not_leader" if problem.code is Code.FAILED_PRECONDITION else "error"
        self._around.count("coordinator_reports_total", result=result)
        text = f"{self._reporting.address}: {problem}"
        self._reporting.on_rejected(problem, self._around.clock.now(), self._around.chance())
        self._say("" if result == "not_leader" else text)

    def _say(self, trouble: str) -> None:
        if trouble and not self._said:
            text = f"{trouble}; the shard goes on without the coordinator"
            self._around.log.warning("coordinator.trouble", msg=text)
        elif self._said and not trouble:
            self._around.log.info("coordinator.back", msg="reports are answered again")
        self._said = trouble
