"""The reconciler: Lists in, a changed inventory out; nothing is removed on the word of one List.

Law: after a List has been taken over, every owned, sound machine it names is as it says, apart from
those the shard is ahead of; every machine it does not name is still there, until enough Lists in a
row have missed it. A List is taken over in pieces, so that the loop is never busy for long:
`on_list` does the first one, `continue_list` the others.
"""

from collections.abc import Iterator, Mapping, Sequence, Set

import numpy as np

from bigfleet.engine.kernels.compiled import Bools
from bigfleet.model.batches import MachineBatch
from bigfleet.model.machines import Instant, Machine
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import Ownership, Pair
from bigfleet.model.provider_calls import Code, MachineRecord
from bigfleet.model.shard_views import ProviderStatus, Quarantine
from bigfleet.shard.calls import Calls
from bigfleet.shard.effects import Effects
from bigfleet.shard.events import ListFailed
from bigfleet.shard.label_defaults import label_defaults_of
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.adoption import (
    Adopter,
    FailedMachines,
    PendingActions,
    adopted_machine,
)
from bigfleet.shard.reconciling.departures import DepartureNeighbours, Departures
from bigfleet.shard.reconciling.list_guard import ListGuard, ListVerdict
from bigfleet.shard.reconciling.list_reading import COLUMNS_AT_A_TIME, LastList, Listing
from bigfleet.shard.reconciling.list_schedule import ListPlan
from bigfleet.shard.reconciling.list_taker import ListTaker
from bigfleet.shard.reconciling.missing_machines import MissingMachines
from bigfleet.shard.reconciling.ownership_reasons import OCCUPIED, owned_rows
from bigfleet.shard.reconciling.provider_side import ProviderSide
from bigfleet.shard.reconciling.rebind_guard import (
    RebindGuard,
    Rebinding,
    done_text,
    rebinding_of,
    seen_text,
)
from bigfleet.shard.reconciling.record_checks import (
    DUPLICATE_ID,
    Rejection,
    labelled_machine,
    machine_at,
    screened_machine,
)
from bigfleet.shard.reconciling.second_looks import SecondLooks
from bigfleet.shard.sessions.sessions import Sessions
from bigfleet.shard.settings import CurrentShardSettings

_END = object()
#: Calls whose outcome is unknown: the line, not the provider, has failed.
TRANSPORT = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED)


