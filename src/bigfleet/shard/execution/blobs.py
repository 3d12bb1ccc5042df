"""Bootstrap blobs: asked of a cluster's operator, waited for, used before they expire.

A cluster that does not answer rests, and so does a profile its operator cannot serve; after a rest
one machine asks again before others may. Back to Idle is the rule: only a machine for which the
operator says no three times in a row is Failed.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bigfleet.model.action_outcomes import ActionOutcome
from bigfleet.model.actions import Action
from bigfleet.model.backoffs import Backoff, nanos
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import Reason
from bigfleet.model.session_frames import BootstrapRequest, BootstrapResponse
from bigfleet.shard.execution.action_runs import CONFIGURE, ActionRun, Blob, RunStage, unbound
from bigfleet.shard.execution.mutation import ExecutionContext, MutationRunner

if TYPE_CHECKING:
    from bigfleet.shard.execution.execution import Execution

_RESTS = Backoff(1.0, 60.0)
ERRORS_UNTIL_FAILED = 3
#: Seconds after a rest until a subject counts as one that never failed.
_REMEMBERED = 600


@dataclass(slots=True)
class _BlobBackoff:
    failures: int
    until: Instant
    what: str


@dataclass(frozen=True, slots=True)
class _Request:
    run: ActionRun
    asked_at: Instant


#: A cluster, or a profile of one.
Subject = tuple[str, str]


class Blobs:
    def __init__(
        self,
        context: ExecutionContext,
        mutation: MutationRunner,
        execution: "Execution",
        new_id: Callable[[], str],
    ) -> None:
        """`new_id`: a random name for a request."""
        self._context = context
        self._sessions = context.sessions
        self._mutation = mutation
        self._execution = execution
        self._new_id = new_id
        #: All and only the runs that wait for an operator, by request id.
        self._requests: dict[str, _Request] = {}
        #: Runs whose blob waits for the line to the provider, by machine.
        self._waiting: dict[str, ActionRun] = {}
        #: (cluster, "") or (cluster, fingerprint) -> its rest, over or not.
        self._rests: dict[Subject, _BlobBackoff] = {}
        #: How many of the requests are for a subject.
        self._asking: Counter[Subject] = Counter()
        #: Errors in a row, of machines an operator refused.
        self._errors: Counter[str] = Counter()

    def open_by_cluster(self) -> Counter[str]:
        return Counter(request.run.action.cluster for request in self._requests.values())

    def why_resting(self, action: Action, at: Instant) -> Reason | None:
        for subject in _subjects(action):
            rest = self._rests.get(subject)
            if rest is None:
                continue
            if at < rest.until:
                left = -(-(rest.until - at) // SECOND)
                return Reason("rail.backoff", _facts(subject, rest) | {"left": left})
            if self._asking[subject]:
                return Reason("rail.backoff", _facts(subject, rest))
        return None

    def begin(self, run: ActionRun, at: Instant) -> None:
        """The machine is Idle."""
        cluster, machines = run.action.cluster, self._context.machines
        if reason := self.why_resting(run.action, at):
            self._execution.end(run, ActionOutcome.TRANSITION_RACED, reason.text, at)
            return
        if not self._sessions.is_open(cluster):
            self._rest((cluster, ""), "it was not connected", at)
            self._execution.end(
                run, ActionOutcome.NO_SESSION, f"cluster {cluster} is not connected", at
            )
            return
        run.verb = CONFIGURE
        moving = CONFIGURE.as_moving(machines.truth(run.machine), run)
        text = run.view.reason or f"to be bootstrapped for {cluster}"
        machines.step(moving, at, text, local=True)
        self._ask(run, at)

    def on_response(self, cluster: str, response: BootstrapResponse, at: Instant) -> None:
        request = self._requests.get(response.request_id)
        if request is None or request.run.action.cluster != cluster:
            self._context.effects.counts.add("bootstrap_responses_dropped_total")
            return
        run = request.run
        self._answered(run)
        seconds = max(0, at - request.asked_at) / SECOND
        self._context.effects.counts.observe("request_bootstrap_seconds", seconds)
        self._rests.pop((cluster, ""), None)
        if response.error:
            self._refused(run, response.error, at)
            return
        self._errors.pop(run.machine, None)
        for subject in _subjects(run.action):
            self._rests.pop(subject, None)
        bound = response.ttl_seconds
        run.blob = Blob(response.user_data, at + bound * SECOND if bound > 0 else None)
        self._configure(run, at)

    def on_session_lost(self, cluster: str, at: Instant) -> None:
        lost = [r.run for r in self._requests.values() if r.run.action.cluster == cluster]
        for run in lost:
            self._give_up(run, ActionOutcome.NO_SESSION, "its session ended", at)

    def tick(self, at: Instant) -> None:
        for run in list(self._waiting.values()):
            self._configure(run, at)
        patience = nanos(self._context.settings.now.execute.bootstrap_timeout)
        late = [r.run for r in self._requests.values() if at - r.asked_at >= patience]
        for run in late:
            text = f"no answer for {patience // SECOND} s"
            self._give_up(run, ActionOutcome.BLOB_TIMEOUT, text, at)

        self._forget_old_rests(at)

    def forget(self, run: ActionRun) -> None:
        self._answered(run)
        self._waiting.pop(run.machine, None)

    def forget_machine(self, machine: str) -> None:
        """It is gone: one of the same name begins anew."""
        self._errors.pop(machine, None)

    # -- within ----------------------------------------------------------------------------------

    def _answered(self, run: ActionRun) -> None:
        if self._requests.pop(run.request_id, None) is not None:
            self._asking.subtract(_subjects(run.action))
            self._asking += Counter()

    def _forget_old_rests(self, at: Instant) -> None:
        gone = [s for s, rest in self._rests.items() if at - rest.until > _REMEMBERED * SECOND]
        for subject in gone:
            del self._rests[subject]

    def _ask(self, run: ActionRun, at: Instant) -> None:
        action = run.action
        run.stage, run.request_id, run.blob = RunStage.AWAITING_BLOB, self._new_id(), None
        self._requests[run.request_id] = _Request(run, at)
        self._asking.update(_subjects(action))
        requirements = action.source_profile.requirements if action.source_profile else ()
        request = BootstrapRequest(run.request_id, action.cluster, requirements)
        self._sessions.send(action.cluster, request)

    def _configure(self, run: ActionRun, at: Instant) -> None:
        if run.blob is not None and run.blob.is_spent(at):
            self._waiting.pop(run.machine, None)
            self._ask(run, at)
        elif self._context.calls.is_busy(run.machine):
            run.stage = RunStage.AWAITING_LINE
            self._waiting[run.machine] = run
        else:
            self._waiting.pop(run.machine, None)
            self._mutation.call(run, at)

    def _refused(self, run: ActionRun, error: str, at: Instant) -> None:
        machine, cluster = run.machine, run.action.cluster
        self._errors[machine] += 1
        text = f"the operator of {cluster} has no bootstrap for it: {error}"
        self._rest(_subjects(run.action)[1], f"its operator refused it ({error})", at)
        if self._errors[machine] < ERRORS_UNTIL_FAILED:
            self._back_to_idle(run, ActionOutcome.BLOB_ERROR, text, at)
            return
        del self._errors[machine]
        self._execution.end(run, ActionOutcome.BLOB_ERROR, text, at)
        self._context.failures.fail(machine, ActionOutcome.BLOB_ERROR.value, text, at)

    def _give_up(self, run: ActionRun, outcome: ActionOutcome, what: str, at: Instant) -> None:
        self._rest((run.action.cluster, ""), what, at)
        self._back_to_idle(run, outcome, f"no bootstrap blob: {what}", at)

    def _back_to_idle(self, run: ActionRun, outcome: ActionOutcome, text: str, at: Instant) -> None:
        machines = self._context.machines
        self._execution.end(run, outcome, text, at)
        machine = machines.truth(run.machine)
        machines.step(unbound(machine, MachineState.IDLE), at, f"back to Idle: {text}", local=True)

    def _rest(self, subject: Subject, what: str, at: Instant) -> None:
        """Runs that fail together are one failure: a rest that stands is not made longer."""
        rest = self._rests.get(subject)
        if rest is not None and at < rest.until:
            return
        failures = rest.failures + 1 if rest else 1
        self._rests[subject] = _BlobBackoff(failures, _RESTS.after(failures, at), what)


def _subjects(action: Action) -> tuple[Subject, Subject]:
    profile = action.source_profile
    return (action.cluster, ""), (action.cluster, profile.fingerprint if profile else "-")


def _facts(subject: Subject, rest: _BlobBackoff) -> dict[str, str | int]:
    cluster, fingerprint = subject
    name = f"a profile of cluster {cluster}" if fingerprint else f"cluster {cluster}"
    return {"subject": name, "what": rest.what}
