"""Answers to people: the read and admin services over the live state.

What could be long is given out in pieces, with a turn of the loop between them; the needs of a
cycle never change and are read in a thread.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from bigfleet.costs.named_prices import costs_of
from bigfleet.edge.clock import next_turn
from bigfleet.edge.logs import NullLog
from bigfleet.edge.process_usage import ProcessUsage
from bigfleet.engine.machine_order import BadPlace
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply
from bigfleet.model.costs import CostCall, CostReport
from bigfleet.model.counterfactuals import CounterfactualAnswer, CounterfactualCall
from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.explanations import ExplainNeedCall, NeedExplanation
from bigfleet.model.figures import AvailableCall, AvailableList, CostAxis, ShardFigures
from bigfleet.model.fleet_maps import FleetMap
from bigfleet.model.forecasts import ForecastCall, ForecastReport
from bigfleet.model.isolated import IsolatedCall, IsolatedReport
from bigfleet.model.journal import JournalHeader, JournalRecord
from bigfleet.model.machine_answers import (
    CycleCall,
    CycleView,
    DecisionList,
    DecisionQuery,
    MachineAnswer,
    MachineCall,
    WhyNot,
    WhyNotCall,
)
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.regret import Regret
from bigfleet.model.shard_admin import (
    Audit,
    ClearedMachine,
    FetchCall,
    MachineStory,
    PauseCall,
    Paused,
    PauseList,
    ReleasedQuarantine,
    ResumeCall,
    Resumed,
    StoryCall,
    TailCall,
)
from bigfleet.model.shard_views import (
    ClearMode,
    MachineQuery,
    MachineView,
    NeedPage,
    NeedQuery,
    OfferingView,
    Quarantine,
    QuarantineKind,
    SessionView,
    ShardStatus,
)
from bigfleet.model.statements import InvoiceCall, Invoices
from bigfleet.model.syntax import who_text
from bigfleet.model.thrash import ThrashFinding
from bigfleet.model.verifier_views import PolicySet, VerifierPolicy, VerifierView
from bigfleet.model.watch_events import FleetMapCall, ShardEvent, WatchCall
from bigfleet.model.what_if import WhatIfAnswer, WhatIfCall
from bigfleet.shard.driving.admin_writes import AdminWrites
from bigfleet.shard.driving.costs import ShardCosts
from bigfleet.shard.driving.event_feed import EventFeed
from bigfleet.shard.driving.explanations import Explanations
from bigfleet.shard.driving.forecasts import Forecasts
from bigfleet.shard.driving.journal_streams import JournalStreams, WrittenJournal
from bigfleet.shard.driving.need_rows import NeedRowBytes
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.driving.what_ifs import WhatIfs
from bigfleet.shard.effects import PAUSES, VERIFIER
from bigfleet.shard.failures.failures import NotFailed
from bigfleet.shard.fleet_dump import FleetDump, pieces
from bigfleet.shard.ledgers.needs import NeedSourcesTold
from bigfleet.shard.rails.pauses import PauseRequest, row_of_pause
from bigfleet.shard.rails.verification import POLICY
from bigfleet.shard.state import ShardState
from bigfleet.shard.statement_keeper import StatementKeeper
from bigfleet.wire.machine_listings import MachineListing
from bigfleet.wire.need_listings import EncodedNeeds

#: Machines looked at between two turns of the loop: a few milliseconds.
AT_A_TIME = 200


class ReadAnswers:
    def __init__(self, state: ShardState) -> None:
        self._state = state

    async def needs(self, cluster: str, limit: int) -> NeedPage:
        return await asyncio.to_thread(self._state.decision_loop.ledger.page, cluster, limit)


class AdminAnswers:
    def __init__(
        self,
        state: ShardState,
        outlet: Outlet,
        usage: ProcessUsage,
        real_of: Callable[[Instant], Instant] = lambda instant: instant,
        journal: Path | None = None,
        journal_trouble: Callable[[], str] = str,
        what_ifs: WhatIfs | None = None,
        written: WrittenJournal | None = None,
        stopwatch: Callable[[], float] = lambda: 0.0,
        feed: EventFeed | None = None,
        statements: StatementKeeper | None = None,
        costs: ShardCosts | None = None,
        forecasts: Forecasts | None = None,
    ) -> None:
        """`real_of` an instant of the shard's clock: what people's watches show then; `journal`:
        where past cycles are kept; `journal_trouble`: why none is recorded now, empty if they are;
        `written`: tells what is recorded as it is; `feed`: tells of every cycle;
        `costs`: keeps those of past hours.
        """
        self._real_of = real_of
        self._journal_trouble = journal_trouble
        self._state = state
        self._outlet = outlet
        self._usage = usage
        self._what_ifs = what_ifs or WhatIfs(state.settings.id, state.epoch, journal)
        self._writes = AdminWrites(state, outlet)
        self._forecasts = forecasts or Forecasts(state, stopwatch, NullLog())
        self._explanations = Explanations(state, journal, stopwatch, self._forecasts)
        self._journal_streams = JournalStreams(journal, written, state.epoch)
        self._costs = costs or ShardCosts(state, None, outlet.clock, NullLog())
        self._need_rows = NeedRowBytes()
        self._written = written
        self._statements = statements
        self._feed = feed or EventFeed(state, outlet.now, stopwatch, NullLog())

    async def status(self) -> ShardStatus:
        return self._whole(self._state.status())

    def _whole(self, status: ShardStatus) -> ShardStatus:
        """With what its process knows."""
        audit = self._outlet.audit
        lost = audit.trouble if audit is not None else ""
        unrecorded = self._journal_trouble()
        return replace(
            status,
            journal_degraded=bool(unrecorded),
            journal_error=unrecorded,
            journal_first_cycle=0 if self._written is None else self._written.first_cycle,
            data_dir=str(Path(self._state.settings.data_dir).absolute()),
            store_error=status.store_error or lost or unrecorded,
            cpu_cores=self._usage.cores_used(),
            resident_bytes=self._usage.resident_bytes(),
        )

    async def pause(self, call: PauseCall, peer: Peer) -> Paused:
        return await self._writes.alone(self._pause(call, peer))

    async def _pause(self, call: PauseCall, peer: Peer) -> Paused:
        pauses = self._state.parts.pauses
        asked = PauseRequest(
            call.audit.owner,
            call.audit.reason,
            call.scope,
            call.ttl_seconds,
            call.no_expiry,
            call.pause_id,
            peer.identity or "",
        )
        made = pauses.planned(asked, self._outlet.now())
        what = f"pause {made.pause_id}"
        file = self._state.settings.rails.pause_file
        hint = f"; to stop everything meanwhile, put an empty file {file!r} into the data dir"
        row = {(PAUSES, made.pause_id): row_of_pause(made)}
        await self._writes.begin(what, call.audit, peer, row, hint)
        pauses.begin(made)
        self._writes.audit(what, call.audit, peer)
        self._outlet.obey(self._state.taken())
        return Paused(made, pauses.active())

    async def resume(self, call: ResumeCall, peer: Peer) -> Resumed:
        return await self._writes.alone(self._resume(call, peer))

    async def _resume(self, call: ResumeCall, peer: Peer) -> Resumed:
        pauses, audit = self._state.parts.pauses, call.audit
        if rows := {(PAUSES, p.pause_id): None for p in pauses.to_lift(*_lifting(call))}:
            what = f"resume {', '.join(pause_id for _, pause_id in rows)}"
            await self._writes.begin(what, audit, peer, rows)
        at, who = self._outlet.now(), who_text(audit.owner, peer.identity)
        lifted = pauses.resume(*_lifting(call), at, who, audit.reason)
        for pause in lifted:
            self._writes.audit(f"resume {pause.pause_id}", audit, peer)
        self._outlet.obey(self._state.taken())
        return Resumed(lifted, pauses.active())

    async def pauses(self, include_expired: bool) -> PauseList:
        pauses = self._state.parts.pauses
        gone = pauses.gone() if include_expired else ()
        return PauseList((*pauses.active(), *gone), self._state.settings.dry_run)

    async def sessions(self, cluster: str) -> Sequence[SessionView]:
        return self._state.parts.sessions.views(cluster)

    async def machines(self, query: MachineQuery) -> MachineListing:
        views = self._state.machine_views
        found = views.matching(query)
        try:
            shown = await asyncio.to_thread(views.page, found, query)
        except BadPlace as problem:
            raise Rejected(Code.INVALID_ARGUMENT, f"after_value: {problem}") from None
        deciding = self._state.decision_loop
        return MachineListing(
            deciding.number, self._outlet.now(), len(found), self._machine_views(shown)
        )

    async def story(self, call: StoryCall) -> MachineStory:
        events, cut = self._state.machine_views.story(call.machine_id, call.since, call.limit)
        machine = self._view_or_none(call.machine_id)
        if machine is None and not events:
            raise Rejected(Code.NOT_FOUND, f"no machine {call.machine_id} in this shard")
        return MachineStory(machine, events, cut)

    async def clear(
        self, machine_id: str, mode: ClearMode, audit: Audit, peer: Peer
    ) -> ClearedMachine:
        return await self._writes.alone(self._clear(machine_id, mode, audit, peer))

    async def _clear(
        self, machine_id: str, mode: ClearMode, audit: Audit, peer: Peer
    ) -> ClearedMachine:
        what = f"{mode.name.lower()} of {machine_id}"
        await self._writes.begin(what, audit, peer)
        try:
            text = self._state.parts.failures.clear(machine_id, mode, self._outlet.now())
        except NoSuchMachine as problem:
            raise Rejected(Code.NOT_FOUND, str(problem.args[0])) from None
        except NotFailed as problem:
            raise Rejected(Code.ABORTED, str(problem)) from None
        await self._done(what, audit, peer)
        return ClearedMachine(self._view_or_none(machine_id), text)

    async def quarantines(self) -> Sequence[Quarantine]:
        return self._state.quarantines()

    async def release(
        self, kind: QuarantineKind, subject: str, accept: bool, audit: Audit, peer: Peer
    ) -> ReleasedQuarantine:
        return await self._writes.alone(self._release(kind, subject, accept, audit, peer))

    async def _release(
        self, kind: QuarantineKind, subject: str, accept: bool, audit: Audit, peer: Peer
    ) -> ReleasedQuarantine:
        word = "accepted" if accept else "discarded"
        what = f"{word} the held {kind.name.lower()} of {subject}"
        await self._writes.begin(what, audit, peer)
        held = {(q.kind, q.subject): q for q in self._state.quarantines()}.get((kind, subject))
        text = self._state.release_quarantine(kind, subject, accept, self._outlet.now())
        assert held is not None, "what was released was held"
        await self._done(what, audit, peer)
        return ReleasedQuarantine(held, text)

    async def offerings(self) -> Sequence[OfferingView]:
        return self._state.parts.offerings.views()

    async def reset_offering(self, name: str, audit: Audit, peer: Peer) -> str:
        return await self._writes.alone(self._reset_offering(name, audit, peer))

    async def _reset_offering(self, name: str, audit: Audit, peer: Peer) -> str:
        what = f"reset offering {name}"
        await self._writes.begin(what, audit, peer)
        if not self._state.parts.offerings.reset(name, self._outlet.now()):
            raise Rejected(Code.NOT_FOUND, f"offering {name} does not rest; nothing to reset")
        await self._done(what, audit, peer)
        return f"{name} may be bought again from the next cycle on"

    async def thrash(self) -> Sequence[ThrashFinding]:
        return self._state.parts.thrash.findings()

    async def regret(self) -> Regret:
        return self._feed.last_regret()

    async def invoices(self, call: InvoiceCall) -> Invoices:
        if self._statements is None:
            return Invoices((), (), trouble="this shard keeps no statements")
        found = await asyncio.to_thread(self._statements.invoices, call)
        teams = costs_of((), self._state.parts.settings.now.costs.teams).team_of_cluster
        return replace(found, team_of_cluster=tuple(sorted(teams.items())))

    async def verifier(self) -> VerifierView:
        return self._state.parts.verification.view(self._outlet.now())

    async def set_verifier_policy(
        self, policy: VerifierPolicy, from_settings: bool, audit: Audit, peer: Peer
    ) -> PolicySet:
        chosen = None if from_settings else policy
        return await self._writes.alone(self._set_verifier_policy(chosen, audit, peer))

    async def _set_verifier_policy(
        self, policy: VerifierPolicy | None, audit: Audit, peer: Peer
    ) -> PolicySet:
        verification, at = self._state.parts.verification, self._outlet.now()
        if problem := verification.why_refused(policy):
            raise Rejected(Code.INVALID_ARGUMENT, problem)
        what = "the verifier's policy " + ("as in the settings" if policy is None else str(policy))
        row = verification.row_of(policy, audit, at)
        await self._writes.begin(what, audit, peer, {(VERIFIER, POLICY): row})
        verification.take(policy, audit, at)
        await self._done(what, audit, peer)
        where = "as in the settings" if policy is None else "and stays so through restarts"
        text = f"the verifier's policy is set from the next cycle on, {where}"
        return PolicySet(verification.policy(), text)

    async def report_cluster(self, report: ClusterReport) -> ClusterReportReply:
        parts, at = self._state.parts, self._outlet.now()
        parts.cluster_reports.take(report, at)
        parts.drains.on_refused(report.cluster_id, report.refused, at)
        preemptions = parts.drains.preemptions(report.cluster_id)
        ledger = self._state.decision_loop.ledger
        told = await asyncio.to_thread(
            ledger.standings,
            report.cluster_id,
            ask=report.ask,
            forecasts=self._forecasts.forecasts,
        )
        refused = parts.ingest.refusal_of(report.cluster_id)
        return replace(told, preemptions=preemptions, refused_rollup=refused)

    async def explain_need(self, call: ExplainNeedCall) -> NeedExplanation:
        return await self._explanations.need(call)

    async def explain_machine(self, call: MachineCall) -> MachineAnswer:
        return await self._explanations.machine(call)

    async def why_not(self, call: WhyNotCall) -> WhyNot:
        return await self._explanations.why_not(call)

    async def decisions(self, query: DecisionQuery) -> DecisionList:
        return await self._explanations.decisions(query)

    async def cycle(self, call: CycleCall) -> CycleView:
        return await self._explanations.cycle(call)

    async def figures(self, axes: Sequence[CostAxis], cycle: int) -> ShardFigures:
        figures = self._feed.figures
        if not cycle:
            return await figures.now(axes)
        return await figures.of_past(await self._explanations.given(cycle), axes)

    async def costs(self, call: CostCall) -> CostReport:
        given = await self._explanations.given(call.cycle) if call.cycle else None
        return await self._costs.report(call, given)

    async def available(self, call: AvailableCall) -> AvailableList:
        return await self._feed.figures.available(call)

    async def forecasts(self, call: ForecastCall) -> ForecastReport:
        return self._forecasts.told(call)

    def tail_journal(self, call: TailCall) -> AsyncGenerator[JournalRecord, None]:
        return self._journal_streams.tail(call)

    def fetch_journal(self, call: FetchCall) -> AsyncGenerator[JournalHeader | bytes, None]:
        return self._journal_streams.fetch(call)

    async def watch_events(self, call: WatchCall) -> AsyncGenerator[ShardEvent, None]:
        async with aclosing(self._feed.watch(call)) as events:
            async for event in events:
                if (seen := event.overview) is not None:
                    whole = replace(seen, status=self._whole(seen.status))
                    event = replace(event, overview=whole)
                yield event

    async def fleet_map(self, call: FleetMapCall) -> FleetMap:
        return await self._feed.fleet_map(call, self._explanations)

    async def list_needs(self, query: NeedQuery) -> EncodedNeeds:
        if query.cycle and (past := await self._explanations.needs(query)) is not None:
            return EncodedNeeds.of(past)
        told = NeedSourcesTold(self._state.parts.cluster_reports.sources(), query.sources)
        ledger = self._state.decision_loop.ledger
        forecasts = self._forecasts.forecasts
        return await asyncio.to_thread(self._need_rows.listing, ledger, query, told, forecasts)

    async def dump_fleet(self, cycle: int) -> AsyncGenerator[bytes, None]:
        """Live records are read on the loop, a few at a time; lines are made in a thread."""
        given, state = self._state.decision_loop.given, self._state
        if given is None:
            text = "no cycle has ended since the shard started; ask again in a moment"
            raise Rejected(Code.UNAVAILABLE, text, reason="no-cycle")
        is_past = cycle not in (0, given.cycle)
        if is_past:
            given = await self._explanations.given(cycle)
        plan, at = state.decision_loop.plan_options(), self._real_of(given.at)
        dump = FleetDump(given, plan, state.settings.id, state.epoch, at)
        yield await asyncio.to_thread(dump.header)
        for rows in pieces(dump.machine_count, AT_A_TIME):
            # What is known of a machine now is not what was known then.
            extras = dump.unknown(rows) if is_past else dump.extras(rows, state.parts.machines)
            yield await asyncio.to_thread(dump.machine_lines, rows, extras)
        for rows in pieces(dump.need_count, AT_A_TIME):
            yield await asyncio.to_thread(dump.need_lines, rows)

    async def what_if(self, call: WhatIfCall) -> WhatIfAnswer:
        return await self._what_ifs.answer(call, self._finished())

    async def isolated(self, call: IsolatedCall) -> IsolatedReport:
        return await self._what_ifs.isolated(call)

    async def counterfactual(self, call: CounterfactualCall) -> CounterfactualAnswer:
        return await self._what_ifs.counterfactual(call, self._finished())

    def _finished(self) -> FinishedCycle:
        finished = self._state.decision_loop.finished
        if finished is None:
            text = "no cycle has ended since the shard started; ask again in a moment"
            raise Rejected(Code.UNAVAILABLE, text, reason="no-cycle")
        return finished

    async def _done(self, what: str, audit: Audit, peer: Peer) -> None:
        """The log and the audit file name who changed what; returns when the change is on disk."""
        self._state.effects.log(
            "warning",
            "admin",
            f"{who_text(audit.owner, peer.identity)}: {what} ({audit.reason})",
            owner=audit.owner,
            reason=audit.reason,
            peer=peer.identity or "",
        )
        self._writes.audit(what, audit, peer)
        await self._writes.finish()

    def _view_or_none(self, machine_id: str) -> MachineView | None:
        try:
            return self._state.machine_views.view(machine_id)
        except NoSuchMachine:
            return None

    async def _machine_views(self, ids: Sequence[str]) -> AsyncGenerator[MachineView, None]:
        for place, machine_id in enumerate(ids):
            if place % AT_A_TIME == 0:
                await next_turn()
            if (view := self._view_or_none(machine_id)) is not None:
                yield view


def _lifting(call: ResumeCall) -> tuple[str, bool]:
    return call.pause_id, call.everything
