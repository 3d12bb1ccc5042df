"""Drains: a machine leaves its cluster in three stages, and its pods are asked before it is taken.

NOTIFY: the operator was sent the instruction. EVICTING: it has cordoned the node and evicts, its
budgets respected. PROVIDER: the provider drains. The law: the provider is called only when the
operator says that the node is empty, or when the deadline has passed and the rules allow force. No
Reclaim is forced before the operator has answered once. A lost machine without a Node has no pods:
its drain begins with the provider.

An operator answers an instruction twice in a session: when it has begun and, if it can, when it is
done. After a reconnect it gets the instruction again and answers anew, so answers are counted per
session; taken over from the last one, a repeated first answer would read as done.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import msgspec

from bigfleet.edge.counts import SLOW
from bigfleet.model.action_outcomes import ActionOutcome
from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.backoffs import nanos
from bigfleet.model.cluster_reports import RefusedReclaim
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import Reason
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.session_frames import (
    INSTRUCTION_PREFIX,
    RECLAIM_DONE,
    NodeStateUpdate,
    ReclaimAck,
    ReclaimInstruction,
)
from bigfleet.model.shard_views import ActionView, DrainStage, DrainView, StoryEvent, StorySource
from bigfleet.shard.drains.intents import DrainIntent, intent_of
from bigfleet.shard.effects import DRAINS, Effects
from bigfleet.shard.execution.outcomes import Outcomes
from bigfleet.shard.execution.phases import Phases
from bigfleet.shard.machines import Machines
from bigfleet.shard.rails.pauses import Pauses
from bigfleet.shard.sessions.sessions import Sessions
from bigfleet.shard.settings import CurrentShardSettings

if TYPE_CHECKING:  # they use the drains too
    from bigfleet.shard.decision_loop import DecisionLoop
    from bigfleet.shard.execution.execution import Execution

S = MachineState


class DrainNeighbours(Protocol):
    """Parts that are made after the drains, or begin them."""

    execution: "Execution"
    decision_loop: "DecisionLoop"


class Drains:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        settings: CurrentShardSettings,
        sessions: Sessions,
        pauses: Pauses,
        outcomes: Outcomes,
        phases: Phases,
        new_id: Callable[[], str],
        parts: DrainNeighbours,
    ) -> None:
        """`new_id`: a random name for an instruction."""
        self._effects = effects
        self._machines = machines
        self._settings = settings
        self._sessions = sessions
        self._pauses = pauses
        self._outcomes = outcomes
        self._phases = phases
        self._new_id = new_id
        self._parts = parts
        #: All and only the machines that are to leave, by id.
        self._intents: dict[str, DrainIntent] = {}
        self._machine_of_instruction: dict[str, str] = {}
        #: Machines whose Reclaim was given up -> until when they are left in peace.
        self._exempt: dict[str, Instant] = {}
        machines.watch(self.on_change)

    # -- asking ----------------------------------------------------------------------------------

    def intent(self, machine: str) -> DrainView | None:
        found = self._intents.get(machine)
        return found.view() if found else None

    def deadline_of(self, machine: str) -> Instant | None:
        found = self._intents.get(machine)
        return found.deadline if found else None

    def reclaiming(self) -> frozenset[str]:
        """Machines whose Reclaim can still be called off; claimed again, they are to be kept."""
        return frozenset(i.machine for i in self._intents.values() if _can_be_called_off(i))

    def open_by_cluster(self) -> Counter[str]:
        return Counter(intent.cluster for intent in self._intents.values())

    def why_waiting(self, action: Action, at: Instant) -> Reason | None:
        """Why a drain is not begun now."""
        if action.kind is not ActionKind.RECLAIM:
            return None
        until = self._exempt.get(action.machine, 0)
        if at < until:
            left = -(-(until - at) // SECOND)
            facts = {"subject": action.machine, "left": left, "what": "a Reclaim was given up"}
            return Reason("rail.backoff", facts)
        deferred = self._settings.now.drain.reclaim_without_session == "defer"
        if deferred and not self._sessions.is_open(action.cluster):
            return Reason("rail.no-session", {"cluster": action.cluster})
        return None

    # -- events ----------------------------------------------------------------------------------

    def begin(self, action: Action, view: ActionView, at: Instant) -> None:
        if action.machine not in self._machines:
            self._outcomes.end(view, ActionOutcome.TRANSITION_RACED, at, "the machine is gone")
            return
        machine = self._machines.truth(action.machine)
        older = self._intents.get(action.machine)
        if machine.state is not S.CONFIGURED or machine.cluster != action.cluster:
            why = f"it is {machine.state.label} of {machine.cluster or 'no cluster'} by now"
            self._outcomes.end(view, ActionOutcome.TRANSITION_RACED, at, why)
        elif older is not None:
            self._hurry(older, action, view, at)
        elif reason := self.why_waiting(action, at):
            no_session = reason.code == "rail.no-session"
            outcome = ActionOutcome.NO_SESSION if no_session else ActionOutcome.TRANSITION_RACED
            self._outcomes.end(view, outcome, at, reason.text)
        else:
            self._open(machine, action, view, at)

    def may_give_back(self, machine_id: str, cluster: str, without_pods: bool, at: Instant) -> bool:
        """False: it is leaving already, or its drain would have to wait."""
        action = Action(ActionKind.RECLAIM, machine_id, cluster, Rule.EXCESS)
        waits = not without_pods and self.why_waiting(action, at) is not None
        return machine_id not in self._intents and not waits

    def give_back(
        self, machine_id: str, cluster: str, why: str, without_pods: bool, at: Instant
    ) -> None:
        """Its cluster lost the machine.

        `without_pods`: straight to the provider, without grace. Otherwise the operator evicts, and
        what is left at the deadline does not keep the machine.
        """
        grace = 0 if without_pods else round(self._settings.now.drain.reclaim_grace)
        action = Action(ActionKind.RECLAIM, machine_id, cluster, Rule.EXCESS, grace)
        view = ActionView(
            0, 0, action.kind, machine_id, cluster, reason=why, grace_seconds=grace, at=at
        )
        machine = self._machines.truth(machine_id)
        intent = self._new_intent(machine, action, view, grace, at)
        intent.without_pods, intent.is_repair = without_pods, not without_pods
        self._tell(intent, at, f"given back: {why}")
        if without_pods:
            self._to_provider(intent, at)
        else:
            self._send(intent, at)
        self._keep(intent)

    def on_ack(self, cluster: str, ack: ReclaimAck, at: Instant) -> None:
        intent = self._intents.get(self._machine_of_instruction.get(ack.instruction_id, ""))
        if intent is None or intent.cluster != cluster or intent.stage is DrainStage.PROVIDER:
            return
        intent.answers += 1
        if intent.answers == 1:
            intent.acked = True
            if intent.stage is DrainStage.NOTIFY:
                intent.stage = DrainStage.EVICTING
                self._tell(intent, at, "the operator has cordoned the node", StorySource.OPERATOR)
            self._keep(intent)
        elif intent.says_when_done and ack.nodes_started == 0 and at < intent.deadline:
            # Before the deadline: what is left has no place to go any more.
            if _can_be_called_off(intent):
                self._abort(intent, "refused", "its operator called it off", at)
        elif intent.says_when_done and ack.nodes_started > 0 and not intent.evicted:
            intent.evicted = True
            seconds = max(0, at - intent.begun_at) / SECOND
            kind = intent.kind.label
            self._effects.counts.observe("eviction_seconds", seconds, SLOW, kind=kind)
            self._tell(intent, at, "the operator has evicted its pods", StorySource.OPERATOR)
            self._keep(intent)
            self._to_provider(intent, at)

    def on_refused(self, cluster: str, refused: Iterable[RefusedReclaim], at: Instant) -> None:
        """Told again with every report; each reason makes one line of the story."""
        for each in refused:
            intent = self._intents.get(self._machine_of_instruction.get(each.instruction_id, ""))
            if intent is None or intent.cluster != cluster or intent.refusal == each.text:
                continue
            intent.refusal = each.text
            self._tell(intent, at, f"the operator keeps it: {each.text}", StorySource.OPERATOR)
            self._keep(intent)

    def preemptions(self, cluster: str) -> tuple[str, ...]:
        """Ids of open instructions that the cluster cannot refuse: a higher Need takes the machine,
        or it is broken."""
        return tuple(
            intent.instruction_id
            for intent in self._intents.values()
            if intent.cluster == cluster and (intent.kind is ActionKind.PREEMPT or intent.is_repair)
        )

    def on_session_opened(self, cluster: str, at: Instant) -> tuple[ReclaimInstruction, ...]:
        """What the cluster is to be told after the replay of its machines.

        Also what was evicted and waits for a pause to end: an operator that hears nothing of it
        takes the machine for one that stays, and lets pods back in. So it is asked anew.
        """
        waiting = [
            intent
            for intent in self._intents.values()
            if intent.cluster == cluster
            and intent.stage is not DrainStage.PROVIDER
            and not intent.without_pods
        ]
        for intent in waiting:
            intent.evicted = False
            if intent.was_sent:
                self._effects.counts.add("reclaim_resends_total")
            self._sent(intent, at)
        return tuple(intent.instruction(at) for intent in waiting)

    def replayed(self, update: NodeStateUpdate | None) -> NodeStateUpdate | None:
        """What a cluster is told first of a machine, given what the last List said of it.

        What was emptied in an earlier life and is the provider's to drain goes on leaving, though
        the provider may not have heard of it: told Configured, its operator lets pods back in.
        """
        intent = None if update is None else self._intents.get(update.machine_id)
        if update is None or intent is None or intent.stage is not DrainStage.PROVIDER:
            return update
        return replace(update, state=S.DRAINING) if update.state is S.CONFIGURED else update

    def cancel(self, machine: str, at: Instant) -> bool:
        """The engine claims the machine again; True: it stays."""
        intent = self._intents.get(machine)
        if intent is None or not _can_be_called_off(intent):
            return False
        self._abort(intent, "cancelled", "it is needed again", at)
        return True

    def call_off(self, machine: str, why: str, at: Instant) -> bool:
        """A preempted machine is not wanted any more; False: it is too late."""
        intent = self._intents.get(machine)
        if intent is None or intent.stage is DrainStage.PROVIDER:
            return False
        if self._machines.is_shown_as_draining(machine):
            self._machines.show_as_it_is(machine, at)
        self._abort(intent, "cancelled", why, at)
        self._parts.decision_loop.abandon(machine)
        return True

    def forget(self, machine: str) -> None:
        """It is another shard's by now, and was never seen in this life: no drain is open here."""
        self._exempt.pop(machine, None)
        if (intent := self._intents.get(machine)) is not None:
            self._close(intent)

    def tick(self, at: Instant) -> None:
        for intent in list(self._intents.values()):
            self._look_at(intent, at)
        for machine in [m for m, until in self._exempt.items() if at >= until]:
            del self._exempt[machine]
        stages = Counter(intent.stage for intent in self._intents.values())
        for stage in DrainStage:
            self._effects.counts.set("drains_open", stages[stage], stage=stage.name.lower())

    def on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        machine = after.id if after else before.id if before else ""
        intent = self._intents.get(machine)
        # While the pool has the drain, the pool tells its end.
        if intent is not None and not intent.is_called:
            self._settle(intent, after, at)
            if before is None:
                self._show_as_draining(intent, at)

    def load(self, rows: Mapping[str, bytes]) -> None:
        """Intents of the last life; what became of their machines is seen with the first List."""
        for key, row in rows.items():
            try:
                intent = intent_of(row)
            except (msgspec.ValidationError, msgspec.DecodeError) as problem:
                text = f"the stored drain of {key} cannot be read and is dropped: {problem}"
                self._effects.log("warning", "drain_unreadable", text, machine=key)
                self._effects.persist(DRAINS, key, None)
                continue
            self._intents[intent.machine] = intent
            self._machine_of_instruction[intent.instruction_id] = intent.machine

    # -- opening ---------------------------------------------------------------------------------

    def _new_intent(
        self, machine: Machine, action: Action, view: ActionView, grace: int, at: Instant
    ) -> DrainIntent:
        intent = DrainIntent(
            instruction_id=INSTRUCTION_PREFIX + self._new_id(),
            machine=machine.id,
            cluster=action.cluster,
            node=machine.labels.get(HOSTNAME_KEY, "") or machine.id,
            kind=action.kind,
            stage=DrainStage.NOTIFY,
            begun_at=at,
            deadline=at + grace * SECOND,
            preemptor_priority=action.preemptor_priority,
            cycle=view.cycle,
            index=view.index,
            reason=view.reason,
            grace_seconds=grace,
        )
        self._intents[machine.id] = intent
        self._machine_of_instruction[intent.instruction_id] = machine.id
        return intent

    def _open(self, machine: Machine, action: Action, view: ActionView, at: Instant) -> None:
        grace = self._grace_of(action)
        intent = self._new_intent(machine, action, view, grace, at)
        if action.kind is ActionKind.PREEMPT:
            self._machines.show_as_draining(machine.id, at)
        self._tell(intent, at, f"{action.kind.label} begun, {grace} s of grace: {view.reason}")
        if self._sessions.is_open(intent.cluster):
            self._send(intent, at)
        elif action.kind is ActionKind.RECLAIM:
            text = f"reclaim fallback: {intent.cluster} is not connected, the provider drains now"
            self._effects.log("warning", "reclaim_fallback", text, machine=machine.id)
            self._to_provider(intent, at)
        self._keep(intent)

    def _grace_of(self, action: Action) -> int:
        if action.kind is ActionKind.RECLAIM:
            return round(self._settings.now.drain.reclaim_grace)
        return max(0, action.grace_seconds)

    def _hurry(self, intent: DrainIntent, action: Action, view: ActionView, at: Instant) -> None:
        """A Reclaim under way becomes a Preempt, with a sooner deadline."""
        hurried = action.kind is ActionKind.PREEMPT and intent.kind is ActionKind.RECLAIM
        if not hurried or intent.stage is DrainStage.PROVIDER:
            self._outcomes.end(view, ActionOutcome.TRANSITION_RACED, at, "it already drains")
            return
        self._outcomes.end(intent.action_view(), ActionOutcome.CANCELLED, at, "a Preempt took over")
        intent.kind = ActionKind.PREEMPT
        intent.preemptor_priority = action.preemptor_priority
        intent.grace_seconds = self._grace_of(action)
        intent.deadline = min(intent.deadline, at + intent.grace_seconds * SECOND)
        intent.cycle, intent.index, intent.reason = view.cycle, view.index, view.reason
        self._machines.show_as_draining(intent.machine, at)
        self._tell(intent, at, f"the Reclaim becomes a Preempt: {view.reason}")
        if not intent.evicted and self._sessions.is_open(intent.cluster):
            self._sessions.send(intent.cluster, intent.instruction(at))
        self._keep(intent)

    def _send(self, intent: DrainIntent, at: Instant) -> None:
        self._sent(intent, at)
        self._sessions.send(intent.cluster, intent.instruction(at))

    def _sent(self, intent: DrainIntent, at: Instant) -> None:
        intent.answers, intent.was_sent = 0, True
        intent.says_when_done = RECLAIM_DONE in self._sessions.features(intent.cluster)
        self._tell(intent, at, f"instruction sent to the operator of {intent.cluster}")
        self._keep(intent)

    # -- going on --------------------------------------------------------------------------------

    def _look_at(self, intent: DrainIntent, at: Instant) -> None:
        if intent.is_called or intent.machine not in self._intents:
            return
        if intent.machine not in self._machines:
            # After a restart, until the first List; a machine that never shows is let go.
            if at >= intent.deadline + _NEVER_SEEN:
                self._close(intent)
            return
        machine = self._machines.truth(intent.machine)
        if machine.state is not S.CONFIGURED or machine.cluster != intent.cluster:
            self._settle(intent, machine, at)
        else:
            self._show_as_draining(intent, at)
        if intent.machine in self._intents and machine.state is S.CONFIGURED:
            self._advance(intent, at)

    def _show_as_draining(self, intent: DrainIntent, at: Instant) -> None:
        """After a restart: the engine must not count a victim as its cluster's machine."""
        if self._intents.get(intent.machine) is not intent or intent.kind is ActionKind.RECLAIM:
            return
        state = self._machines.truth(intent.machine).state
        if state is S.CONFIGURED and not self._machines.is_shown_as_draining(intent.machine):
            self._machines.show_as_draining(intent.machine, at)

    def _advance(self, intent: DrainIntent, at: Instant) -> None:
        if intent.evicted or intent.without_pods or intent.stage is DrainStage.PROVIDER:
            self._to_provider(intent, at)
        elif at >= intent.deadline:
            self._on_deadline(intent, at)

    def _on_deadline(self, intent: DrainIntent, at: Instant) -> None:
        connected = self._sessions.is_open(intent.cluster)
        if intent.kind is ActionKind.PREEMPT:
            if not connected and not self._is_paused(intent):
                self._effects.counts.add("drains_without_session_total")
                text = f"{intent.machine} is preempted without word from {intent.cluster}"
                self._effects.log(
                    "warning", "preempt_without_session", text, machine=intent.machine
                )
            self._to_provider(intent, at)
        elif not connected and self._settings.now.drain.reclaim_without_session == "defer":
            self._abort(intent, "no_session", "its cluster is not connected", at)
        elif intent.says_when_done and not intent.acked:
            # Nothing was begun, so nothing is forced.
            text = intent.refusal or "its operator has not begun to evict"
            self._abort(intent, "refused" if intent.refusal else "pdb", text, at)
        elif intent.says_when_done and not self._is_forced(intent):
            self._abort(intent, "pdb", "pods were left at the deadline", at)
        else:
            self._to_provider(intent, at)

    def _is_forced(self, intent: DrainIntent) -> bool:
        return intent.is_repair or self._settings.now.drain.reclaim_on_deadline == "force"

    def _is_paused(self, intent: DrainIntent) -> bool:
        return self._pauses.is_paused(intent.kind, intent.cluster)

    def _to_provider(self, intent: DrainIntent, at: Instant) -> None:
        # After a restart a machine may be missing from the first Lists: whose it is, they tell.
        if self._is_paused(intent) or intent.machine not in self._machines:
            return
        intent.stage, intent.is_called = DrainStage.PROVIDER, True
        self._keep(intent)

        def ended(outcome: ActionOutcome, text: str, at: Instant) -> None:
            self._on_called(intent, outcome, text, at)

        action, view = intent.action(), intent.action_view()
        self._parts.execution.drain(action, view, intent.remaining_seconds(at), ended, at)

    def _on_called(
        self, intent: DrainIntent, outcome: ActionOutcome, text: str, at: Instant
    ) -> None:
        """The pool is done with it."""
        intent.is_called = False
        if outcome is ActionOutcome.CANCELLED:
            # Paused, or the process stops: the intent stands and goes on later.
            return
        self._finish(intent, outcome, text, at)

    def _settle(self, intent: DrainIntent, after: Machine | None, at: Instant) -> None:
        """The machine was seen somewhere else than Configured of this cluster."""
        if after is None:
            self._finish(intent, ActionOutcome.TRANSITION_RACED, "the machine is gone", at)
        elif after.state in (S.IDLE, S.SPECULATIVE):
            self._finish(intent, ActionOutcome.SUCCESS, "", at)
        elif after.state is S.FAILED:
            self._finish(intent, ActionOutcome.DRAIN_ERROR, after.last_error, at)
        elif after.cluster != intent.cluster or after.state not in (S.CONFIGURED, S.DRAINING):
            text = f"it is {after.state.label} of {after.cluster or 'no cluster'} by now"
            self._finish(intent, ActionOutcome.TRANSITION_RACED, text, at)

    # -- ending ----------------------------------------------------------------------------------

    def _abort(self, intent: DrainIntent, reason: str, text: str, at: Instant) -> None:
        """The machine stays; told Configured, its operator takes the cordon off."""
        self._close(intent)
        self._effects.counts.add("drains_aborted_total", reason=reason)
        self._phases.aborted("drain")
        if reason != "cancelled":
            self._exempt[intent.machine] = at + nanos(self._settings.now.drain.abort_backoff)
        self._tell(intent, at, f"{intent.kind.label} given up: {text}")
        self._say_it_stays(intent)
        self._outcomes.end(intent.action_view(), ActionOutcome.CANCELLED, at, text)

    def _finish(self, intent: DrainIntent, outcome: ActionOutcome, text: str, at: Instant) -> None:
        if self._intents.get(intent.machine) is not intent:
            return
        self._close(intent)
        freed = outcome in (ActionOutcome.SUCCESS, ActionOutcome.UNKNOWN_RESOLVED)
        if intent.kind is ActionKind.PREEMPT and not freed:
            if self._machines.is_shown_as_draining(intent.machine):
                self._machines.show_as_it_is(intent.machine, at)
            self._parts.decision_loop.abandon(intent.machine)
        if not freed:
            self._say_it_stays(intent)
        self._outcomes.end(intent.action_view(), outcome, at, text)

    def _say_it_stays(self, intent: DrainIntent) -> None:
        if intent.machine not in self._machines:
            return
        machine = self._machines.truth(intent.machine)
        if machine.state is S.CONFIGURED and machine.cluster == intent.cluster:
            update = self._machines.node_update(machine, intent.cluster)
            self._sessions.send(intent.cluster, update)

    def _close(self, intent: DrainIntent) -> None:
        self._intents.pop(intent.machine, None)
        self._machine_of_instruction.pop(intent.instruction_id, None)
        self._effects.persist(DRAINS, intent.machine, None)

    def _keep(self, intent: DrainIntent) -> None:
        if self._intents.get(intent.machine) is intent:
            self._effects.persist(DRAINS, intent.machine, intent.row())

    def _tell(
        self,
        intent: DrainIntent,
        at: Instant,
        text: str,
        source: StorySource = StorySource.EXECUTOR,
    ) -> None:
        event = StoryEvent(
            at,
            source,
            text,
            cycle=intent.cycle,
            cluster=intent.cluster,
            instruction_id=intent.instruction_id,
            machine=intent.machine,
        )
        self._effects.tell(event)

    def intents(self) -> Iterable[DrainIntent]:
        return tuple(self._intents.values())


def _can_be_called_off(intent: DrainIntent) -> bool:
    """A lost machine is not claimed again; a cycle that began before may not know that yet."""
    lost = intent.without_pods or intent.is_repair
    return (
        intent.kind is ActionKind.RECLAIM and intent.stage is not DrainStage.PROVIDER and not lost
    )


#: How long after its deadline a drain of the last life waits for its machine to be listed.
_NEVER_SEEN = 3600 * SECOND
