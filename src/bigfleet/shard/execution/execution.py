"""Execution: starts actions as the pool allows, and knows of each machine what is under way.

One action per machine is pending at a time: from the queue until its call is answered for good.
What the provider accepted and has not finished is no longer pending, since Lists may then speak
for the machine; its run is remembered until the end is seen, so that the outcome is counted once
and tells what became of the machine.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from bigfleet.model.action_outcomes import ActionOutcome
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.fleet import Marks
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.reasons import Reason
from bigfleet.model.session_frames import BootstrapResponse
from bigfleet.model.shard_views import ActionView
from bigfleet.shard.events import CallAnswered
from bigfleet.shard.execution.action_runs import (
    CONFIGURE,
    CREATE,
    DELETE,
    DRAIN,
    ActionRun,
    ProviderStep,
    RunStage,
    whole_stamp,
)
from bigfleet.shard.execution.blobs import Blobs
from bigfleet.shard.execution.mutation import ANOTHERS, ExecutionContext, MutationRunner
from bigfleet.shard.execution.outcomes import Outcomes
from bigfleet.shard.execution.pool import ActionPool

S = MachineState


class Execution:
    def __init__(
        self,
        context: ExecutionContext,
        outcomes: Outcomes,
        pool: ActionPool,
        new_id: Callable[[], str],
    ) -> None:
        """`new_id`: a random name for a request to an operator."""
        self._context = context
        self._machines = context.machines
        self._failures = context.failures
        self._offerings = context.offerings
        self._pauses = context.pauses
        #: Parts that are made after this one.
        self._parts = context.parts
        self._outcomes = outcomes
        self._pool = pool
        self._mutation = MutationRunner(context, self)
        self._blobs = Blobs(context, self._mutation, self, new_id)
        #: All and only the actions without an outcome, drains before their last stage apart.
        self._runs: dict[str, ActionRun] = {}
        #: Machines whose provider has said that it deletes nothing.
        self._undeletable: set[str] = set()
        self._stopping = False
        context.machines.watch(self.on_change)

    # -- asking ----------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """With which calls are fenced."""
        return self._context.tokens.epoch

    @property
    def queue_depth(self) -> int:
        return self._pool.depth

    @property
    def in_flight(self) -> int:
        return self._pool.in_flight

    def room(self) -> int:
        return 0 if self._stopping else self._pool.room()

    def is_pending(self, machine: str) -> bool:
        run = self._runs.get(machine)
        return run is not None and run.is_pending

    def pending(self, machine: str) -> ActionView | None:
        run = self._runs.get(machine)
        return run.view if run is not None and run.is_pending else None

    def pending_machines(self) -> set[str]:
        return {machine for machine, run in self._runs.items() if run.is_pending}

    def ordered_machines(self) -> list[str]:
        """Slots that are being bought, or wait for it."""
        buys = ActionKind.PROVISION
        return [machine for machine, run in self._runs.items() if run.action.kind is buys]

    def open_bootstraps(self) -> Counter[str]:
        """By cluster."""
        return self._blobs.open_by_cluster()

    def why_backed_off(self, action: Action, at: Instant) -> Reason | None:
        """Whether the target of an action rests, so that it had better not be started now."""
        match action.kind:
            case ActionKind.RECLAIM | ActionKind.PREEMPT:
                return self._parts.drains.why_waiting(action, at)
            case ActionKind.DELETE:
                return None
            case _:
                return self._why_no_order(action, at)

    # -- events ----------------------------------------------------------------------------------

    def enqueue(self, view: ActionView, action: Action, at: Instant) -> bool:
        """False: the queue is full, or the machine has a pending action."""
        if action.kind in (ActionKind.RECLAIM, ActionKind.PREEMPT):
            # A drain begins with words to the operator; it needs no slot before its last stage.
            self._parts.drains.begin(action, view, at)
            return True
        if self.room() <= 0 or self.is_pending(action.machine):
            return False
        if action.machine not in self._machines:
            self._outcomes.end(view, ActionOutcome.TRANSITION_RACED, at, "the machine is gone")
            return True

        def ended(outcome: ActionOutcome, text: str, at: Instant) -> None:
            self._outcomes.end(view, outcome, at, text)

        provider = self._machines.provider_of(action.machine)
        self._join(ActionRun(view, action, provider, ended), at)
        return True

    def drain(
        self,
        action: Action,
        view: ActionView,
        grace_seconds: int,
        ended: Callable[[ActionOutcome, str, Instant], None],
        at: Instant,
    ) -> None:
        """The last stage of a drain: the provider's. Not bounded: it was let in long ago."""
        provider = self._machines.provider_of(action.machine)
        run = ActionRun(view, action, provider, ended, grace_seconds=grace_seconds)
        self._join(run, at)

    def on_answer(self, event: CallAnswered) -> bool:
        """Brings every answer to the call it belongs to; False: no call waits for it any more."""
        awaited = self._context.calls.on_answer(event)
        self._pump(event.at)
        return awaited

    def on_blob(self, cluster: str, response: BootstrapResponse, at: Instant) -> None:
        self._blobs.on_response(cluster, response, at)
        self._pump(at)

    def on_session_closed(self, cluster: str, at: Instant) -> None:
        self._blobs.on_session_lost(cluster, at)
        self._pump(at)

    def tick(self, at: Instant) -> None:
        self._mutation.tick(at)
        self._blobs.tick(at)
        self._pump(at)
        counts = self._context.effects.counts
        counts.set("action_queue_depth", self._pool.depth)
        counts.set("execute_inflight", self._pool.in_flight)

    def stop(self, at: Instant) -> None:
        """The process ends: what has not begun never will."""
        self._stopping = True
        for machine in self._pool.empty_queue():
            self.end(self._runs[machine], ActionOutcome.CANCELLED, "the shard stops", at)

    def abandon(self, at: Instant) -> None:
        """The time of a stop is over: what is still under way is left to the next life."""
        for run in list(self._runs.values()):
            self.end(run, ActionOutcome.CANCELLED, "the shard stopped before the end was seen", at)

    def on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        """A machine changed: perhaps that is the end a run waits for."""
        if after is None:
            self._on_removed(before, at)
            return
        run = self._runs.get(after.id)
        if run is not None and run.stage not in (RunStage.QUEUED, RunStage.CALLING):
            self._on_seen(run, after, at)
        if after.state is S.IDLE and after.id in self._undeletable:
            # Without the time since when it is Idle a machine is never released.
            marks = self._machines.inventory.marks_of(after.id)
            self._machines.inventory.mark(after.id, Marks(held=marks.held))

    # -- starting --------------------------------------------------------------------------------

    def _join(self, run: ActionRun, at: Instant) -> None:
        if (older := self._runs.get(run.machine)) is not None:
            text = "its end was not seen before the next action began"
            self.end(older, ActionOutcome.TRANSITION_RACED, text, at)
        self._runs[run.machine] = run
        self._pool.wait(run.machine, run.provider)
        self._pump(at)

    def _pump(self, at: Instant) -> None:
        """Start what has a slot."""
        while (machine := self._pool.start()) is not None:
            self._start(self._runs[machine], at)

    def _start(self, run: ActionRun, at: Instant) -> None:
        """The machine may have changed since the decision: what it is now counts."""
        kind, verb = run.action.kind, _FIRST_VERB[run.action.kind]
        try:
            machine = self._machines.truth(run.machine)
        except NoSuchMachine:
            self.end(run, ActionOutcome.TRANSITION_RACED, "the machine is gone", at)
            return
        if self._stopping:
            self.end(run, ActionOutcome.CANCELLED, "the shard stops", at)
        elif self._pauses.is_paused(kind, run.action.cluster):
            self.end(run, ActionOutcome.CANCELLED, "paused before it began", at)
        elif not self._parts.reconciler.is_owned(run.machine):
            self.end(run, ActionOutcome.TRANSITION_RACED, ANOTHERS, at)
        elif _is_served(machine, run):
            self.end(run, ActionOutcome.SUCCESS, "already so", at)
        elif why := self._why_raced(run, machine, verb):
            self.end(run, ActionOutcome.TRANSITION_RACED, why, at)
        elif kind is ActionKind.PROVISION:
            self._buy(run, machine, at)
        elif kind is ActionKind.BOOTSTRAP:
            self._blobs.begin(run, at)
        else:
            self._mutation.begin(run, verb, at, run.view.reason or f"{verb.name} begun")

    def _buy(self, run: ActionRun, machine: Machine, at: Instant) -> None:
        if reason := self._why_no_order(run.action, at):
            self._offerings.avoided(machine)
            self.end(run, ActionOutcome.TRANSITION_RACED, reason.text, at)
            return
        self._offerings.bought(machine, at)
        self._mutation.begin(run, CREATE, at, run.view.reason or "bought")

    def _why_raced(self, run: ActionRun, machine: Machine, verb: ProviderStep) -> str:
        if not verb.reached(machine, verb.before, run):
            return f"it is {machine.state.label} by now, {verb.name} needs it {verb.before.label}"
        if self._context.calls.is_busy(run.machine):
            return "an earlier call for it is still without an answer"
        return ""

    def _why_no_order(self, action: Action, at: Instant) -> Reason | None:
        if reason := self._blobs.why_resting(action, at):
            return reason
        if action.kind is not ActionKind.PROVISION or action.machine not in self._machines:
            return None
        machine = self._machines.truth(action.machine)
        why = self._offerings.why_not_bought(machine, at)
        return why or self._parts.quotas.why_not_bought(machine)

    # -- going on --------------------------------------------------------------------------------

    def arrived(self, run: ActionRun, at: Instant) -> None:
        """The verb is done; a Provision that still has its slot goes on to its cluster."""
        if run.verb is not CREATE or run.was_unknown:
            self.end(run, _good(run), "", at)
        elif self._stopping:
            self.end(run, ActionOutcome.CANCELLED, "the shard stops; the machine stays Idle", at)
        elif not self._parts.reconciler.is_owned(run.machine):
            self.end(run, ActionOutcome.CANCELLED, f"{ANOTHERS}; it stays Idle", at)
        elif self._pauses.is_paused(ActionKind.BOOTSTRAP, run.action.cluster):
            self.end(run, ActionOutcome.CANCELLED, "bootstraps are paused; it stays Idle", at)
        else:
            self._blobs.begin(run, at)

    def _on_seen(self, run: ActionRun, after: Machine, at: Instant) -> None:
        """A List or a Get saw the machine move."""
        verb = run.verb
        if verb is None or verb.reached(after, verb.moving, run):
            return
        if verb.reached(after, verb.after, run) or (verb is CREATE and _stands(after)):
            self.end(run, _good(run), "", at)
            self._stamp(run, after, at)
        elif after.state is S.FAILED:
            cause = self._failures.cause_of(after.id)
            self.end(run, _outcome_of(cause, verb), after.last_error, at)
            self._stamp(run, after, at)
        else:
            text = f"the provider shows {after.state.label}"
            self.end(run, ActionOutcome.UNKNOWN_ROLLED_BACK, text, at)

    def _stamp(self, run: ActionRun, after: Machine, at: Instant) -> None:
        """Configured (or Failed, and perhaps Configured after all): what it is worth to whom."""
        if run.verb is CONFIGURE:
            stamped = replace(after, assigned=whole_stamp(run.action))
            self._machines.step(stamped, at, "", adopted=True)

    def _on_removed(self, before: Machine | None, at: Instant) -> None:
        machine = before.id if before else ""
        self._undeletable.discard(machine)
        self._blobs.forget_machine(machine)
        if (run := self._runs.get(machine)) is not None:
            self.end(run, ActionOutcome.TRANSITION_RACED, "the machine is gone", at)

    def release_slot(self, run: ActionRun) -> None:
        """The call is answered, and the run waits for something else now."""
        self._pool.leave(run.machine)

    def end(self, run: ActionRun, outcome: ActionOutcome, text: str, at: Instant) -> None:
        if run.stage is RunStage.OVER:
            return
        if run.stage is RunStage.QUEUED and not self._pool.holds(run.machine):
            self._pool.withdraw(run.machine)
        run.stage, run.blob = RunStage.OVER, None
        del self._runs[run.machine]
        self._pool.leave(run.machine)
        self._mutation.forget(run)
        self._blobs.forget(run)
        run.on_end(outcome, text, at)

    def never_delete(self, machine: str) -> None:
        """Its provider deletes nothing."""
        self._undeletable.add(machine)


