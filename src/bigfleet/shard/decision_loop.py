"""Cycles as the state sees them: freeze an input, and later take what was decided on it.

Between the two the live state goes on. So a decision is never carried out as it stands: every
action passes the rails, which look at the machine as it is now, and what did not pass leaves no
trace in the engine's memory.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import msgspec

from bigfleet.edge.counts import FAST
from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.engine.snapshot import Snapshot
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import PlanOptions
from bigfleet.model.machines import CapacityType, Instant
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND, EngineOptions, Parking, VictimWeights
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import ActionView, Disposition, StorySource
from bigfleet.shard.action_checks import ActionChecks
from bigfleet.shard.cycle import CycleInput, Deliberation
from bigfleet.shard.drains.drains import Drains
from bigfleet.shard.effects import RESERVATIONS, Effects
from bigfleet.shard.execution.execution import Execution
from bigfleet.shard.execution.outcomes import audit_line
from bigfleet.shard.hints import Hints
from bigfleet.shard.ingest.ingest import Ingest
from bigfleet.shard.instructions import WriteAudit
from bigfleet.shard.ledgers.first_machines import FirstMachines
from bigfleet.shard.ledgers.needs import NeedsLedger
from bigfleet.shard.ledgers.shortfalls import Shortfalls
from bigfleet.shard.ledgers.summaries import measure_contention
from bigfleet.shard.machines import Machines
from bigfleet.shard.need_judge import NeedJudge
from bigfleet.shard.rails.caps import PreemptWindow, ReclaimWindow
from bigfleet.shard.rails.dispositions import Disposed, Limits, Ruling, dispose, record
from bigfleet.shard.settings import CurrentShardSettings
from bigfleet.shard.thrash_watch import ThrashWatch

if TYPE_CHECKING:
    from bigfleet.shard.coordination.coordination import Coordination
    from bigfleet.shard.rails.pauses import Pauses
    from bigfleet.shard.rails.verification import Verification

#: Decisions that can still be listed; the journal keeps all of them.
REMEMBERED = 2000
#: What needs no line of its own: it is under way, or only waits for its turn.
_UNTOLD = (Disposition.DEDUPED, Disposition.DROPPED)
#: Failed cycles in a row after which the shard says it is not ready.
MOST_FAILURES = 3


class DecisionNeighbours(Protocol):
    """Parts that are made after the decision loop."""

    coordination: "Coordination"
    verification: "Verification"
    pauses: "Pauses"


class DecisionLoop:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        needs: NeedsTable,
        settings: CurrentShardSettings,
        workers: int,
        *,
        ingest: Ingest,
        checks: ActionChecks,
        execution: Execution,
        drains: Drains,
        judge: NeedJudge,
        shortfalls: Shortfalls,
        first_machines: FirstMachines,
        hints: Hints,
        thrash: ThrashWatch,
        parts: DecisionNeighbours,
    ) -> None:
        """`workers`: threads of a decision."""
        self._effects = effects
        self._machines = machines
        self._needs = needs
        self._settings = settings
        self._workers = workers
        self._ingest = ingest
        self._checks = checks
        self._execution = execution
        self._drains = drains
        self._judge = judge
        self._shortfalls = shortfalls
        self._first_machines = first_machines
        self._hints = hints
        self._thrash = thrash
        self._parts = parts
        self._window = ReclaimWindow()
        self._preempted = PreemptWindow()
        self._memory = EngineMemory()
        #: What is in state.db of the memory's reservations.
        self._kept: Mapping[str, Reservation] = {}
        #: Victims given up since the cycle began: what it decides does not know of it.
        self._given_up: set[str] = set()
        #: Reservations made for transfers that no decision has judged yet: of machines still to
        #: come, or made since the cycle began. All of them are in the memory.
        self._asked: dict[str, Reservation] = {}
        #: Those of them the running cycle was given.
        self._judged: Mapping[str, Reservation] = {}
        self._said: set[tuple[str, Disposition]] = set()
        self.number = 0
        self.last_at: Instant | None = None
        self.last_seconds = 0.0
        self.failures_in_a_row = 0
        self.ledger = NeedsLedger()
        self.decision: Decision | None = None
        #: That decision, what it was made on and what became of it.
        self.finished: FinishedCycle | None = None
        #: Newest last; what was only repeated is left out.
        self.actions: deque[ActionView] = deque(maxlen=REMEMBERED)

    @property
    def given(self) -> EngineInput | None:
        """What the last finished cycle was decided on."""
        return None if self.finished is None else self.finished.given

    @property
    def memory(self) -> EngineMemory:
        return self._memory

    @property
    def reservations(self) -> Mapping[str, Reservation]:
        """By machine."""
        return self._memory.reservations

    def load(self, rows: Mapping[str, bytes]) -> None:
        """Reservations of an earlier life."""
        kept: dict[str, Reservation] = {}
        for machine, row in rows.items():
            try:
                stored = msgspec.json.decode(row, type=_Stored)
            except msgspec.MsgspecError as problem:
                text = f"a reservation of an earlier start cannot be read: {problem}; it is dropped"
                self._effects.log("warning", "reservation_unreadable", text, machine=machine)
                self._effects.persist(RESERVATIONS, machine, None)
                continue
            kept[machine] = Reservation(
                machine, ReservationKind(stored.kind), stored.holder, stored.expires_at
            )
        self._kept = kept
        self._asked = {m: r for m, r in kept.items() if r.kind is not ReservationKind.PREEMPTION}
        self._memory = replace(self._memory, reservations=kept)

    def reserve(self, reservations: Iterable[Reservation]) -> None:
        """For a transfer; the machines may be still to come, and an older one is replaced."""
        for reservation in reservations:
            self._given_up.discard(reservation.machine)
            self._asked[reservation.machine] = reservation
        self._memory = _with(self._memory, self._asked)
        self._persist_reservations()

    def unreserve(self, machines: Iterable[str]) -> None:
        """These machines are not wanted any more."""
        gone = set(machines) & self._memory.reservations.keys()
        self._given_up |= gone
        for machine in gone:
            self._asked.pop(machine, None)
        self._memory = _without(self._memory, gone)
        self._persist_reservations()
        if gone:
            self._effects.wake()

    def abandon(self, machine: str) -> None:
        """A victim will not become free after all: nothing is reserved there any more."""
        self._given_up.add(machine)
        self._thrash.abandon(machine)
        self._asked.pop(machine, None)
        if machine in self._memory.reservations:
            self._memory = _without(self._memory, (machine,))
            self._persist_reservations()
            self._effects.wake()

    def begin(self, at: Instant) -> CycleInput:
        self.number += 1
        self._effects.cycle = self.number
        snapshot = self._machines.inventory.snapshot()
        self._drop_unclaimed(snapshot, at)
        self._given_up.clear()
        self._thrash.on_cycle_begun(at)
        self._parts.verification.on_cycle_begun(self._memory.reservations)
        self._judged = dict(self._asked)
        return CycleInput(
            self.number,
            at,
            snapshot,
            self._needs.freeze(),
            self._memory,
            self.options(),
            self._hints.silent_providers(),
        )

    def fail(self, given: CycleInput, why: str, at: Instant) -> None:
        self.failures_in_a_row += 1
        self.last_at = at
        self._effects.counts.add("cycles_total")
        self._effects.counts.add("cycle_errors_total")
        text = f"cycle {given.cycle} decided nothing: {why}; the next one starts afresh"
        self._effects.log("error", "cycle_failed", text, cycle=given.cycle)

    def end(self, thought: Deliberation, at: Instant, seconds: float) -> None:
        given, decision = thought.given, thought.decision
        self.failures_in_a_row = 0
        self.decision = decision
        snapshot = given.snapshot
        disposed = dispose(
            thought.actions,
            self._checks,
            self._limits(),
            self._window,
            self._preempted,
            at,
        )
        started = (action.machine for _, action in disposed.enqueued())
        self._parts.verification.on_started(started, at)
        self.finished = FinishedCycle(
            given,
            decision,
            DisposedActions(thought, disposed, at),
            {phase: int(s * SECOND) for phase, s in thought.seconds_of_phase.items()},
            self._parts.pauses.active(),
        )
        record(disposed, thought.sentences, given.cycle, self._effects)
        self._count_left_out(thought)
        cut = (*thought.considered.left_victims, *_cut_victims(disposed), *self._given_up)
        self._settle_asked(snapshot)
        self._memory = _with(_without(decision.memory, cut), self._asked)
        self._persist_reservations()
        self._keep_claimed(decision, disposed, at)
        self._hand_on(thought, disposed, at)
        self._tell_decided(thought, at)
        if thought.renumbered is not None:
            self._needs.take_over(thought.renumbered)
        states = self._judge.judge(decision, thought.progress, disposed, at)
        self.ledger = NeedsLedger(decision, given.cycle, at, states, thought.facts)
        self.last_at, self.last_seconds = at, seconds
        self._measure(thought, seconds)

    def promised_since(self, machine: str) -> str:
        """The cycle did not know that the machine was offered to another shard."""
        asked = self._asked.get(machine)
        offered = asked is not None and asked.kind is ReservationKind.OFFER
        return "offered to another shard" if offered and asked != self._judged.get(machine) else ""

    # -- within ----------------------------------------------------------------------------------

    def _settle_asked(self, snapshot: Snapshot) -> None:
        """What the engine was given with its machine in sight is its own to remember or forget."""
        for machine, given in self._judged.items():
            if self._asked.get(machine) == given and snapshot.row_of(machine) >= 0:
                del self._asked[machine]

    def _drop_unclaimed(self, snapshot: Snapshot, at: Instant) -> None:
        """Reservations of machines that never came, once their time is over."""
        over = [
            machine
            for machine, each in self._asked.items()
            if each.expires_at is not None
            and at >= each.expires_at
            and snapshot.row_of(machine) < 0
        ]
        if over:
            self.unreserve(over)

    def options(self) -> EngineOptions:
        settings = self._settings.now
        release, drain, engine = settings.release, settings.drain, settings.engine
        return EngineOptions(
            clusters_ready=frozenset(self._ingest.reported),
            release_holds={
                CapacityType.ON_DEMAND: release.on_demand,
                CapacityType.SPOT: release.spot,
            },
            victim_weights=VictimWeights(
                engine.victim_weight_priority,
                engine.victim_weight_drain,
                engine.victim_weight_interruption,
                engine.victim_weight_reclamation,
            ),
            drain_seconds=engine.drain_estimate,
            parking=Parking(engine.parking_after, engine.parking_probe),
            reservation_margin_seconds=drain.reservation_margin,
            workers=self._workers,
        )

    def plan_options(self) -> PlanOptions:
        """The rails a plan knows too."""
        settings = self._settings.now
        return PlanOptions(settings.rails.reclaim_cap_fraction, settings.max_actions_per_cycle)

    def _limits(self) -> Limits:
        settings = self._settings.now
        return Limits(
            dry_run=settings.dry_run,
            reclaim_cap_fraction=settings.rails.reclaim_cap_fraction,
            reclaim_cap_window_seconds=settings.rails.reclaim_cap_window,
            preempt_cap_per_minute=settings.rails.preempt_cap_per_minute,
            max_actions=settings.max_actions_per_cycle,
            room=self._execution.room(),
        )

    def _keep_claimed(self, decision: Decision, disposed: Disposed, at: Instant) -> None:
        """A Need claims machines again that were being given back."""
        outcome, taken = decision.outcome, _taken_victims(disposed)
        snapshot, holder = outcome.scene.snapshot, outcome.credit.holder
        for machine in self._drains.reclaiming():
            row = snapshot.row_of(machine)
            # What a higher Need takes from it now, it does not keep.
            if row >= 0 and holder[row] >= 0 and machine not in taken:
                self._drains.cancel(machine, at)

    def _tell_decided(self, thought: Deliberation, at: Instant) -> None:
        decision = thought.decision
        spent = sum(thought.seconds_of_phase.values())
        self._ingest.weights.on_cycle_ended(decision, spent)
        self._shortfalls.on_decision(decision, at)
        self._first_machines.on_decision(decision)
        self._thrash.on_decision(decision)
        self._hints.on_decision(decision, at, thought.availability)
        self._parts.coordination.on_decision(at)

    def _hand_on(self, thought: Deliberation, disposed: Disposed, at: Instant) -> None:
        said: set[tuple[str, Disposition]] = set()
        for place, ruling in enumerate(disposed.rulings):
            known = (ruling.action.machine, ruling.disposition)
            if ruling.disposition is Disposition.ENQUEUED:
                view = _told_view_of(thought, place, ruling, at)
                self.actions.append(view)
                self._count_miss(thought, view)
                self._thrash.begin(view, ruling.action, thought.given, thought.decision)
                self._execution.enqueue(view, ruling.action, at)
            elif ruling.disposition not in _UNTOLD:
                said.add(known)
                if known not in self._said:
                    self._tell_held(_told_view_of(thought, place, ruling, at), ruling.reason, at)
        self._said = said

    def _count_miss(self, thought: Deliberation, view: ActionView) -> None:
        """Of a freed victim that goes to a higher Need than the one it was freed for."""
        kept = thought.given.memory.reservations.get(view.machine)
        missed = kept is not None and kept.kind is ReservationKind.PREEMPTION
        if missed and kept and view.kind is ActionKind.BOOTSTRAP and view.need != kept.holder:
            self._effects.counts.add("preemption_reservation_misses_total")

    def _tell_held(self, view: ActionView, reason: Reason | None, at: Instant) -> None:
        """Once, when it begins to be held back; it is decided anew every cycle."""
        assert view.disposition is not None, "what is held back has a disposition"
        word = view.disposition.name.lower().replace("_", "-")
        self.actions.append(view)
        text = f"{view.kind.label} {word}" + (f": {reason.text}" if reason else "")
        self._machines.tell(view.machine, at, StorySource.RAIL, text, view.cluster)
        held = replace(view, outcome=word.replace("-", ""))
        self._effects.ask(WriteAudit(at, audit_line(held)))

    def _count_left_out(self, thought: Deliberation) -> None:
        counts = self._effects.counts
        for kind, number in thought.considered.left_out.items():
            counts.add("actions_dropped_total", number)
            counts.add("action_dispositions_total", number, kind=kind.label, disposition="dropped")
        if thought.considered.left_out:
            self._effects.wake()

    def _persist_reservations(self) -> None:
        now, kept = self._memory.reservations, self._kept
        if now == kept:
            return
        for machine, reservation in now.items():
            if kept.get(machine) != reservation:
                stored = _Stored(reservation.kind.value, reservation.holder, reservation.expires_at)
                self._effects.persist(RESERVATIONS, machine, msgspec.json.encode(stored))
        for machine in kept.keys() - now.keys():
            self._effects.persist(RESERVATIONS, machine, None)
        self._kept = now

    def _measure(self, thought: Deliberation, seconds: float) -> None:
        counts = self._effects.counts
        counts.add("cycles_total")
        counts.observe("cycle_duration_seconds", seconds, FAST)
        for phase, spent in thought.seconds_of_phase.items():
            counts.observe("cycle_phase_duration_seconds", spent, FAST, phase=phase)
        measure_contention(counts, thought.decision, thought.broker_seconds)
        kinds = Counter(r.kind for r in self._memory.reservations.values())
        for kind in ReservationKind:
            counts.set("reservations", kinds[kind], kind=kind.value)


class _Stored(msgspec.Struct):
    kind: str
    holder: NeedKey
    expires_at: int | None


class DisposedActions:
    """The actions of a cycle with what became of them; made into records when they are read."""

    def __init__(self, thought: Deliberation, disposed: Disposed, at: Instant) -> None:
        self._thought = thought
        self._disposed = disposed
        self._at = at

    def __iter__(self) -> Iterator[ActionView]:
        """Without their sentences: these are made again from the recorded input. What is held back
        has the sentence of its rail as its outcome."""
        # Thousands of actions share a few reasons, which are as alive as their rulings.
        texts: dict[int, str] = {}
        for place, ruling in enumerate(self._disposed.rulings):
            view = _view_of(self._thought, place, ruling, self._at)
            held = ruling.reason
            if held is not None and id(held) not in texts:
                texts[id(held)] = held.text
            if held is None:
                yield replace(view, reason="")
            else:
                yield replace(view, reason="", outcome=texts[id(held)], rail=held.code)


def _view_of(thought: Deliberation, place: int, ruling: Ruling, at: Instant) -> ActionView:
    action, outcome = ruling.action, thought.decision.outcome
    return ActionView(
        thought.given.cycle,
        int(thought.considered.places[place]),
        action.kind,
        action.machine,
        action.cluster,
        outcome.key(action.need) if action.need is not None else None,
        thought.sentences[place],
        action.grace_seconds,
        action.preemptor_priority,
        ruling.disposition,
        at=at,
    )


def _told_view_of(thought: Deliberation, place: int, ruling: Ruling, at: Instant) -> ActionView:
    """With all that people are told of it; what holds it back is the first reason."""
    held = (ruling.reason,) if ruling.reason is not None else ()
    return replace(
        _view_of(thought, place, ruling, at),
        reasons=(*held, *thought.reasons[place]),
        bill_change=thought.bill_changes[place],
    )


def _taken_victims(disposed: Disposed) -> frozenset[str]:
    """Machines whose Preempt is carried out."""
    return frozenset(
        action.machine for _, action in disposed.enqueued() if action.kind is ActionKind.PREEMPT
    )


def _cut_victims(disposed: Disposed) -> list[str]:
    """Machines whose Preempt is not carried out."""
    return [
        ruling.action.machine
        for ruling in disposed.rulings
        if ruling.action.kind is ActionKind.PREEMPT
        and ruling.disposition is not Disposition.ENQUEUED
    ]


def _with(memory: EngineMemory, more: Mapping[str, Reservation]) -> EngineMemory:
    return replace(memory, reservations={**memory.reservations, **more}) if more else memory


def _without(memory: EngineMemory, cut: Iterable[str]) -> EngineMemory:
    """A Preempt that is not carried out reserves nothing."""
    gone = set(cut) & memory.reservations.keys()
    if not gone:
        return memory
    left = {m: r for m, r in memory.reservations.items() if m not in gone}
    return replace(memory, reservations=left)
