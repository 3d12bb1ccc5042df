"""Costs of a live shard: the rates of the last cycle as it stands, and a ledger of past hours.

All of it runs in one thread beside the event loop; a cycle only leaves what it decided, and a
machine that begins or ceases to be billed is noted as it does.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from bigfleet.costs.meter import HOUR, BillingChange, Meter, is_billed
from bigfleet.costs.named_prices import costs_of
from bigfleet.costs.rates import CostSheet
from bigfleet.costs.red_flags import OfferingDay, offering_text
from bigfleet.costs.reports import report_of
from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.edge.sqlite_files import FileRefused
from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.batches import offering_of
from bigfleet.model.costs import Amounts, CostCall, CostReport
from bigfleet.model.fleet import Costs
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.shard.cost_file import KEPT_HOURS, CostFile, whole_hours
from bigfleet.shard.state import ShardState

FILE_NAME = "costs.db"
#: Between two looks at the last cycle, and between two writes.
LOOK_SECONDS, WRITE_SECONDS = 10.0, 60.0
#: Between two looks. What comes beyond is dropped: the next cycle shows the machines anyway.
MOST_CHANGES = 200_000
#: Hours that wait for a disk that is full.
MOST_UNWRITTEN_HOURS = 48
_NO_CYCLE = "no cycle has ended since the shard started"
_SERVES = (MachineState.CONFIGURED, MachineState.CONFIGURING)
T = TypeVar("T")


class ShardCosts:
    def __init__(self, state: ShardState, data_dir: Path | None, clock: Clock, log: Log) -> None:
        """`data_dir` None: past hours are not kept."""
        self._state = state
        self._path = None if data_dir is None else data_dir / FILE_NAME
        self._clock = clock
        self._log = log
        self._thread = ThreadPoolExecutor(1, "costs")
        self._changes: list[BillingChange] = []
        #: Offering and time of machines that were taken away.
        self._interrupted: list[tuple[str, Instant]] = []
        # These are the thread's own.
        self._file: CostFile | None = None
        self._meter = Meter()
        self._looked_at: FinishedCycle | None = None
        self._written: Instant = 0
        #: Why the ledger is not written; empty: it is.
        self.trouble = ""
        if self._path is not None:
            state.parts.machines.watch(self._on_change)

    # -- answers ---------------------------------------------------------------------------------

    async def report(self, call: CostCall, past: EngineInput | None = None) -> CostReport:
        """`past`: what the cycle was decided on that is asked for; None: the last one."""
        if past is not None:
            # It is decided again, which takes its time: not in the ledger's thread.
            return await asyncio.to_thread(self._rates, call, past, None)
        finished = self._state.decision_loop.finished
        if call.ends:
            if self._path is not None:
                await self.look()
            return await self._in_thread(lambda: self._past(call))
        if finished is None:
            shard = self._state.settings.id
            return CostReport(shard, "", 0, call.by, (), Amounts(), (), (_NO_CYCLE,))
        given, decision = finished.given, finished.decision
        return await self._in_thread(lambda: self._rates(call, given, decision))

    def _rates(self, call: CostCall, given: EngineInput, decision: Decision | None) -> CostReport:
        return report_of(
            given,
            given.decide(workers=1) if decision is None else decision,
            call.by,
            self._costs(),
            shard=self._state.settings.id,
            cycle=self._name(given),
            days=None if decision is None else self._days(),
        )

    def _past(self, call: CostCall) -> CostReport:
        self._write()
        finished, now = self._state.decision_loop.finished, self._clock.now()
        if self._file is None:
            raise Rejected(
                Code.UNAVAILABLE,
                self.trouble or "this shard keeps no costs of the past; set costs.enabled",
            )
        asked = whole_hours(call, now)
        begins, ends = asked.begins, asked.ends
        if begins >= ends:
            text = f"no hour lies there; costs are kept for {KEPT_HOURS // 24} days"
            raise Rejected(Code.OUT_OF_RANGE, text)
        try:
            rows, total = self._file.rows(asked, self._costs().team_of_cluster)
            charges = self._file.charges(begins, ends) if call.charges else ()
            period = self._file.period(begins, ends, now)
        except ValueError as problem:
            raise Rejected(Code.RESOURCE_EXHAUSTED, str(problem)) from None
        except sqlite3.Error as problem:
            text = f"{FILE_NAME} cannot be read: {problem}"
            raise Rejected(Code.UNAVAILABLE, text) from None
        name = "" if finished is None else self._name(finished.given)
        shard = self._state.settings.id
        return CostReport(shard, name, now, call.by, rows, total, period=period, charges=charges)

    def _name(self, given: EngineInput) -> str:
        return f"{self._state.epoch}:{given.cycle}"

    def _costs(self) -> Costs:
        chosen = self._state.parts.settings.now.costs
        return costs_of(chosen.imputed, chosen.teams)

    def _days(self) -> Mapping[str, OfferingDay] | None:
        if self._file is None:
            return None
        try:
            return self._file.days(self._clock.now())
        except sqlite3.Error:
            return None

    # -- the ledger ------------------------------------------------------------------------------

    async def keep(self) -> None:
        """Looks at the last cycle again and again, and writes now and then."""
        if self._path is None:
            return
        await self._in_thread(self._open)
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        finished = self._state.decision_loop.finished
        changes, self._changes = self._changes, []
        interrupted, self._interrupted = self._interrupted, []
        await self._in_thread(lambda: self._look(finished, changes, interrupted))

    async def close(self) -> None:
        if self._path is not None:
            await self.look()
        await self._in_thread(self._close)
        self._thread.shutdown(wait=False)

    def _open(self) -> None:
        assert self._path is not None, "a ledger has a place"
        try:
            self._file = CostFile(self._path)
        except FileRefused as problem:
            self._say(f"{self._path}: {problem}; move it away to keep costs again")

    def _look(
        self,
        finished: FinishedCycle | None,
        changes: list[BillingChange],
        interrupted: list[tuple[str, Instant]],
    ) -> None:
        for offering, at in interrupted:
            self._meter.interrupted(offering, at)
        if finished is not None and finished is not self._looked_at:
            self._looked_at = finished
            sheet = CostSheet(finished.decision.outcome, self._costs())
            self._meter.observe(sheet, finished.given.at, changes)
        else:
            self._meter.wait(changes)
        if self._clock.now() - self._written >= WRITE_SECONDS * SECOND:
            self._write()

    def _write(self) -> None:
        self._written = self._clock.now()
        if self._file is None:
            self._meter.taken()
            return
        hours = self._meter.taken()
        try:
            self._file.add(hours)
            first = self._written - self._written % HOUR - KEPT_HOURS * HOUR
            self._file.forget_before(first)
        except sqlite3.Error as problem:
            newest = sorted(hours)[-MOST_UNWRITTEN_HOURS:]
            self._meter.give_back({begins: hours[begins] for begins in newest})
            self._say(f"{self._path} cannot be written: {problem}; it is tried again")
            return
        if self.trouble:
            self.trouble = ""
            self._log.info("costs.recovered", msg=f"{FILE_NAME} is written again")

    def _close(self) -> None:
        if self._file is not None:
            self._write()
            self._file.close()
            self._file = None

    def _say(self, trouble: str) -> None:
        if not self.trouble:
            self._log.warning("costs.degraded", msg=trouble)
        self.trouble = trouble

    def _on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        if len(self._changes) + len(self._interrupted) >= MOST_CHANGES:
            return
        if is_billed(before) != is_billed(after):
            machine = after or before
            assert machine is not None, "something changed"
            begins = after if is_billed(after) else None
            self._changes.append(BillingChange(at, machine.id, begins))
        if before is not None and before.state in _SERVES and _has_failed(after):
            self._interrupted.append((offering_text(offering_of(before)), at))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _has_failed(machine: Machine | None) -> bool:
    return machine is not None and machine.state is MachineState.FAILED
