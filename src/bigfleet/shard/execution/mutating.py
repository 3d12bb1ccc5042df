"""Mutating: one verb carried out on one machine, whatever the provider answers.

The law kept here: a machine changes hands only on what its provider says of it. An answer that got
lost leaves the machine where it is until a Get tells; one that cannot be true makes it Failed. What
the provider accepted is not done yet: the end is seen in the answer, by a Get or in a List.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.provider_calls import Ack, Code, MachineRecord, Rejected
from bigfleet.model.shard_views import StoryEvent, StorySource
from bigfleet.shard.backoffs import Backoff
from bigfleet.shard.calls import Answer, Calls
from bigfleet.shard.effects import Effects
from bigfleet.shard.execution.outcomes import Outcome
from bigfleet.shard.execution.tokens import Tokens
from bigfleet.shard.execution.walks import CONFIGURE, CREATE, DELETE, Stage, Verb, Walk, whole_stamp
from bigfleet.shard.instructions import GetCall
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.adopting import adopted_machine
from bigfleet.shard.settings import ExecuteSettings

#: A sound record as a machine, or what is wrong with it.
Screen = Callable[[MachineRecord, str], Machine | str]
#: Make a machine Failed: id, cause, what happened, when.
Fail = Callable[[str, str, str, Instant], None]

#: Why nothing is asked of a provider although it was decided.
ANOTHERS = "it is another shard's by now"
OUTCOME_UNKNOWN = frozenset({Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED})
_POLLS = Backoff(1.0, 15.0)


@dataclass(frozen=True, slots=True)
class Bench:
    """What every walk works with."""

    effects: Effects
    machines: Machines
    calls: Calls
    tokens: Tokens
    screen: Screen
    fail: Fail
    settings: Callable[[], ExecuteSettings]
    #: Whether a machine, as it is now, is this shard's to act on.
    is_owned: Callable[[str], bool] = lambda machine: True


@dataclass(frozen=True, slots=True)
class Hearers:
    """Who is told how a verb went."""

    #: The walk is over.
    ended: Callable[[Walk, Outcome, str, Instant], None]
    #: The machine has arrived; whoever hears decides whether the walk goes on.
    arrived: Callable[[Walk, Instant], None]
    #: The call is answered, and the walk waits for something else now.
    released: Callable[[Walk], None]
    #: The provider has no more of these.
    out_of_stock: Callable[[Machine, str, Instant], None]
    #: The provider never deletes this machine.
    undeletable: Callable[[str], None]


class Mutating:
    def __init__(self, bench: Bench, hearers: Hearers) -> None:
        self._bench = bench
        self._hearers = hearers
        #: All and only the walks whose answer was lost, by machine.
        self._unknown: dict[str, Walk] = {}

    def begin(self, walk: Walk, verb: Verb, at: Instant, text: str) -> None:
        """Step the machine and call the provider."""
        machine = self._bench.machines.truth(walk.machine)
        walk.verb = verb
        self._bench.machines.step(verb.as_moving(machine, walk), at, text, local=True)
        self.call(walk, at)

    def call(self, walk: Walk, at: Instant) -> None:
        """Call the provider for a machine that is already moving here, and still is ours."""
        if not self._bench.is_owned(walk.machine):
            self._hearers.ended(walk, Outcome.TRANSITION_RACED, ANOTHERS, at)
            return
        verb = _verb_of(walk)
        bench, token = self._bench, self._bench.tokens.next()
        walk.stage = Stage.CALLING
        call = verb.call(walk, token)
        walk.blob = None
        _note(bench, walk, at, f"{verb.name} asked of provider {walk.provider}", token.sequence)
        seconds = bench.settings().rpc_timeout

        def then(answer: Answer, at: Instant) -> None:
            if walk.stage is Stage.CALLING:
                self._on_answer(walk, answer, at)

        bench.calls.ask(walk.provider, call, seconds, at, then)

    def tick(self, at: Instant) -> None:
        for walk in list(self._unknown.values()):
            if at >= walk.next_poll_at and not self._bench.calls.is_busy(walk.machine):
                self._poll(walk, at)

    def forget(self, walk: Walk) -> None:
        self._unknown.pop(walk.machine, None)

    # -- answers ---------------------------------------------------------------------------------

    def _on_answer(self, walk: Walk, answer: Answer, at: Instant) -> None:
        if isinstance(answer, Rejected):
            self._on_rejected(walk, answer, at)
        elif isinstance(answer, Ack):
            self._on_ack(walk, answer, at)
        else:
            self._fail(walk, Outcome.BAD_ACK, "ack rejected: a record instead of an ack", at)

    def _on_ack(self, walk: Walk, ack: Ack, at: Instant) -> None:
        verb = _verb_of(walk)
        found = self._bench.screen(ack.machine, walk.provider)
        if isinstance(found, str):
            self._fail(walk, Outcome.BAD_ACK, f"ack rejected: {found}", at)
        elif found.id != walk.machine:
            text = f"ack rejected: it speaks of {found.id or 'no machine'}, not of {walk.machine}"
            self._fail(walk, Outcome.BAD_ACK, text, at)
        elif not self._go_on(walk, found, ack.operation_id, at):
            text = f"ack rejected: {_where(found)} in answer to a {verb.name}"
            self._fail(walk, Outcome.BAD_ACK, text, at)

    def _go_on(self, walk: Walk, found: Machine, operation_id: str, at: Instant) -> bool:
        """Whether what was found is a place this verb leads to."""
        verb = _verb_of(walk)
        if verb.reached(found, verb.after, walk):
            self._arrive(walk, found, operation_id, at)
        elif verb.reached(found, verb.moving, walk):
            self._accept(walk, found, operation_id, at)
        elif found.state is MachineState.FAILED:
            self._fail(walk, verb.refusal, found.last_error, at)
        else:
            return False
        return True

    def _arrive(self, walk: Walk, found: Machine, operation_id: str, at: Instant) -> None:
        verb = _verb_of(walk)
        self.forget(walk)
        # Out of the way of the watcher: this step is the walk's own.
        walk.stage = Stage.CALLING
        after = verb.as_after(found, walk)
        text = f"{verb.name} done"
        step = self._bench.machines.step
        step(after, at, text, local=True, adopted=True, operation_id=operation_id)
        self._hearers.arrived(walk, at)

    def _accept(self, walk: Walk, found: Machine, operation_id: str, at: Instant) -> None:
        verb, bench = _verb_of(walk), self._bench
        self.forget(walk)
        walk.stage = Stage.UNDER_WAY
        stamped = replace(found, assigned=bench.machines.truth(walk.machine).assigned)
        bench.machines.step(verb.as_moving(stamped, walk), at, "", local=True, adopted=True)
        _note(bench, walk, at, f"{verb.name} accepted", operation_id=operation_id)
        self._hearers.released(walk)

    def _on_rejected(self, walk: Walk, problem: Rejected, at: Instant) -> None:
        verb, code, text = _verb_of(walk), problem.code, _said(problem)
        if code in OUTCOME_UNKNOWN:
            walk.stage, walk.polls, walk.was_unknown = Stage.UNKNOWN, 0, True
            walk.next_poll_at = _POLLS.after(1, at)
            self._unknown[walk.machine] = walk
            _note(self._bench, walk, at, f"{verb.name} broke off ({text}); asking what came of it")
            self._hearers.released(walk)
        elif code is Code.FAILED_PRECONDITION:
            self._fail(walk, Outcome.FENCED, _fenced(text), at)
        elif code is Code.RESOURCE_EXHAUSTED and verb is CREATE:
            self._out_of_stock(walk, text, at)
        elif code is Code.UNIMPLEMENTED and verb is DELETE:
            self._hearers.undeletable(walk.machine)
            self._roll_back(walk, Outcome.DELETE_ERROR, "the provider deletes nothing", at)
        else:
            self._fail(walk, verb.refusal, text, at)

    def _out_of_stock(self, walk: Walk, text: str, at: Instant) -> None:
        """The offering rests before the slot is free again: its probe is not taken twice."""
        machine = self._bench.machines.truth(walk.machine)
        self._hearers.out_of_stock(machine, text, at)
        self._roll_back(walk, Outcome.STOCKOUT, text, at)

    # -- lost answers ----------------------------------------------------------------------------

    def _poll(self, walk: Walk, at: Instant) -> None:
        walk.polls += 1

        def then(answer: Answer, at: Instant) -> None:
            if walk.stage is Stage.UNKNOWN:
                self._on_seen(walk, answer, at)

        seconds = self._bench.settings().rpc_timeout
        self._bench.calls.ask(walk.provider, GetCall(walk.machine), seconds, at, then)

    def _on_seen(self, walk: Walk, answer: Answer, at: Instant) -> None:
        verb = _verb_of(walk)
        walk.next_poll_at = _POLLS.after(walk.polls + 1, at)
        if isinstance(answer, Rejected):
            if answer.code is Code.NOT_FOUND:
                self._fail(walk, verb.refusal, "the provider no longer knows the machine", at)
            return
        if isinstance(answer, Ack):
            return
        found = self._bench.screen(answer, walk.provider)
        if isinstance(found, str) or found.id != walk.machine or self._go_on(walk, found, "", at):
            return
        if verb.reached(found, verb.before, walk):
            self._roll_back(walk, Outcome.UNKNOWN_ROLLED_BACK, "the provider never began", at)
        else:
            self._adopt(walk, found, at)

    def _adopt(self, walk: Walk, found: Machine, at: Instant) -> None:
        """Somewhere this verb does not lead: the provider knows better, and the walk is over."""
        text = f"{_verb_of(walk).name} broke off; the provider shows {_where(found)}"
        self._hearers.ended(walk, Outcome.UNKNOWN_ROLLED_BACK, text, at)
        step, was = self._bench.machines.step, self._bench.machines.truth(walk.machine)
        step(adopted_machine(was, found), at, text, StorySource.PROVIDER, local=True, adopted=True)

    # -- ends ------------------------------------------------------------------------------------

    def _roll_back(self, walk: Walk, outcome: Outcome, text: str, at: Instant) -> None:
        verb, machines = _verb_of(walk), self._bench.machines
        machine = machines.truth(walk.machine)
        self._hearers.ended(walk, outcome, text, at)
        told = f"back to {verb.before.label}: {text}"
        machines.step(verb.as_before(machine), at, told, local=True, adopted=True)

    def _fail(self, walk: Walk, outcome: Outcome, text: str, at: Instant) -> None:
        verb, machines = _verb_of(walk), self._bench.machines
        self._hearers.ended(walk, outcome, text, at)
        if verb is CONFIGURE:
            # Should it turn out to be Configured after all, it is known for whom.
            stamped = replace(machines.truth(walk.machine), assigned=whole_stamp(walk.action))
            machines.step(stamped, at, "", local=True)
        self._bench.fail(walk.machine, outcome.value, text, at)


def _verb_of(walk: Walk) -> Verb:
    assert walk.verb is not None, f"the walk of {walk.machine} has not begun"
    return walk.verb


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
    bench: Bench, walk: Walk, at: Instant, text: str, sequence: int = 0, operation_id: str = ""
) -> None:
    event = StoryEvent(
        at,
        StorySource.EXECUTOR,
        text,
        cycle=walk.view.cycle,
        cluster=walk.action.cluster,
        operation_id=operation_id,
        shard_epoch=bench.tokens.epoch if sequence else 0,
        sequence=sequence,
    )
    bench.effects.stories.tell(walk.machine, event)
