"""Deadlines: how long a machine may be on its way, and what happens when it is not there by then.

At the deadline a Get decides: a stable state is taken over, anything else makes the machine Failed,
so that a replacement can start. From the deadline on it is credited to no Need.
"""

import heapq
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from bigfleet.model.backoffs import nanos
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.calls import Answer, Calls
from bigfleet.shard.drains.drains import Drains
from bigfleet.shard.effects import Effects
from bigfleet.shard.failures.deadline_overrides import deadlines_by_provider
from bigfleet.shard.failures.failures import Failures
from bigfleet.shard.failures.records import PROVIDER_FAILED, timeout_cause
from bigfleet.shard.instructions import GetCall
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.adoption import adopted_machine
from bigfleet.shard.settings import CurrentShardSettings

if TYPE_CHECKING:
    from bigfleet.shard.reconciling.reconciler import Reconciler

S = MachineState
_MOVING = (S.CREATING, S.CONFIGURING, S.DRAINING, S.DELETING)


class DeadlineNeighbours(Protocol):
    """Parts that are made after the deadlines."""

    reconciler: "Reconciler"


class StateDeadlines:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        settings: CurrentShardSettings,
        calls: Calls,
        failures: Failures,
        drains: Drains,
        parts: DeadlineNeighbours,
    ) -> None:
        self._effects = effects
        self._machines = machines
        self._settings = settings
        self._limits = settings.now.deadlines
        #: Of the providers that have deadlines of their own.
        self._limits_of = deadlines_by_provider(self._limits)
        self._calls = calls
        self._failures = failures
        self._drains = drains
        self._parts = parts
        #: All and only the moving machines -> (state, by when).
        self._deadline_of: dict[str, tuple[MachineState, Instant]] = {}
        #: The same, earliest first; entries that no longer hold are skipped.
        self._queue: list[tuple[Instant, str]] = []
        #: Past their deadline and still moving -> state.
        self._overdue: dict[str, MachineState] = {}
        machines.watch(self.on_change)

    def deadline_of(self, machine: str) -> Instant | None:
        found = self._deadline_of.get(machine)
        return found[1] if found else None

    def on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        machine = after.id if after else before.id if before else ""
        now = after.state if after else None
        known = self._deadline_of.get(machine)
        if known is not None and known[0] is now:
            return
        self._deadline_of.pop(machine, None)
        self._overdue.pop(machine, None)
        if now is not None and now in _MOVING:
            deadline = self._deadline(machine, now, at)
            self._deadline_of[machine] = (now, deadline)
            heapq.heappush(self._queue, (deadline, machine))

    def tick(self, at: Instant) -> None:
        while self._queue and self._queue[0][0] <= at:
            deadline, machine = heapq.heappop(self._queue)
            if self.deadline_of(machine) == deadline:
                self._expire(machine, at)
        for machine in list(self._overdue):
            self._look(machine, at)
        states = Counter(self._overdue.values())
        for state in _MOVING:
            self._effects.counts.set(
                "transitional_overdue", states[state], state=state.name.lower()
            )

    def _deadline(self, machine: str, state: MachineState, at: Instant) -> Instant:
        provider = self._machines.provider_of(machine)
        allowed = self._limits_of.get(provider, self._limits)
        match state:
            case S.CREATING:
                return at + nanos(allowed.creating)
            case S.CONFIGURING:
                return at + nanos(allowed.configuring)
            case S.DRAINING:
                evicted_by = self._drains.deadline_of(machine) or at
                return max(at, evicted_by) + nanos(allowed.draining_extra)
            case _:
                return at + nanos(allowed.deleting)

    def _expire(self, machine: str, at: Instant) -> None:
        state, _ = self._deadline_of[machine]
        if self._machines.truth(machine).state is not state:
            del self._deadline_of[machine]
            return
        self._overdue[machine] = state
        self._machines.overdue(machine)
        self._machines.tell(
            machine, at, StorySource.EXECUTOR, f"past the deadline of {state.label}; asking"
        )
        self._effects.wake()

    def _look(self, machine: str, at: Instant) -> None:
        if self._calls.is_busy(machine):
            return
        state = self._overdue[machine]

        def then(answer: Answer, at: Instant) -> None:
            # Another look of the same machine may have been meant for a life before this one.
            if self._overdue.get(machine) is state:
                self._decide(machine, state, answer, at)

        provider = self._machines.provider_of(machine)
        seconds = self._settings.now.execute.rpc_timeout
        self._calls.ask(provider, GetCall(machine), seconds, at, then)

    def _decide(self, machine: str, state: MachineState, answer: Answer, at: Instant) -> None:
        seen: Machine | str = "the provider did not say"
        if isinstance(answer, MachineRecord):
            seen = self._parts.reconciler.screen(answer, self._machines.provider_of(machine))
        if not isinstance(seen, str) and seen.id == machine:
            if seen.state.stable:
                self._adopt(seen, at)
                return
            if seen.state is S.FAILED:
                self._failures.fail(machine, PROVIDER_FAILED, seen.last_error, at)
                return
        seconds = round((at - self._machines.since(machine)) / SECOND)
        found = seen if isinstance(seen, str) else f"the provider shows it {seen.state.label}"
        text = f"still {state.label} after {seconds} s: {found}"
        self._failures.fail(machine, timeout_cause(state), text, at)

    def _adopt(self, seen: Machine, at: Instant) -> None:
        text = f"at its deadline the provider shows it {seen.state.label}"
        after = adopted_machine(self._machines.truth(seen.id), seen)
        self._machines.step(after, at, text, StorySource.PROVIDER, local=True, adopted=True)
        self._effects.wake()
