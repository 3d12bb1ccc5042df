"""Mutations: one verb carried out on one machine, through every answer of the provider.

The law kept here: a machine changes hands only on what its provider says of it. An answer that got
lost leaves the machine where it is until a Get tells; one that cannot be true makes it Failed. What
the provider accepted is not done yet: the end is seen in the answer, by a Get or in a List.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from bigfleet.model.action_outcomes import ActionOutcome
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.provider_calls import Ack, Code, Rejected, Token
from bigfleet.model.shard_views import StoryEvent, StorySource
from bigfleet.shard.calls import Answer, Calls
from bigfleet.shard.effects import Effects
from bigfleet.shard.execution.action_runs import (
    CONFIGURE,
    CREATE,
    DELETE,
    ActionRun,
    ProviderStep,
    RunStage,
    whole_stamp,
)
from bigfleet.shard.failures.failures import Failures
from bigfleet.shard.instructions import GetCall
from bigfleet.shard.machines import Machines
from bigfleet.shard.offerings.offerings import Offerings
from bigfleet.shard.rails.pauses import Pauses
from bigfleet.shard.reconciling.adoption import adopted_machine
from bigfleet.shard.sessions.sessions import Sessions
from bigfleet.shard.settings import CurrentShardSettings


class FencingTokens:
    """Fencing tokens: one counter for the life of the process, a fresh number for every attempt."""

    def __init__(self, shard_id: str, epoch: int) -> None:
        self._shard_id = shard_id
        self._epoch = epoch
        self._sequence = 0

    @property
    def epoch(self) -> int:
        return self._epoch

    def next(self) -> Token:
        self._sequence += 1
        return Token(self._shard_id, self._epoch, self._sequence)


if TYPE_CHECKING:  # they use the execution too
    from bigfleet.shard.coordination.quotas import Quotas
    from bigfleet.shard.drains.drains import Drains
    from bigfleet.shard.execution.execution import Execution
    from bigfleet.shard.reconciling.reconciler import Reconciler

#: Why nothing is asked of a provider although it was decided.
ANOTHERS = "it is another shard's by now"
OUTCOME_UNKNOWN = frozenset({Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED})
_POLLS = Backoff(1.0, 15.0)


class ExecutionNeighbours(Protocol):
    """Parts that are made after the execution, or use it."""

    drains: "Drains"
    reconciler: "Reconciler"
    quotas: "Quotas"


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """The parts every run works with."""

    effects: Effects
    settings: CurrentShardSettings
    sessions: Sessions
    machines: Machines
    calls: Calls
    tokens: FencingTokens
    failures: Failures
    offerings: Offerings
    pauses: Pauses
    parts: ExecutionNeighbours


class MutationRunner:
    def __init__(self, context: ExecutionContext, execution: "Execution") -> None:
        self._context = context
        self._execution = execution
        #: All and only the runs whose answer was lost, by machine.
        self._unknown: dict[str, ActionRun] = {}

    def begin(self, run: ActionRun, verb: ProviderStep, at: Instant, text: str) -> None:
        """Step the machine and call the provider."""
        machine = self._context.machines.truth(run.machine)
        run.verb = verb
        self._context.machines.step(verb.as_moving(machine, run), at, text, local=True)
        self.call(run, at)

    def call(self, run: ActionRun, at: Instant) -> None:
        """Call the provider for a machine that is already moving here, and still is ours."""
        if not self._context.parts.reconciler.is_owned(run.machine):
            self._execution.end(run, ActionOutcome.TRANSITION_RACED, ANOTHERS, at)
            return
        verb = _verb_of(run)
        context, token = self._context, self._context.tokens.next()
        run.stage = RunStage.CALLING
        call = verb.call(run, token)
        run.blob = None
        _note(context, run, at, f"{verb.name} asked of provider {run.provider}", token.sequence)
        seconds = context.settings.now.execute.rpc_timeout

        def then(answer: Answer, at: Instant) -> None:
            if run.stage is RunStage.CALLING:
                self._on_answer(run, answer, at)

        context.calls.ask(run.provider, call, seconds, at, then)

    def tick(self, at: Instant) -> None:
        for run in list(self._unknown.values()):
            if at >= run.next_poll_at and not self._context.calls.is_busy(run.machine):
                self._poll(run, at)

    def forget(self, run: ActionRun) -> None:
        self._unknown.pop(run.machine, None)

    # -- answers ---------------------------------------------------------------------------------

    def _on_answer(self, run: ActionRun, answer: Answer, at: Instant) -> None:
        if isinstance(answer, Rejected):
            self._on_rejected(run, answer, at)
        elif isinstance(answer, Ack):
            self._on_ack(run, answer, at)
        else:
            self._fail(run, ActionOutcome.BAD_ACK, "ack rejected: a record instead of an ack", at)

    def _on_ack(self, run: ActionRun, ack: Ack, at: Instant) -> None:
        verb = _verb_of(run)
        found = self._context.parts.reconciler.screen(ack.machine, run.provider)
        if isinstance(found, str):
            self._fail(run, ActionOutcome.BAD_ACK, f"ack rejected: {found}", at)
        elif found.id != run.machine:
            text = f"ack rejected: it speaks of {found.id or 'no machine'}, not of {run.machine}"
            self._fail(run, ActionOutcome.BAD_ACK, text, at)
        elif not self._go_on(run, found, ack.operation_id, at):
            text = f"ack rejected: {_where(found)} in answer to a {verb.name}"
            self._fail(run, ActionOutcome.BAD_ACK, text, at)

    def _go_on(self, run: ActionRun, found: Machine, operation_id: str, at: Instant) -> bool:
        """Whether what was found is a place this verb leads to."""
        verb = _verb_of(run)
        if verb.reached(found, verb.after, run):
            self._arrive(run, found, operation_id, at)
        elif verb.reached(found, verb.moving, run):
            self._accept(run, found, operation_id, at)
        elif found.state is MachineState.FAILED:
            self._fail(run, verb.refusal, found.last_error, at)
        else:
            return False
        return True

    def _arrive(self, run: ActionRun, found: Machine, operation_id: str, at: Instant) -> None:
        verb = _verb_of(run)
        self.forget(run)
        # Out of the way of the watcher: this step is the run's own.
        run.stage = RunStage.CALLING
        after = verb.as_after(found, run)
        text = f"{verb.name} done"
        step = self._context.machines.step
        step(after, at, text, local=True, adopted=True, operation_id=operation_id)
        self._execution.arrived(run, at)

    def _accept(self, run: ActionRun, found: Machine, operation_id: str, at: Instant) -> None:
        verb, context = _verb_of(run), self._context
        self.forget(run)
        run.stage = RunStage.UNDER_WAY
        stamped = replace(found, assigned=context.machines.truth(run.machine).assigned)
        context.machines.step(verb.as_moving(stamped, run), at, "", local=True, adopted=True)
        _note(context, run, at, f"{verb.name} accepted", operation_id=operation_id)
        self._execution.release_slot(run)

    def _on_rejected(self, run: ActionRun, problem: Rejected, at: Instant) -> None:
        verb, code, text = _verb_of(run), problem.code, _said(problem)
        if code in OUTCOME_UNKNOWN:
            run.stage, run.polls, run.was_unknown = RunStage.UNKNOWN, 0, True
            run.next_poll_at = _POLLS.after(1, at)
            self._unknown[run.machine] = run
            _note(self._context, run, at, f"{verb.name} broke off ({text}); asking what came of it")
            self._execution.release_slot(run)
        elif code is Code.FAILED_PRECONDITION:
            self._fail(run, ActionOutcome.FENCED, _fenced(text), at)
        elif code is Code.RESOURCE_EXHAUSTED and verb is CREATE:
            self._out_of_stock(run, text, at)
        elif code is Code.UNIMPLEMENTED and verb is DELETE:
            self._execution.never_delete(run.machine)
            self._roll_back(run, ActionOutcome.DELETE_ERROR, "the provider deletes nothing", at)
        else:
            self._fail(run, verb.refusal, text, at)

    def _out_of_stock(self, run: ActionRun, text: str, at: Instant) -> None:
        """The offering rests before the slot is free again: its probe is not taken twice."""
        machine = self._context.machines.truth(run.machine)
        self._context.offerings.out_of_stock(machine, text, at)
        self._roll_back(run, ActionOutcome.STOCKOUT, text, at)

    # -- lost answers ----------------------------------------------------------------------------

    def _poll(self, run: ActionRun, at: Instant) -> None:
        run.polls += 1

        def then(answer: Answer, at: Instant) -> None:
            if run.stage is RunStage.UNKNOWN:
                self._on_seen(run, answer, at)

        seconds = self._context.settings.now.execute.rpc_timeout
        self._context.calls.ask(run.provider, GetCall(run.machine), seconds, at, then)

    def _on_seen(self, run: ActionRun, answer: Answer, at: Instant) -> None:
        verb = _verb_of(run)
        run.next_poll_at = _POLLS.after(run.polls + 1, at)
        if isinstance(answer, Rejected):
            if answer.code is Code.NOT_FOUND:
                self._fail(run, verb.refusal, "the provider no longer knows the machine", at)
            return
        if isinstance(answer, Ack):
            return
        found = self._context.parts.reconciler.screen(answer, run.provider)
        if isinstance(found, str) or found.id != run.machine or self._go_on(run, found, "", at):
            return
        if verb.reached(found, verb.before, run):
            self._roll_back(run, ActionOutcome.UNKNOWN_ROLLED_BACK, "the provider never began", at)
        else:
            self._adopt(run, found, at)

    def _adopt(self, run: ActionRun, found: Machine, at: Instant) -> None:
        """Somewhere this verb does not lead: the provider knows better, and the run is over."""
        text = f"{_verb_of(run).name} broke off; the provider shows {_where(found)}"
        self._execution.end(run, ActionOutcome.UNKNOWN_ROLLED_BACK, text, at)
        step, was = self._context.machines.step, self._context.machines.truth(run.machine)
        step(adopted_machine(was, found), at, text, StorySource.PROVIDER, local=True, adopted=True)

    # -- ends ------------------------------------------------------------------------------------

    def _roll_back(self, run: ActionRun, outcome: ActionOutcome, text: str, at: Instant) -> None:
        verb, machines = _verb_of(run), self._context.machines
        machine = machines.truth(run.machine)
        self._execution.end(run, outcome, text, at)
        told = f"back to {verb.before.label}: {text}"
        machines.step(verb.as_before(machine), at, told, local=True, adopted=True)

    def _fail(self, run: ActionRun, outcome: ActionOutcome, text: str, at: Instant) -> None:
        verb, machines = _verb_of(run), self._context.machines
        self._execution.end(run, outcome, text, at)
        if verb is CONFIGURE:
            # Should it turn out to be Configured after all, it is known for whom.
            stamped = replace(machines.truth(run.machine), assigned=whole_stamp(run.action))
            machines.step(stamped, at, "", local=True)
        self._context.failures.fail(run.machine, outcome.value, text, at)


def _verb_of(run: ActionRun) -> ProviderStep:
    assert run.verb is not None, f"the run of {run.machine} has not begun"
    return run.verb


def _where(machine: Machine) -> str:
    of = f" of cluster {machine.cluster}" if machine.cluster else ""
    return f"a {machine.state.label} machine{of}"


def _said(problem: Rejected) -> str:
    return f"{problem.code}: {problem.text}" if problem.text else str(problem.code)


def _fenced(text: str) -> str:
    return (
        f"fenced by the provider ({text}): another process with this shard's id and a higher epoch"
        " has acted; make sure that only one runs, then clear the machine"
    )


def _note(
    context: ExecutionContext,
    run: ActionRun,
    at: Instant,
    text: str,
    sequence: int = 0,
    operation_id: str = "",
) -> None:
    event = StoryEvent(
        at,
        StorySource.EXECUTOR,
        text,
        cycle=run.view.cycle,
        cluster=run.action.cluster,
        operation_id=operation_id,
        shard_epoch=context.tokens.epoch if sequence else 0,
        sequence=sequence,
        machine=run.machine,
    )
    context.effects.tell(event)
