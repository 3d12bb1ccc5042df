"""One life of a shard and its coordinator: reports, what comes back, and syncs, in virtual time.

The schedules, the handler of instructions and what is kept are those of a real client; here is
what its driver does with tasks: one round at a time, and nothing acted on before it is on disk.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from random import Random

from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    Obeyed,
    ReportReply,
    ShardReport,
)
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.shard.coordinator_client.driver import AT_ONCE_SECONDS
from bigfleet.shard.coordinator_client.instruction_handler import DONE, TERM, InstructionHandler
from bigfleet.shard.coordinator_client.schedules import ReportSchedule, SyncSchedule
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.effects import MARKS
from bigfleet.shard.ledgers.summaries import summary_of
from bigfleet.shard.state import ShardState
from bigfleet.simulation.coordinator import END, SimulatedCoordinator
from bigfleet.simulation.disk import Disk
from bigfleet.simulation.network import Network

_STALE = Rejected(Code.UNAVAILABLE, "an answer of an older term")
_NOT_KEPT = Rejected(Code.INTERNAL, "an answer cannot be kept, so nothing was acted on")
Rows = Mapping[tuple[str, str], bytes | None]


class CoordinatorLine:
    def __init__(
        self,
        state: ShardState,
        outlet: Outlet,
        disk: Disk,
        network: Network,
        coordinator: SimulatedCoordinator,
        chance: Random,
    ) -> None:
        self._state, self._outlet, self._disk = state, outlet, disk
        self._network, self._coordinator, self._chance = network, coordinator, chance
        self._schedule = network.schedule
        self._end = f"shard/{state.settings.id}"
        #: False: the process is gone.
        self._is_alive = True
        settings = state.parts.settings
        self._reports = ReportSchedule((END,), settings, self._schedule.now())
        self._syncs = SyncSchedule()
        self._handler = InstructionHandler(disk.rows.get(MARKS, {}), self._obey)
        self._when_due()

    def crash(self) -> None:
        self._is_alive = False

    def _when_due(self) -> None:
        self._schedule.at(self._reports.due, lambda: self._report() if self._is_alive else None)

    # -- a round ---------------------------------------------------------------------------------

    def _report(self) -> None:
        report = self._report_of_now()
        coordinator = self._coordinator

        def answered(reply: ReportReply | Rejected) -> None:
            if not self._is_alive:
                return
            if isinstance(reply, Rejected):
                self._failed(reply)
            else:
                self._in_term(reply.term, lambda: self._take_report(reply, report))

        timeout = self._state.settings.report.call_timeout
        self._network.call(
            self._end,
            END,
            lambda: coordinator.report(report),
            answered,
            timeout,
            lambda: coordinator.is_up,
        )

    def _report_of_now(self) -> ShardReport:
        state, settings = self._state, self._state.settings
        provider = next((each.rpartition("=")[2] for each in settings.provider_addr), "")
        summary = summary_of(state.parts.machines.inventory.snapshot(), provider)
        return ShardReport(
            settings.id,
            state.decision_loop.number,
            self._schedule.now(),
            state.epoch,
            f"{settings.id}:7780",
            summary,
            state.parts.shortfalls.rows(settings.report.shortfall_limit),
            self._handler.acks(),
        )

    def _take_report(self, reply: ReportReply, report: ShardReport) -> None:
        self._handler.on_sent(report.acks)
        answers = self._handler.obey(reply)
        done = any(each.just_done for each in answers)

        def kept() -> None:
            self._handler.answered(answers)
            self._syncs.on_report()
            self._sync(done)

        if any(each.accepted for each in answers):
            self._keep({(MARKS, DONE): self._handler.done()}, kept)
        else:
            kept()

    def _sync(self, done: bool) -> None:
        if not self._syncs.is_due(self._schedule.now()):
            self._answered(done)
            return
        coordinator, request = self._coordinator, self._request_of_now()

        def answered(reply: SyncReply | Rejected) -> None:
            if not self._is_alive:
                return
            if isinstance(reply, Rejected):
                self._failed(reply)
            else:
                self._in_term(reply.term, lambda: self._take_sync(reply, request, done))

        timeout = self._state.settings.report.call_timeout
        self._network.call(
            self._end,
            END,
            lambda: coordinator.sync(request),
            answered,
            timeout,
            lambda: coordinator.is_up,
        )

    def _request_of_now(self) -> SyncRequest:
        state = self._state
        details = state.parts.shortfalls.details(state.settings.report.shortfall_limit)
        return state.coordination.request(self._schedule.now(), self._syncs.merging, details)

    def _take_sync(self, reply: SyncReply, sent: SyncRequest, done: bool) -> None:
        coordination = self._state.coordination

        def kept() -> None:
            found = {each.request.transfer: each.run() for each in coordination.surveys(reply)}
            now = self._schedule.now()
            self._outlet.obey(self._state.take_sync(reply, sent, now, found))
            self._syncs.on_reply(reply)
            self._answered(done)

        rows = {(table, key): row for table, key, row in coordination.rows_of(reply, sent)}
        if rows:
            self._keep(rows, kept)
        else:
            kept()

    def _answered(self, done: bool) -> None:
        soon = AT_ONCE_SECONDS if done else self._syncs.soon_seconds
        now = self._schedule.now()
        self._reports.on_answered(now, self._chance.random(), soon=soon)
        self._when_due()

    def _failed(self, problem: Rejected) -> None:
        self._reports.on_rejected(problem, self._schedule.now(), self._chance.random())
        self._when_due()

    # -- what is kept ----------------------------------------------------------------------------

    def _in_term(self, term: int, act: Callable[[], None]) -> None:
        """Acts once the term is on disk, and not on what a deposed leader said."""
        if self._handler.is_stale(term):
            self._failed(_STALE)
            return
        row = self._handler.new_term(term)
        if row is None:
            act()
            return

        def kept() -> None:
            self._handler.on_term_kept(term)
            act()

        self._keep({(MARKS, TERM): row}, kept)

    def _keep(self, rows: Rows, then: Callable[[], None]) -> None:
        def written(promise: Future[None]) -> None:
            if not self._is_alive:
                return
            if promise.exception() is None:
                then()
            else:
                self._failed(_NOT_KEPT)

        self._disk.attempt(rows).add_done_callback(written)

    def _obey(self, instruction: CoordinatorInstruction) -> Obeyed:
        became, asked = self._state.obey(instruction, self._schedule.now())
        self._outlet.obey(asked)
        return became