_FIRST_VERB = {
    ActionKind.PROVISION: CREATE,
    ActionKind.BOOTSTRAP: CONFIGURE,
    ActionKind.DELETE: DELETE,
    ActionKind.RECLAIM: DRAIN,
    ActionKind.PREEMPT: DRAIN,
}


def _is_served(machine: Machine, run: ActionRun) -> bool:
    """A Bootstrap that was already done, for the same Need's sake."""
    action = run.action
    fingerprint = action.source_profile.fingerprint if action.source_profile else ""
    return (
        action.kind is ActionKind.BOOTSTRAP
        and machine.state is S.CONFIGURED
        and machine.cluster == action.cluster
        and machine.assigned.need_fingerprint == fingerprint
    )


def _stands(machine: Machine) -> bool:
    """Created, and perhaps a step further already."""
    return machine.state in (S.IDLE, S.CONFIGURING, S.CONFIGURED, S.DRAINING, S.DELETING)


def _good(run: ActionRun) -> ActionOutcome:
    return ActionOutcome.UNKNOWN_RESOLVED if run.was_unknown else ActionOutcome.SUCCESS


def _outcome_of(cause: str, verb: ProviderStep) -> ActionOutcome:
    try:
        return ActionOutcome(cause)
    except ValueError:
        return verb.refusal
