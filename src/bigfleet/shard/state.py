"""The shard's state: what happened goes in as an event, what is to be done comes out.

Pure: the same events in the same order give the same instructions. Every entry returns the
instructions it caused, in order. What people ask is answered without changing anything.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, assert_never

from bigfleet.edge.counts import Counts, Survey
from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import CoordinatorInstruction, Obeyed
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import STORE, Code, Rejected
from bigfleet.model.session_frames import ShardFrame
from bigfleet.model.shard_views import (
    Quarantine,
    QuarantineKind,
    ShardStatus,
)
from bigfleet.shard.coordination.coordination import Found
from bigfleet.shard.cycle import CycleInput, Deliberation
from bigfleet.shard.decision_loop import MOST_FAILURES
from bigfleet.shard.events import (
    BlobArrived,
    CallAnswered,
    HelloRepeated,
    ListArrived,
    ListFailed,
    ReclaimAcked,
    RollupArrived,
    SessionClosed,
    SessionOpened,
)
from bigfleet.shard.ingest.ingest import NothingHeld
from bigfleet.shard.instructions import GetCall, Instruction
from bigfleet.shard.journal_notes import instruction_event
from bigfleet.shard.ledgers.summaries import measure_costs, measure_demand, measure_machines
from bigfleet.shard.parts import Parts, ShardStart
from bigfleet.shard.reconciling.list_reading import LastList, ListReading
from bigfleet.shard.reconciling.list_schedule import ListPlan
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.views import MachineViews

Event = (
    SessionOpened
    | HelloRepeated
    | SessionClosed
    | RollupArrived
    | BlobArrived
    | ReclaimAcked
    | ListArrived[ListReading]
    | ListFailed
    | CallAnswered
)

#: A shard that waits for its providers says so this often.
_TELL_WAITING = 60 * SECOND


class ShardState:
    def __init__(self, start: ShardStart, *, version: str = "", workers: int = 1) -> None:
        self.parts = parts = Parts(start, workers)
        self.effects = parts.effects
        self._start = start
        self._version = version
        self._stopping = False
        #: When the last cycle was begun.
        self.last_cycle_began = start.at
        self._told_waiting_at = start.at
        #: Of the last tick; gauges are read without a clock.
        self._at = start.at
        self.decision_loop = parts.decision_loop
        self.coordination = parts.coordination
        self.machine_views = MachineViews(parts)

    @property
    def settings(self) -> ShardSettings:
        return self.parts.settings.now

    @property
    def epoch(self) -> int:
        return self._start.epoch

    # -- events ----------------------------------------------------------------------------------

    def handle(self, event: Event) -> list[Instruction]:
        parts = self.parts
        match event:
            case SessionOpened():
                parts.sessions.on_opened(event)
            case HelloRepeated():
                parts.sessions.on_repeated(event)
            case SessionClosed():
                parts.sessions.on_closed(event)
            case RollupArrived(session, rollup, at):
                cluster = parts.sessions.cluster_of(session)
                if cluster and parts.ingest.on_rollup(cluster, rollup, at):
                    parts.sessions.acknowledge_rollup(session)
            case BlobArrived(session, response, at):
                if cluster := parts.sessions.cluster_of(session):
                    parts.execution.on_blob(cluster, response, at)
            case ReclaimAcked(session, ack, at):
                if cluster := parts.sessions.cluster_of(session):
                    parts.drains.on_ack(cluster, ack, at)
            case ListArrived():
                parts.reconciler.on_list(event)
            case ListFailed():
                parts.reconciler.on_list_failed(event)
            case CallAnswered():
                self._on_answer(event)
            case _:
                assert_never(event)
        return self.taken()

    def tick(self, at: Instant) -> list[Instruction]:
        """Once a second: deadlines, rests, expiries."""
        parts = self.parts
        self._at = at
        parts.pauses.tick(at)
        parts.sessions.tick(at)
        parts.cluster_reports.tick(at)
        parts.lost.tick(at)
        parts.machines.losses.tick(at)
        parts.reconciler.tick(at)
        parts.drains.tick(at)
        parts.failures.tick(at)
        parts.deadlines.tick(at)
        parts.offerings.tick(at)
        parts.execution.tick(at)
        parts.thrash.tick(at)
        self.coordination.tick(at)
        return self.taken()

    def pause_file_read(
        self, text: str | None, written: Instant | None, at: Instant
    ) -> list[Instruction]:
        self.parts.pauses.on_file(text, at, written)
        return self.taken()

    def session_refused(self, cluster: str, peer: str, rejected: Rejected) -> list[Instruction]:
        """A stream that was not let in."""
        effects = self.effects
        if rejected.code is Code.PERMISSION_DENIED:
            effects.counts.add("session_identity_rejected_total")
        text = f"a session of cluster {cluster} was refused: {rejected}"
        effects.log("warning", "session_refused", text, cluster=cluster, peer=peer)
        return self.taken()

    def frame_skipped(self, cluster: str) -> list[Instruction]:
        text = f"the operator of {cluster} sent a frame this version does not know; it is skipped"
        self.effects.log("info", "frame_skipped", text, cluster=cluster)
        return self.taken()

    def apply_settings(self, settings: ShardSettings) -> list[Instruction]:
        """What SIGHUP may change has changed; the rest of `settings` is as it was."""
        self.parts.settings.replace(settings)
        self.effects.wake()
        return self.taken()

    def attach_provider(self, name: str, address: str) -> None:
        """One more, while the shard runs; its Lists come from here on."""
        self.parts.providers[name] = address
        self.parts.reconciler.attach(name)

    def stop(self, at: Instant) -> list[Instruction]:
        """Nothing new is begun from here on."""
        self._stopping = True
        self.parts.execution.stop(at)
        return self.taken()

    def abandon(self, at: Instant) -> list[Instruction]:
        self.parts.execution.abandon(at)
        return self.taken()

    def taken(self) -> list[Instruction]:
        return self.effects.taken()

    # -- cycles ----------------------------------------------------------------------------------

    def may_decide(self, at: Instant) -> bool:
        """Not before every provider has been listed: what is not known yet would be bought again,
        and what an earlier life reserved would be forgotten.
        """
        self.last_cycle_began = at
        reconciler = self.parts.reconciler
        if reconciler.listed_once() and reconciler.ownership.known:
            return True
        if at - self._told_waiting_at >= _TELL_WAITING:
            self._told_waiting_at = at
            text = f"nothing is decided yet: {self.why_not_ready()}"
            self.effects.log("warning", "cycle_waiting", text)
        return False

    def begin_cycle(self, at: Instant) -> CycleInput:
        self.last_cycle_began = at
        self.parts.first_machines.on_cycle_begun()
        self.parts.ingest.weights.on_cycle_begun()
        return self.decision_loop.begin(at)

    def end_cycle(self, thought: Deliberation, at: Instant, seconds: float) -> list[Instruction]:
        if not self._stopping:
            self.decision_loop.end(thought, at, seconds)
        return self.taken()

    def fail_cycle(self, given: CycleInput, why: str, at: Instant) -> list[Instruction]:
        self.decision_loop.fail(given, why, at)
        return self.taken()

    def phase_took(self, phase: str, seconds: float) -> None:
        """Parts of the work around the engine: handing actions on, taking a List over."""
        self.effects.counts.observe("cycle_phase_duration_seconds", seconds, phase=phase)

    # -- the coordinator, for its client ---------------------------------------------------------

    def take_sync(
        self, reply: SyncReply, sent: SyncRequest, at: Instant, found: Found | None = None
    ) -> list[Instruction]:
        """What the coordinator answered; `coordination.rows_of` it are on disk."""
        self.coordination.take(reply, sent, at, found)
        return self.taken()

    def obey(
        self, instruction: CoordinatorInstruction, at: Instant
    ) -> tuple[Obeyed, list[Instruction]]:
        """What became of the coordinator's instruction, and what is to be done about it."""
        obeyed = self.coordination.obey(instruction, at)
        if (event := instruction_event(instruction, obeyed)) is not None:
            self.effects.note(event)
        return obeyed, self.taken()

    # -- providers and sessions, for their drivers -----------------------------------------------

    def next_list(self, provider: str, at: Instant) -> ListPlan:
        return self.parts.reconciler.next_list(provider, at)

    def known_machines(self, provider: str) -> LastList:
        return self.parts.reconciler.known_machines(provider)

    def continue_list(self, provider: str) -> bool:
        return self.parts.reconciler.continue_list(provider)

    def continue_sweep(self) -> bool:
        """One more piece of what a new view changed; False once everything not ours is gone."""
        return self.parts.reconciler.continue_sweep()

    def listed_once(self) -> bool:
        """Whether every provider has been listed: what clusters have is known."""
        return self.parts.reconciler.listed_once()

    def take_frames(self, session: int, limit: int) -> Sequence[ShardFrame]:
        return self.parts.sessions.take(session, limit)

    # -- looking ---------------------------------------------------------------------------------

    def why_not_ready(self) -> str:
        """Empty: ready."""
        if self._stopping:
            return "stopping"
        if not self.parts.reconciler.ownership.known:
            return "what this shard owns is not known yet"
        if not self.listed_once():
            return "not every provider has been listed yet"
        if self.decision_loop.failures_in_a_row >= MOST_FAILURES:
            return f"the engine failed {self.decision_loop.failures_in_a_row} times in a row"
        return ""

    def status(self) -> ShardStatus:
        parts, decision_loop, settings = self.parts, self.decision_loop, self.settings
        return ShardStatus(
            shard_id=settings.id,
            epoch=self.epoch,
            version=self._version,
            cycle=decision_loop.number,
            last_cycle_at=decision_loop.last_at,
            last_cycle_seconds=decision_loop.last_seconds,
            not_ready_reason=self.why_not_ready(),
            sessions=len(parts.sessions),
            machines=len(parts.machines),
            needs=len(parts.needs),
            shortfalls=len(parts.shortfalls),
            pauses=parts.pauses.active(),
            dry_run=settings.dry_run,
            queue_depth=parts.execution.queue_depth,
            in_flight=parts.execution.in_flight,
            providers=tuple(
                replace(
                    parts.reconciler.status(name, address),
                    calls=parts.calls.recent(name, decision_loop.last_at or 0),
                )
                for name, address in self.parts.providers.items()
            ),
            coordinator=self.coordination.link(),
            ownership_revision=parts.reconciler.ownership.revision,
            need_states=decision_loop.ledger.counts(),
            stuck_pods=decision_loop.ledger.stuck_pods(),
            store_error=parts.store.trouble,
            failed_machines=parts.failures.count(),
            clusters_refused=parts.ingest.refused_clusters(),
            verifier_incidents=parts.verification.incidents,
            verifier_incident=parts.verification.last_incident,
            verifier_error=parts.verification.error,
            losses=parts.machines.losses.views(self._at),
            lost_waiting=parts.lost.waiting,
        )

    def quarantines(self) -> tuple[Quarantine, ...]:
        parts = self.parts
        return (*parts.ingest.quarantines(), *parts.reconciler.quarantines())

    def release_quarantine(
        self, kind: QuarantineKind, subject: str, accept: bool, at: Instant
    ) -> str:
        """What was done, as a sentence; raises Rejected where nothing is held."""
        held = {(q.kind, q.subject) for q in self.quarantines()}
        if (kind, subject) not in held:
            what = "roll-up of cluster" if kind is QuarantineKind.ROLLUP else "List of provider"
            raise Rejected(Code.NOT_FOUND, f"no {what} {subject} is held")
        try:
            if kind is QuarantineKind.ROLLUP:
                return self.parts.ingest.release(subject, accept, at)
            return self.parts.reconciler.release(subject, accept, at)
        except NothingHeld as problem:
            raise Rejected(Code.NOT_FOUND, str(problem)) from None

    def measure(self) -> None:
        """Set the gauges that are looked up rather than counted."""
        self.survey()(self.effects.counts)

    def survey(self) -> Survey:
        """The same for a copy of the counts, which a thread may fill: what it reads is replaced by
        the next cycle and never changed."""
        counts, at = self.effects.counts, self._at
        counts.set("epoch", self.epoch)
        counts.set("ownership_revision", self.parts.reconciler.ownership.revision)
        self.parts.ingest.measure(counts)
        snapshot, decision = self.parts.machines.inventory.snapshot(), self.decision_loop.decision

        def look_up(counts: Counts) -> None:
            measure_machines(counts, snapshot)
            if decision is not None:
                measure_demand(counts, decision)
                measure_costs(counts, decision)
            self.parts.shortfalls.measure(counts)
            self.parts.need_judge.measure(counts, at)

        return look_up

    def dump(self) -> dict[str, Any]:
        """For /debug/state: sizes of everything that could grow."""
        parts = self.parts
        return {
            "cycle": self.decision_loop.number,
            "machines": len(parts.machines),
            "sessions": len(parts.sessions),
            "clusterReports": len(parts.cluster_reports),
            "lostMachines": len(parts.lost),
            "recentLosses": len(parts.machines.losses),
            "firstMachines": len(parts.first_machines),
            "failingNeeds": len(parts.failing),
            "endedActions": len(parts.outcomes),
            "needStates": len(parts.need_judge),
            "calls": len(parts.calls),
            "verifierReclaims": len(parts.verification),
            "queue": parts.execution.queue_depth,
            "inFlight": parts.execution.in_flight,
            "series": self.effects.counts.series,
            **parts.ingest.weights.sizes(),
            **parts.thrash.sizes(),
            **self.coordination.sizes(),
        }

    # -- within ----------------------------------------------------------------------------------

    def _on_answer(self, event: CallAnswered) -> None:
        parts = self.parts
        code = event.answer.code if isinstance(event.answer, Rejected) else Code.OK
        parts.reconciler.on_call_result(event.call.provider, code, event.at)
        if isinstance(event.answer, Rejected) and event.answer.reason == STORE:
            parts.reconciler.on_write(event.call.provider, event.answer.text)
        elif code is Code.OK and not isinstance(event.call.call, GetCall):
            parts.reconciler.on_write(event.call.provider)
        parts.execution.on_answer(event)
