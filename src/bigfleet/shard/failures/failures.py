"""Failed machines: why they failed, when they are looked at again, and what brings them back.

Nothing but the provider brings a machine back, and never on one read alone: a Get that shows it
healthy must be confirmed by the next List (for one the provider itself had called Failed, by a
second read of any kind). An admin who asks for a look takes the first read for the truth. Looks
are counted; a machine that used them up is stuck, and waits for an admin or for a List that shows
it healthy. One that was fenced is not looked at before a new life of the shard.

What is remembered ends: with the window of failures, and for a machine that no provider lists with
`failed_memory`. Should it come back after all, it is as new, which is as safe as a lost file.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import msgspec

from bigfleet.model.backoffs import Backoff, nanos
from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.shard_views import ClearMode, FailedView, StorySource
from bigfleet.shard.calls import Answer, Calls
from bigfleet.shard.effects import FAILURES, Effects
from bigfleet.shard.failures.records import (
    FENCED,
    PROVIDER_FAILED,
    Failure,
    FailureRow,
    HealthySighting,
    is_automatic,
    kept_of,
    view_of,
)
from bigfleet.shard.instructions import GetCall
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.adoption import adopted_machine
from bigfleet.shard.settings import CurrentShardSettings

if TYPE_CHECKING:
    from bigfleet.shard.reconciling.reconciler import Reconciler

S = MachineState
_FREE = (S.IDLE, S.SPECULATIVE)


class NotFailed(ValueError):
    """There is nothing to clear: the machine is not Failed."""


class FailureNeighbours(Protocol):
    """Parts that are made after the failures, or use them."""

    reconciler: "Reconciler"


class Failures:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        settings: CurrentShardSettings,
        calls: Calls,
        epoch: int,
        parts: FailureNeighbours,
    ) -> None:
        self._effects = effects
        self._machines = machines
        self._settings = settings
        self._limits = limits = settings.now.deadlines
        self._calls = calls
        self._epoch = epoch
        self._parts = parts
        self._backoff = Backoff(limits.failed_backoff_min, limits.failed_backoff_max)
        #: All and only the machines with something to remember.
        self._kept: dict[str, FailureRow] = {}
        #: All and only the machines that are Failed, with their `Kept.failure`.
        self._failed: dict[str, Failure] = {}
        #: Failed machines that looked healthy in the last read that counts.
        self._sightings: dict[str, HealthySighting] = {}
        #: Failed in an earlier life and still moving when they were listed first in this one.
        self._given_up: set[str] = set()
        #: Kept out of the inventory, but named by a List since the last tick.
        self._refused: set[str] = set()
        self._causes_shown: set[str] = set()
        machines.watch(self.on_change)

    # -- asking ----------------------------------------------------------------------------------

    def count(self) -> int:
        """Machines that are Failed."""
        return len(self._failed)

    def holds(self, machine: str) -> bool:
        """Whether a List alone must not change the machine's state: it is for `on_list` then."""
        return machine in self._failed

    def cause_of(self, machine: str) -> str:
        failure = self._failed.get(machine)
        return failure.cause if failure else ""

    def view(self, machine: str) -> FailedView | None:
        failure = self._failed.get(machine)
        return view_of(failure) if failure else None

    def is_resting(self, machine: str) -> bool:
        """Whether it failed so often that it is not used for a while."""
        kept = self._kept.get(machine)
        return kept is not None and kept.rests_until is not None

    def admits(self, machine: str, state: MachineState) -> bool:
        """Whether an unknown machine may come in; one that was forgotten waits to be well."""
        kept = self._kept.get(machine)
        if kept is None or not kept.is_forgotten:
            return True
        if state is S.FAILED:
            self._refused.add(machine)
            return False
        kept.is_forgotten = False
        self._persist(machine)
        return True

    # -- events ----------------------------------------------------------------------------------

    def fail(self, machine_id: str, cause: str, text: str, at: Instant) -> None:
        """Something under way went wrong; a machine at rest has nothing that could."""
        if machine_id not in self._machines:
            return
        machine = self._machines.truth(machine_id)
        if machine.state.stable or machine.state is S.FAILED:
            return
        said = text or cause
        self._note(machine_id, cause, said, at)
        failed = replace(machine, state=S.FAILED, last_error=said)
        self._machines.step(failed, at, f"Failed ({cause}): {said}", local=True)
        self._effects.wake()

    def note_lost(self, machine_id: str, cause: str, text: str, at: Instant) -> None:
        """Its cluster lost it; how often that happens counts as if it had failed."""
        self._count_flap(self._kept.setdefault(machine_id, FailureRow()), at)
        self._persist(machine_id)
        self._effects.counts.add("machine_failures_total", cause=cause)
        self._effects.log(
            "warning", "machine_lost", f"{machine_id} is lost: {text}", machine=machine_id
        )

    def on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        if after is None:
            self._on_removed(before)
        elif after.state is S.FAILED:
            if after.id not in self._failed:
                self._note(after.id, PROVIDER_FAILED, after.last_error, at)
        elif before is None and after.id in self._kept:
            self._meet_again(after, self._kept[after.id])
        elif after.id in self._failed:
            cause = self._forget_failure(after.id)
            self._effects.counts.add("machine_recoveries_total", cause=cause)
            self._effects.wake()
        if after is not None and after.state in _FREE and after.id in self._kept:
            self._let_rest(after.id, at)

    def on_list(
        self,
        provider: str,
        listed: Mapping[str, Machine],
        *,
        whole: bool,
        started: Instant,
        at: Instant,
    ) -> None:
        """A List was read; `listed` has what it said of the machines held, where it named them."""
        for machine_id in [m for m in self._failed if self._is_of(m, provider)]:
            seen = listed.get(machine_id)
            if seen is not None:
                self._on_listed(machine_id, seen, started, at)
            elif not whole and self._is_older(machine_id, started):
                # A list of changes that does not name it: it is as the last read found it.
                self._adopt(machine_id, self._sightings[machine_id].machine, at)

    def tick(self, at: Instant) -> None:
        self._give_up_again(at)
        for machine_id, failure in list(self._failed.items()):
            due = failure.next_look_at is not None and at >= failure.next_look_at
            if due and not self._calls.is_busy(machine_id):
                self._look(machine_id, failure, at)
        self._end_rests(at)
        self._end_memories(at)
        self._show()

    def clear(self, machine_id: str, mode: ClearMode, at: Instant) -> str:
        """What is done about it, as a sentence. Raises NoSuchMachine or NotFailed."""
        if machine_id not in self._machines:
            raise NoSuchMachine(f"no machine {machine_id} in this shard")
        failure = self._failed.get(machine_id)
        if failure is None:
            state = self._machines.truth(machine_id).state.label
            raise NotFailed(f"machine {machine_id} is {state}; only a Failed one can be cleared")
        if mode is ClearMode.FORGET:
            self._forget_machine(machine_id, at)
            return f"{machine_id} is forgotten until its provider shows it in another state"
        if mode is ClearMode.RETRY:
            failure.attempts, failure.is_stuck = 0, False
        failure.is_rechecked, failure.next_look_at = True, at
        self._persist(machine_id)
        self._machines.tell(machine_id, at, StorySource.ADMIN, f"{mode.name.lower()} asked for")
        if not self._calls.is_busy(machine_id):
            self._look(machine_id, failure, at)
        return f"{machine_id} is looked at now; a stable state of its provider is taken over"

    def forget(self, machine_id: str) -> None:
        """It is another shard's: how often it failed here does not count any more."""
        if self._kept.pop(machine_id, None) is not None:
            self._effects.persist(FAILURES, machine_id, None)
        self._failed.pop(machine_id, None)
        self._sightings.pop(machine_id, None)
        self._given_up.discard(machine_id)

    def load(self, rows: Mapping[str, bytes]) -> None:
        """Of the last life; whether a machine is still Failed is for the first List to say."""
        for key, row in rows.items():
            try:
                self._kept[key] = kept_of(row)
            except (msgspec.ValidationError, msgspec.DecodeError) as problem:
                text = f"what was stored of {key} cannot be read and is dropped: {problem}"
                self._effects.log("warning", "failure_unreadable", text, machine=key)
                self._effects.persist(FAILURES, key, None)

    # -- coming ----------------------------------------------------------------------------------

    def _note(self, machine_id: str, cause: str, text: str, at: Instant) -> None:
        """Remember why; what was remembered of the same failure in an earlier life goes on."""
        kept = self._kept.setdefault(machine_id, FailureRow())
        older = kept.failure
        if older is not None and machine_id not in self._failed and cause == PROVIDER_FAILED:
            failure = _revived(older, self._epoch, at)
        else:
            failure = Failure(cause, text, at, self._epoch)
            failure.next_look_at = self._first_look(cause, at)
            self._effects.counts.add("machine_failures_total", cause=cause)
            self._count_flap(kept, at)
            self._effects.log(
                "error" if cause == FENCED else "warning",
                "machine_failed",
                f"{machine_id} is Failed ({cause}): {text}",
                machine=machine_id,
                cause=cause,
            )
        kept.failure = self._failed[machine_id] = failure
        self._sightings.pop(machine_id, None)
        self._persist(machine_id)

    def _first_look(self, cause: str, at: Instant) -> Instant | None:
        """What the provider itself calls Failed is read in its Lists anyway."""
        if cause == PROVIDER_FAILED or not is_automatic(cause):
            return None
        return self._backoff.after(1, at)

    def _meet_again(self, machine: Machine, kept: FailureRow) -> None:
        """Failed in the last life, listed for the first time in this one.

        At rest, it is well. Still moving, it was given up before and stays so; the other parts
        hear of the machine first, so that they hear of it in order.
        """
        if kept.failure is not None and not machine.state.stable:
            self._given_up.add(machine.id)
        elif kept.failure is not None:
            kept.failure = None
            self._persist(machine.id)

    def _give_up_again(self, at: Instant) -> None:
        for machine_id in self._given_up:
            kept = self._kept.get(machine_id)
            if kept is None or kept.failure is None or machine_id not in self._machines:
                continue
            machine = self._machines.truth(machine_id)
            if machine.state.stable:
                kept.failure = None
                self._persist(machine_id)
                continue
            failure = _revived(kept.failure, self._epoch, at)
            kept.failure = self._failed[machine_id] = failure
            failed = replace(machine, state=S.FAILED, last_error=failure.text)
            self._machines.step(failed, at, f"still Failed ({failure.cause})", local=True)
            self._persist(machine_id)
        self._given_up.clear()

    # -- looking ---------------------------------------------------------------------------------

    def _look(self, machine_id: str, failure: Failure, at: Instant) -> None:
        failure.next_look_at, failure.last_look_at = None, at
        if not failure.is_prompted and not failure.is_rechecked:
            failure.attempts += 1
        failure.is_prompted = False

        def then(answer: Answer, at: Instant) -> None:
            if self._failed.get(machine_id) is failure:
                self._on_answer(machine_id, failure, answer, at)

        provider = self._machines.provider_of(machine_id)
        seconds = self._settings.now.execute.rpc_timeout
        self._calls.ask(provider, GetCall(machine_id), seconds, at, then)
        self._persist(machine_id)

    def _on_answer(self, machine_id: str, failure: Failure, answer: Answer, at: Instant) -> None:
        rechecked, failure.is_rechecked = failure.is_rechecked, False
        if not isinstance(answer, MachineRecord):
            # Nothing was read, so what an earlier read showed still counts: Lists of changes
            # would not name the machine again.
            self._look_later(machine_id, failure, at)
            return
        provider = self._machines.provider_of(machine_id)
        seen = self._parts.reconciler.screen(answer, provider)
        if isinstance(seen, str) or not seen.state.stable or seen.id != machine_id:
            self._sightings.pop(machine_id, None)
        elif rechecked or self._is_confirmed_by_get(machine_id, failure):
            self._adopt(machine_id, seen, at)
            return
        else:
            self._sightings[machine_id] = HealthySighting(seen, at)
        self._look_later(machine_id, failure, at)

    def _is_confirmed_by_get(self, machine_id: str, failure: Failure) -> bool:
        """Two reads of any kind do for what the provider itself had called Failed."""
        return failure.cause == PROVIDER_FAILED and machine_id in self._sightings

    def _look_later(self, machine_id: str, failure: Failure, at: Instant) -> None:
        if not is_automatic(failure.cause) or failure.cause == PROVIDER_FAILED:
            return
        if failure.attempts < self._limits.failed_attempts:
            failure.next_look_at = self._backoff.after(failure.attempts + 1, at)
        elif not failure.is_stuck:
            failure.is_stuck = True
            self._effects.log(
                "error",
                "machine_stuck",
                f"{machine_id} is still Failed ({failure.cause}) after {failure.attempts} looks:"
                f" {failure.text}; look at it and clear it with recheck, retry or forget",
                machine=machine_id,
                cause=failure.cause,
            )
        self._persist(machine_id)

    def _on_listed(self, machine_id: str, seen: Machine, started: Instant, at: Instant) -> None:
        failure = self._failed[machine_id]
        if not is_automatic(failure.cause):
            return
        if not seen.state.stable:
            self._sightings.pop(machine_id, None)
        elif self._is_older(machine_id, started):
            self._adopt(machine_id, seen, at)
        elif machine_id not in self._sightings:
            self._prompt(machine_id, failure, seen, at)

    def _is_older(self, machine_id: str, started: Instant) -> bool:
        """Whether it looked healthy before the List was begun."""
        sighting = self._sightings.get(machine_id)
        return sighting is not None and sighting.at <= started

    def _is_of(self, machine_id: str, provider: str) -> bool:
        return self._machines.provider_of(machine_id) == provider

    def _prompt(self, machine_id: str, failure: Failure, seen: Machine, at: Instant) -> None:
        """A List shows it healthy before a Get did: have a look, but not with every List."""
        if failure.cause == PROVIDER_FAILED:
            self._sightings[machine_id] = HealthySighting(seen, at)
        earliest = at
        if failure.last_look_at is not None:
            earliest = failure.last_look_at + nanos(self._limits.failed_backoff_min)
        if failure.next_look_at is None or failure.next_look_at > earliest:
            failure.is_prompted, failure.next_look_at = True, max(at, earliest)

    # -- going -----------------------------------------------------------------------------------

    def _adopt(self, machine_id: str, seen: Machine, at: Instant) -> None:
        text = f"recovered: the provider shows it {seen.state.label}"
        after = adopted_machine(self._machines.truth(machine_id), seen)
        self._machines.step(after, at, text, StorySource.PROVIDER, local=True, adopted=True)

    def _forget_failure(self, machine_id: str) -> str:
        """It is no longer Failed."""
        failure = self._failed.pop(machine_id)
        self._sightings.pop(machine_id, None)
        self._kept[machine_id].failure = None
        self._persist(machine_id)
        return failure.cause

    def _forget_machine(self, machine_id: str, at: Instant) -> None:
        self._kept[machine_id].is_forgotten = True
        text = "forgotten by an admin"
        self._machines.remove(machine_id, at, text, StorySource.ADMIN)

    def _on_removed(self, before: Machine | None) -> None:
        machine_id = before.id if before else ""
        if machine_id in self._failed:
            self._forget_failure(machine_id)

    # -- failing over and over -------------------------------------------------------------------

    def _count_flap(self, kept: FailureRow, at: Instant) -> None:
        window = nanos(self._limits.flap_window)
        limit = self._limits.flap_limit
        lately = [then for then in kept.failed_at if at - then < window] + [at]
        kept.failed_at = lately[-max(limit, 1) :]
        if len(kept.failed_at) >= limit:
            kept.rests_until = at + window

    def _let_rest(self, machine_id: str, at: Instant) -> None:
        """Held back from use while it rests; a hold of another kind stays."""
        until = self._kept[machine_id].rests_until
        if until is None or at >= until or machine_id not in self._machines:
            return
        held = self._machines.inventory.marks_of(machine_id).held
        if held is None or (held.by is HeldBy.BACKOFF and held.until != until):
            self._machines.hold(machine_id, Held(HeldBy.BACKOFF, until))

    def _end_rests(self, at: Instant) -> None:
        window = nanos(self._limits.flap_window)
        for machine_id, kept in list(self._kept.items()):
            if machine_id in self._failed:
                continue
            if kept.rests_until is not None and at >= kept.rests_until:
                self._wake_up(machine_id, kept.rests_until)
                kept.rests_until = None
                self._persist(machine_id)
            elif kept.rests_until is not None and self._is_free(machine_id):
                self._let_rest(machine_id, at)
            if kept.failed_at and at - kept.failed_at[-1] >= window:
                kept.failed_at = []
                self._persist(machine_id)

    def _wake_up(self, machine_id: str, until: Instant) -> None:
        if machine_id in self._machines:
            held = self._machines.inventory.marks_of(machine_id).held
            if held == Held(HeldBy.BACKOFF, until):
                self._machines.hold(machine_id, None)
        self._effects.wake()

    def _is_free(self, machine_id: str) -> bool:
        return machine_id in self._machines and self._machines.truth(machine_id).state in _FREE

    # -- being remembered ------------------------------------------------------------------------

    def _end_memories(self, at: Instant) -> None:
        memory = nanos(self._limits.failed_memory)
        for machine_id, kept in list(self._kept.items()):
            held, listed = machine_id in self._machines, machine_id in self._refused
            seen_at = kept.sight_of(is_held=held, is_listed=listed, at=at, memory=memory)
            if seen_at is not None and at - seen_at >= memory:
                text = f"no provider has listed {machine_id} for long: its failure is forgotten"
                self._effects.log("info", "failure_outlived", text, machine=machine_id)
                self.forget(machine_id)
            elif seen_at != kept.seen_at:
                kept.seen_at = seen_at
                self._persist(machine_id)
        self._refused.clear()

    # -- within ----------------------------------------------------------------------------------

    def _persist(self, machine_id: str) -> None:
        kept = self._kept.get(machine_id)
        if kept is None:
            return
        if kept.says_nothing:
            del self._kept[machine_id]
            self._effects.persist(FAILURES, machine_id, None)
        else:
            self._effects.persist(FAILURES, machine_id, kept.row())

    def _show(self) -> None:
        counts = self._effects.counts
        causes = Counter(failure.cause for failure in self._failed.values())
        for cause in self._causes_shown - set(causes):
            counts.drop("failed_machines", cause=cause)
        for cause, number in causes.items():
            counts.set("failed_machines", number, cause=cause)
        self._causes_shown = set(causes)
        stuck = sum(1 for failure in self._failed.values() if failure.is_stuck)
        counts.set("machines_stuck", stuck)


def _revived(older: Failure, epoch: int, at: Instant) -> Failure:
    """A failure of an earlier life goes on; being fenced ends with the epoch that was."""
    if older.cause == FENCED and older.epoch < epoch:
        return replace(older, cause=PROVIDER_FAILED, epoch=epoch, next_look_at=None)
    return replace(older, next_look_at=None if older.next_look_at is None else at)