class Reconciler:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        settings: CurrentShardSettings,
        providers: Mapping[str, str],
        ownership: Ownership,
        remembered: Set[str],
        *,
        sessions: Sessions,
        calls: Calls | None,
        execution: PendingActions,
        failures: FailedMachines,
        parts: DepartureNeighbours,
    ) -> None:
        """`providers`: addresses by name. `remembered`: machines with stored rows of an earlier
        life. `calls`: for second looks; None: every List is believed at once.
        """
        self._settings = settings
        self._effects = effects
        self._machines = machines
        self._failures = failures
        self._second_looks = None
        if calls is not None:
            self._second_looks = SecondLooks(
                effects, machines, settings, calls, execution, failures, self
            )
        self._adopter = adopter = Adopter(effects, machines, execution, failures, self)
        self._missing = MissingMachines(effects, machines, adopter, sessions)
        self._leaving = Departures(machines, self._missing, ownership, providers, execution, parts)
        self._taker = ListTaker(
            effects, machines, adopter, failures, self._leaving, sessions, remembered
        )
        self._sides = {name: self._side(name) for name in providers}
        #: How often machines may have become ours.
        self.generation = 0
        #: While this is set, removals are our own.
        self._taking_over = False
        machines.watch(self._on_change)

    # -- what is asked of it ---------------------------------------------------------------------

    @property
    def ownership(self) -> Ownership:
        return self._leaving.ownership

    def is_owned(self, machine_id: str) -> bool:
        """Whether something may be done with a machine as it is."""
        return self._leaving.is_owned(machine_id)

    def is_being_given_up(self, machine_id: str) -> bool:
        """Whether it is here only until it is free: its domain is another shard's then."""
        return self._leaving.is_being_given_up(machine_id)

    def occupied_in(self, pair: Pair) -> int:
        """Machines that are still here by a pair that is being given up."""
        return self._leaving.occupied_in(pair, self._sides)

    def is_sweeping(self) -> bool:
        """Whether machines that are not ours are still here."""
        return any(side.sweep is not None for side in self._sides.values())

    def listed_since(self, generation: int) -> bool:
        """Whether all of every provider has been listed since machines became ours."""
        return all(side.listed_generation >= generation for side in self._sides.values())

    def known_machines(self, provider: str) -> LastList:
        """For the reader of a List that is asked for now."""
        return self._sides[provider].remembered()

    def next_list(self, provider: str, at: Instant) -> ListPlan:
        side = self._sides[provider]
        return side.schedule.next(
            at,
            self._settings.now.reconcile,
            missing=len(side.absences) > 0 or side.rebinds.consecutive > 0,
            breaker_open=side.breaker.open,
        )

    def listed_once(self) -> bool:
        """Whether every provider has been listed and all of it taken over, once: true for good."""
        return all(side.was_taken_over for side in self._sides.values())

    def breaker_open(self, provider: str) -> bool:
        return self._sides[provider].breaker.open

    def silent_providers(self) -> list[str]:
        """Providers that do not answer."""
        return [name for name, side in self._sides.items() if side.breaker.open]

    def breaker_since(self, provider: str) -> Instant | None:
        """When the breaker opened; None: it is closed."""
        return self._sides[provider].breaker.opened_at

    def unseen_lists(self, machine_id: str) -> int:
        """0: it was in the last whole List. An unseen machine is not taken, drained or deleted."""
        if machine_id not in self._machines:
            return 0
        return self._sides[self._machines.provider_of(machine_id)].absences.lists(machine_id)

    def is_rebound(self, machine_id: str) -> bool:
        """Whether a held List shows another binding: such a machine is not drained."""
        provider = self._machines.provider_or_none(machine_id)
        return provider is not None and self._sides[provider].rebinds.holds(machine_id)

    def quarantines(self) -> list[Quarantine]:
        rails, sides = self._settings.now.rails, self._sides.values()
        guards = (guard for side in sides for guard in (side.guard, side.rebinds))
        held = (guard.quarantine(rails) for guard in guards)
        return [each for each in held if each is not None]

    def status(self, provider: str, address: str = "", region: str = "") -> ProviderStatus:
        side = self._sides[provider]
        return ProviderStatus(
            name=provider,
            address=address,
            region=region,
            breaker_open=side.breaker.open,
            last_list_at=side.last_list_at,
            last_error=side.last_error or side.unwritable,
            machines=self._machines.count_of(provider),
            incremental=side.schedule.incremental(self._settings.now.reconcile),
        )

    def screen(self, record: MachineRecord, provider: str) -> Machine | str:
        """A record that came alone (an ack, a Get): as a machine, or why it is not believed."""
        machine = screened_machine(record)
        known = self._machines.provider_or_none(record.id)
        if isinstance(machine, Machine) and known not in (None, provider):
            machine = Rejection(record.id, DUPLICATE_ID, f"{known} brought that id first")
        if isinstance(machine, Rejection):
            self._taker.reject(provider, (machine,))
            return machine.text
        return labelled_machine(machine, self._sides[provider].label_defaults)

    def doubts(self, before: Machine, after: Machine, provider: str, at: Instant) -> bool:
        """Whether the machine stays as it is although a List shows it otherwise."""
        rebinds, looks = self._sides[provider].rebinds, self._second_looks
        if rebinds.is_held(before, after):
            return True
        if looks is None or rebinds.is_believed(before, after):
            return False
        return looks.doubts(before, after, provider, at)

    def attach(self, provider: str) -> None:
        """One more, while the shard runs: nothing waits for its first List."""
        side = self._side(provider)
        side.generation, side.was_taken_over = self.generation, True
        self._sides[provider] = side

    # -- what happened ---------------------------------------------------------------------------

    def on_list(self, event: Listing) -> bool:
        """Whether `continue_list` has more to do."""
        side = self._sides[event.provider]
        self._finish(side)
        self._note(side, event)
        side.rest = self._taken_over(side, event)
        return self.continue_list(event.provider)

    def continue_list(self, provider: str) -> bool:
        """One more piece of the last List; False once all is taken over."""
        side = self._sides[provider]
        self._taking_over = True
        try:
            if side.sweep is not None:
                if next(side.sweep, _END) is _END:
                    side.sweep = None
            elif side.rest is not None and next(side.rest, _END) is _END:
                side.rest = None
                side.was_taken_over = True
        finally:
            self._taking_over = False
        return side.sweep is not None or side.rest is not None

    def continue_sweep(self) -> bool:
        """One more piece of what a new view changed; False once everything not ours is gone."""
        for side in self._sides.values():
            if side.sweep is not None:
                self.continue_list(side.name)
                return True
        return False

    def on_list_failed(self, event: ListFailed) -> None:
        """Nothing is known that was not known before."""
        side = self._sides[event.provider]
        side.schedule.tried(event.at)
        side.last_error = str(event.problem)
        self._failed(side, event.at)

    def on_call_result(self, provider: str, code: Code, at: Instant) -> None:
        """A provider that refuses has answered: only a line that fails counts against it."""
        side = self._sides[provider]
        if code in TRANSPORT:
            self._failed(side, at)
        else:
            self._succeeded(side)

    def on_write(self, provider: str, refused: str = "") -> None:
        """A provider took a change, or refused it since it cannot write it down."""
        side = self._sides[provider]
        if refused and not side.unwritable:
            text = f"{provider} refuses every change: {refused}"
            self._effects.log("error", "provider_unwritable", text, provider=provider)
        side.unwritable = refused

    def on_ownership(
        self, ownership: Ownership, at: Instant, lost: Sequence[str] | None = None
    ) -> None:
        """From here on nothing is begun for what is not owned.

        It leaves without any action, in pieces (`continue_sweep`), and what may be new comes with a
        whole List that begins after this. `lost`: nothing else changed, and these leave at once.
        """
        before, self._leaving.ownership = self.ownership, ownership
        if ownership.everything:
            return
        if ownership.may_gain(before):
            self.generation += 1
            machines = ownership.machines_gained(before)
            for side in self._sides.values():
                side.may_gain(self.generation, machines)
        for side in self._sides.values():
            if lost is None:
                side.sweep = self._swept(side, at)
            else:
                self._drop(side, [n for n in lost if self._is_of(side, n)], at)
        self._effects.wake()

    def release(self, provider: str, accept: bool, at: Instant) -> str:
        """End a hold by hand: believe what every held List said, or none of it."""
        side = self._sides.get(provider)
        if side is None or side.holds == 0:
            return f"no List of provider {provider} is held"
        held, lost, rebound = side.holds, side.guard.consecutive, side.rebinds.consecutive
        missing = len(side.guard.missing_in_all)
        self._finish(side)
        if not accept:
            side.guard.discard()
            side.rebinds.discard()
            self._gauge(side)
            kept = ["nothing was removed"] if lost else []
            kept += ["no binding was changed"] if rebound else []
            return f"{held} held Lists of {provider} were discarded; {' and '.join(kept)}"
        done = [f"{missing} machines are removed"] if lost else []
        done += [done_text(side.rebinds.accept())] if rebound else []
        side.rest = self._confirmed(side, at, lost=lost > 0)
        self.continue_list(provider)
        return f"{held} held Lists of {provider} were accepted; {'; '.join(done)}"

    def settle(self, at: Instant) -> None:
        """Machines that were only waited for leave, if they are free by now."""
        for side in self._sides.values():
            self._taking_over = True
            self._leaving.settle(side, at)
            self._taking_over = False
            self._gauge(side)

    def tick(self, at: Instant) -> None:
        if self._second_looks is not None:
            self._second_looks.tick(at)
        self.settle(at)
        for side in self._sides.values():
            self.continue_list(side.name)
            if side.last_list_at is not None:
                age = (at - side.last_list_at) / SECOND
                self._effects.counts.set("provider_list_age_seconds", age, provider=side.name)

    # -- within ----------------------------------------------------------------------------------

    def _side(self, provider: str) -> ProviderSide:
        defaults = label_defaults_of(self._settings.now.label_defaults, provider)
        return ProviderSide(provider, ListGuard(provider), RebindGuard(provider), defaults)

    def _note(self, side: ProviderSide, event: Listing) -> None:
        reading = event.listing
        side.schedule.listed(reading.count, reading.revision, event.at, whole=event.whole)
        side.known = reading.known
        if reading.generation != side.generation:
            side.schedule.start_over()
        side.touched -= reading.doubted
        self._machines.forget_changes_before(reading.doubted, event.started)
        self._succeeded(side)
        if reading.problems:
            self._effects.log(
                "warning",
                "stamps_unreadable",
                f"{len(reading.problems)} stamps that {side.name} echoes could not be read;"
                f" the first: {reading.problems[0]}",
                provider=side.name,
            )

    def _taken_over(self, side: ProviderSide, event: Listing) -> Iterator[None]:
        taker, reading, at = self._taker, event.listing, event.at
        taker.reject(side.name, reading.rejected)
        batch = reading.batch
        named = (*batch.ids, *(each.machine for each in reading.rejected))
        yield from self._missing.see(side, named)
        if event.whole:
            settings = self._settings.now
            yield from self._missing.miss(side, event, settings.rails, settings.reconcile)
        # What waited is older than a record that was rejected, and no truer for it; a repeated one
        # says nothing, since the first of an id counts.
        bad = (each.machine for each in reading.rejected if each.reason != DUPLICATE_ID)
        listed = frozenset((*batch.ids, *bad) if side.postponed else ())
        yield from self._judge_bindings(side, listed, event)
        yield from taker.look_again(side, listed, event)
        for piece in self._in_pieces(batch):
            # Whose they are is asked now: a view may have come between two pieces.
            owned = self._owned(side, piece)
            taker.leave_unowned(side, piece.ids, owned, at)
            yield from taker.rows(side, piece.taken(owned), event)
        taker.tell_keeper(side, event)
        if event.whole:
            side.listed_generation = reading.generation
            if side.guard.consecutive == 0:
                side.guard.believed(self._machines.count_of(side.name))
        side.last_list_at, side.last_error = at, ""
        self._gauge(side)

    def _judge_bindings(
        self, side: ProviderSide, listed: frozenset[str], event: Listing
    ) -> Iterator[None]:
        """Before anything of a List is taken over: does it move or free too many machines?"""
        seen: dict[str, Rebinding] = {}

        def look(machine: Machine) -> None:
            rebinding = self._rebinding(side, machine, event.started)
            if rebinding is not None:
                seen[machine.id] = rebinding

        for name, machine in side.postponed.items():
            if name not in listed and name not in side.absences:
                look(machine)
        for piece in self._in_pieces(event.listing.batch):
            known, stays = self._machines.stays(piece)
            for row in np.flatnonzero(known & ~stays).tolist():
                look(machine_at(piece, row))
            yield
        bound = self._machines.bound_count_of(side.name) if seen else 0
        rails, was_held = self._settings.now.rails, side.rebinds.consecutive
        verdict = side.rebinds.judge(seen, bound, event.at, rails, whole=event.whole)
        if verdict is ListVerdict.HELD and not was_held:
            self._effects.log(
                "warning",
                "list_quarantined",
                f"a List of {side.name} is held: {seen_text(seen, bound)}; no binding is changed"
                " until Lists say so again and again, or an administrator accepts it",
                provider=side.name,
                rebound=len(seen),
            )
        if verdict is ListVerdict.CONFIRMED:
            text = f"Lists of {side.name} went on to say so; bindings are changed"
            self._effects.log("warning", "list_quarantine_confirmed", text, provider=side.name)

    def _rebinding(self, side: ProviderSide, listed: Machine, started: Instant) -> Rebinding | None:
        """What the List would change in a machine's binding that this shard did not ask for."""
        ahead = self._adopter.is_ahead(listed.id, started)
        if not self._is_of(side, listed.id) or ahead or self._failures.holds(listed.id):
            return None
        before = self._machines.truth(listed.id)
        return rebinding_of(before, adopted_machine(before, listed))

    def _in_pieces(self, batch: MachineBatch) -> Iterator[MachineBatch]:
        for start in range(0, len(batch), COLUMNS_AT_A_TIME):
            piece = np.zeros(len(batch), np.bool_)
            piece[start : start + COLUMNS_AT_A_TIME] = True
            yield batch.taken(piece)

    def _owned(self, side: ProviderSide, batch: MachineBatch) -> Bools:
        reasons = self._leaving.reasons(side.name)
        return owned_rows(batch, reasons, lambda name: self._is_of(side, name))

    def _swept(self, side: ProviderSide, at: Instant) -> Iterator[None]:
        yield from self._leaving.sweep(side, at)
        if side.guard.consecutive == 0:
            side.guard.believed(self._machines.count_of(side.name))
        self._gauge(side)

    def _drop(self, side: ProviderSide, ids: Sequence[str], at: Instant) -> None:
        """Outside of a List, like within one."""
        self._taking_over = True
        self._leaving.drop(side, ids, at)
        self._taking_over = False
        self._gauge(side)

    def _is_of(self, side: ProviderSide, machine_id: str) -> bool:
        return self._machines.provider_or_none(machine_id) == side.name

    def _confirmed(self, side: ProviderSide, at: Instant, *, lost: bool) -> Iterator[None]:
        """An administrator accepts: machines acted on in this very moment stay as they are."""
        if lost:
            yield from self._missing.confirm(side, at, at)
            side.guard.believed(self._machines.count_of(side.name))
        for machine in tuple(side.postponed.values()):
            if self._is_of(side, machine.id) and side.rebinds.believes(machine.id):
                del side.postponed[machine.id]
                self._taker.look(side, machine, at, at)
                yield
        self._gauge(side)

    def _finish(self, side: ProviderSide) -> None:
        while side.rest is not None:
            self.continue_list(side.name)

    def _failed(self, side: ProviderSide, at: Instant) -> None:
        if side.breaker.failed(at, self._settings.now.reconcile):
            text = f"calls to {side.name} fail one after the other; new actions there wait"
            self._effects.log("error", "breaker_opened", text, provider=side.name)
        self._effects.counts.set("provider_breaker_open", side.breaker.open, provider=side.name)

    def _succeeded(self, side: ProviderSide) -> None:
        if side.breaker.succeeded():
            text = f"{side.name} answers again"
            self._effects.log("info", "breaker_closed", text, provider=side.name)
            self._effects.wake()
        self._effects.counts.set("provider_breaker_open", side.breaker.open, provider=side.name)

    def _gauge(self, side: ProviderSide) -> None:
        counts, name = self._effects.counts, side.name
        counts.set("provider_list_machines", len(side.known.ids), provider=name)
        counts.set("machines_unseen", len(side.absences), provider=name)
        counts.set("list_quarantined", side.holds, provider=name)
        counts.set("machines_ignored_unowned", len(side.unowned), provider=name)

    def _on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        """A machine was changed: what was read of it before says nothing any more.

        The change may come from a watcher that heard of our own change, in the middle of it.
        """
        known = after or before
        assert known is not None, "a change is of a machine"
        own = self._taking_over if after is None else after is self._adopter.making
        if after is not None and after.state not in OCCUPIED:
            self._leaving.look_again(after.id)
        if (looks := self._second_looks) is not None:
            if after is None:
                looks.forget(known.id)
            elif before is not None and not own:
                looks.left(before, at)
        for side in self._sides.values():
            if not own or (after is None and known.id in side.foreign):
                side.touched.add(known.id)
            if not own and after is None:
                side.forget(known.id)
