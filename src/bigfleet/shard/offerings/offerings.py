"""Offerings that ran out rest, for every cluster at once.

What an offering's Creates come to opens and closes its breaker; while it is open its Speculative
machines are held, so the engine buys the next-best offering in the next cycle. Costs nothing while
nothing is open: machines are looked up only when a breaker opens, expires or closes.
"""

import re
from collections import Counter
from collections.abc import Iterable

from bigfleet.engine.snapshot import slots_of
from bigfleet.model.backoffs import Backoff
from bigfleet.model.batches import Offering as ListedOffering
from bigfleet.model.coordination import OfferingBackoff
from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.offering_scopes import (
    OfferingRow,
    OfferingScope,
    Scope,
    covers,
    offering_of,
    scope_named,
    scopes_of,
)
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import OfferingState, OfferingView
from bigfleet.shard.effects import Effects
from bigfleet.shard.failures.failures import Failures
from bigfleet.shard.failures.records import PROVIDER_FAILED, timeout_cause
from bigfleet.shard.machines import Machines
from bigfleet.shard.offerings.breakers import (
    BreakerCause,
    BreakerState,
    FailureStreak,
    Joins,
    OfferingBreaker,
    heard,
    opened,
)
from bigfleet.shard.settings import OfferingSettings

S = MachineState

#: Offerings of a row that open it, and within which time they must have opened.
OFFERINGS_OF_A_ROW = 3
ROW_WINDOW = 120 * SECOND
#: Told to other shards at a time; where more rest, rows of them do too.
MOST_TOLD = 1000
_KINDS = frozenset(kind.value for kind in BreakerCause)
_NOT_JOINED = (timeout_cause(S.CONFIGURING), PROVIDER_FAILED)


_STATE_SHOWN = {
    BreakerState.OPEN: OfferingState.OPEN,
    BreakerState.HALF_OPEN: OfferingState.HALF_OPEN,
}


class Offerings:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        settings: OfferingSettings,
        failures: Failures,
    ) -> None:
        self._effects = effects
        self._machines = machines
        self._failures = failures
        self._backoff = Backoff(settings.backoff_min, settings.backoff_max)
        shortage = ("stockout", "quota")
        self._means_shortage = re.compile(
            "|".join([f"^(?:{'|'.join(shortage)})", *settings.stockout_patterns])
        )
        #: All and only the scopes that are not closed.
        self._breakers: dict[Scope, OfferingBreaker] = {}
        self._failings: dict[OfferingScope, FailureStreak] = {}
        self._joins: dict[OfferingScope, Joins] = {}
        #: Scopes an admin has reset -> until when what others say of them is old.
        self._reset: dict[Scope, Instant] = {}
        machines.watch(self.on_change)

    # -- asking ----------------------------------------------------------------------------------

    def why_not_bought(self, machine: Machine, at: Instant) -> Reason | None:
        if not self._breakers:
            return None
        for scope in scopes_of(self._offering(machine)):
            breaker = self._breakers.get(scope)
            if breaker is not None and breaker.lets_nothing_through:
                facts: dict[str, str | int] = {"subject": scope.name, "what": breaker.text}
                if at < breaker.until:
                    facts["left"] = -(-(breaker.until - at) // SECOND)
                return Reason("rail.backoff", facts)
        return None

    def is_shut(self, provider: str, listed: ListedOffering) -> bool:
        """Whether nothing of a provider's offering is bought now."""
        return any(b.lets_nothing_through for b in self._of(_key(provider, listed)))

    def views(self) -> tuple[OfferingView, ...]:
        return tuple(
            OfferingView(
                b.scope.name,
                _STATE_SHOWN[b.state],
                b.kind,
                b.attempt,
                b.opened_at,
                b.until,
                b.text,
                b.creates_saved,
            )
            for b in sorted(self._breakers.values(), key=lambda b: b.scope.name)
        )

    # -- events ----------------------------------------------------------------------------------

    def bought(self, machine: Machine, at: Instant) -> None:
        """A Create begins; of a half-open scope it is the probe, and others wait for it."""
        if not self._breakers:
            return
        for scope in scopes_of(self._offering(machine)):
            breaker = self._breakers.get(scope)
            if breaker is not None and not breaker.lets_nothing_through:
                breaker.probe = machine.id
                self._mark(scope)

    def avoided(self, machine: Machine) -> None:
        """An order was decided on, and is not placed because its offering rests."""
        shut = [b for b in self._of(self._offering(machine)) if b.lets_nothing_through]
        for breaker in shut[:1]:
            breaker.creates_saved += 1
            self._effects.counts.add("creates_avoided_total")

    def out_of_stock(self, machine: Machine, text: str, at: Instant) -> None:
        """A Create was refused for want of stock or quota."""
        self._on_failure(machine, BreakerCause.STOCKOUT, text, at)

    def never_joined(self, machine: Machine, text: str, at: Instant) -> None:
        """A machine that its provider calls Configured never became a Node."""
        offering = self._offering(machine)
        too_many = self._joins.setdefault(offering, Joins()).never_joined(machine.id, at)
        if too_many and offering not in self._breakers:
            self._on_failure(machine, BreakerCause.JOIN, text, at)

    def on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        was = before.state if before else None
        now = after.state if after else None
        if was is now:
            return
        if before is not None and was is S.CREATING:
            self._on_create_ended(before, after, at)
        elif before is not None and was is S.CONFIGURING:
            self._on_join_ended(before, after, at)
        if self._breakers and before is not None and now in (None, S.SPECULATIVE):
            self._release_probe(before, at)
        if self._breakers and after is not None and now is S.SPECULATIVE:
            self._hold(self._offering(after), [after.id])

    def tick(self, at: Instant) -> None:
        for breaker in list(self._breakers.values()):
            if breaker.state is BreakerState.OPEN and at >= breaker.until:
                breaker.state = BreakerState.HALF_OPEN
                self._mark(breaker.scope)
        states = Counter(breaker.state for breaker in self._breakers.values())
        for state in BreakerState:
            self._effects.counts.set("offering_backoff", states[state], state=state.value)

    def reset(self, name: str, at: Instant) -> bool:
        """An admin knows better; False: nothing of that name rests."""
        named = [breaker for breaker in self._breakers.values() if breaker.scope.name == name]
        for breaker in named:
            self._reset[breaker.scope] = breaker.until
            self._close(breaker, at, "reset by an admin")
        return bool(named)

    # -- other shards ----------------------------------------------------------------------------

    def found_out(self, at: Instant) -> tuple[OfferingBackoff, ...]:
        """What this shard itself knows to be out of stock, for the others."""
        known = (b for b in self._breakers.values() if not b.is_hearsay)
        resting = [b for b in known if b.state is BreakerState.OPEN and at < b.until]
        resting.sort(key=lambda b: b.scope.name)
        return tuple(
            OfferingBackoff(b.scope.name, b.kind.value, b.attempt, b.until)
            for b in resting[:MOST_TOLD]
        )

    def hear(self, told: Iterable[OfferingBackoff], at: Instant) -> None:
        """Everything other shards found out; what they say no more is over.

        What this shard found out itself, or tries right now, is its own business.
        """
        said: dict[Scope, OfferingBackoff] = {}
        for each in told:
            scope = scope_named(each.offering)
            if scope is not None and at < each.until and each.until > self._reset.get(scope, 0):
                said[scope] = each
        for breaker in [b for b in self._breakers.values() if b.is_hearsay and not b.probe]:
            if breaker.scope not in said and breaker.state is BreakerState.OPEN:
                self._close(breaker, at, "the shard that could not buy it can again")
        for scope, each in said.items():
            known = self._breakers.get(scope)
            kind = BreakerCause(each.kind) if each.kind in _KINDS else BreakerCause.STOCKOUT
            if known is None:
                self._breakers[scope] = heard(scope, kind, each.attempt, each.until, at)
                self._tell(self._breakers[scope], at)
                self._mark(scope)
                self._effects.wake()
            elif known.is_hearsay and known.state is BreakerState.OPEN:
                known.attempt, known.until = each.attempt, each.until
        self._reset = {scope: until for scope, until in self._reset.items() if at < until}

    # -- how Creates and joins go ----------------------------------------------------------------

    def _on_create_ended(self, before: Machine, after: Machine | None, at: Instant) -> None:
        if after is None or after.state is S.SPECULATIVE:
            return
        if after.state is S.FAILED:
            shortage = self._means_shortage.search(after.last_error)
            kind = BreakerCause.STOCKOUT if shortage else BreakerCause.FAILURES
            self._on_failure(before, kind, after.last_error, at)
        else:
            self._on_success(before, at, joined=False)

    def _on_join_ended(self, before: Machine, after: Machine | None, at: Instant) -> None:
        if after is None or after.state is S.IDLE:
            return
        offering = self._offering(before)
        joined = after.state is not S.FAILED
        if joined:
            self._on_success(before, at, joined=True)
        elif self._failures.cause_of(before.id) not in _NOT_JOINED:
            return
        too_many = self._joins.setdefault(offering, Joins()).add(before.id, joined, at)
        is_probe = any(b.probe == before.id for b in self._of(offering))
        if not joined and (is_probe or (too_many and offering not in self._breakers)):
            self._on_failure(before, BreakerCause.JOIN, after.last_error, at)

    def _on_success(self, machine: Machine, at: Instant, *, joined: bool) -> None:
        offering = self._offering(machine)
        self._failings.pop(offering, None)
        for breaker in self._of(offering):
            # What was bought before the breaker opened says nothing about now.
            if breaker.probe == machine.id and (joined or breaker.kind is not BreakerCause.JOIN):
                self._close(breaker, at, "the probe came up")

    def _on_failure(self, machine: Machine, kind: BreakerCause, text: str, at: Instant) -> None:
        offering = self._offering(machine)
        probed = [b for b in self._of(offering) if b.probe == machine.id]
        for breaker in probed:
            breaker.reopen(self._backoff, at, text)
            self._tell(breaker, at)
            self._mark(breaker.scope)
        if (known := self._breakers.get(offering)) is not None:
            known.is_hearsay = False
            return
        too_many = self._failings.setdefault(offering, FailureStreak()).add(at)
        if kind is not BreakerCause.FAILURES or too_many:
            self._open(offering, kind, text, at)

    def _release_probe(self, machine: Machine, at: Instant) -> None:
        """It came to nothing, through no fault of the offering: another may try."""
        for breaker in list(self._breakers.values()):
            if breaker.probe == machine.id and breaker.state is BreakerState.HALF_OPEN:
                breaker.probe = ""
                self._mark(breaker.scope)

    # -- opening and closing ---------------------------------------------------------------------

    def _open(self, scope: Scope, kind: BreakerCause, text: str, at: Instant) -> None:
        breaker = self._breakers[scope] = opened(scope, kind, self._backoff, at, text)
        if isinstance(scope, OfferingScope):
            self._failings.pop(scope, None)
        self._tell(breaker, at)
        self._mark(scope)
        if isinstance(scope, OfferingScope):
            for row in scope.rows:
                self._open_row(row, at)
        self._effects.wake()

    def _open_row(self, row: OfferingRow, at: Instant) -> None:
        if row in self._breakers:
            return
        lately = [
            breaker.scope.name
            for breaker in self._breakers.values()
            if isinstance(breaker.scope, OfferingScope)
            and row in breaker.scope.rows
            and at - breaker.opened_at < ROW_WINDOW
        ]
        if len(lately) >= OFFERINGS_OF_A_ROW:
            self._open(
                row, BreakerCause.ROW, f"{len(lately)} of its offerings ran out together", at
            )

    def _close(self, breaker: OfferingBreaker, at: Instant, why: str) -> None:
        del self._breakers[breaker.scope]
        if isinstance(breaker.scope, OfferingScope):
            self._joins.pop(breaker.scope, None)
        text = f"{breaker.scope.name} is bought again: {why}"
        self._effects.log("info", "offering_closed", text, offering=breaker.scope.name)
        self._mark(breaker.scope)
        self._effects.wake()

    def _tell(self, breaker: OfferingBreaker, at: Instant) -> None:
        seconds = (breaker.until - at) // SECOND
        self._effects.log(
            "warning",
            "offering_open",
            f"{breaker.scope.name} is not bought for {seconds} s: {breaker.text}",
            offering=breaker.scope.name,
            kind=breaker.kind.value,
            attempt=breaker.attempt,
        )

    # -- marks -----------------------------------------------------------------------------------

    def _mark(self, scope: Scope) -> None:
        """Hold or free the Speculative machines of a scope, as its breakers are now."""

        def wanted(listed: ListedOffering) -> bool:
            key = _key(scope.provider, listed)
            return covers(scope, key)

        found: dict[OfferingScope, list[str]] = {}
        for listed, ids in slots_of(self._machines.inventory.snapshot(), wanted).items():
            ours = [name for name in ids if self._machines.provider_of(name) == scope.provider]
            found.setdefault(_key(scope.provider, listed), []).extend(ours)
        for offering, ids in found.items():
            self._hold(offering, ids)

    def _hold(self, offering: OfferingScope, ids: list[str]) -> None:
        shut = [b.until for b in self._of(offering) if b.lets_nothing_through]
        # Machines that failed too often rest for their own sake, whether or not the offering does.
        ids = [machine for machine in ids if not self._failures.is_resting(machine)]
        self._machines.lift_all(ids, HeldBy.BACKOFF)
        if shut:
            self._machines.hold_all(ids, Held(HeldBy.BACKOFF, max(shut)))

    def _of(self, offering: OfferingScope) -> list[OfferingBreaker]:
        if not self._breakers:
            return []
        return [b for scope in scopes_of(offering) if (b := self._breakers.get(scope))]

    def _offering(self, machine: Machine) -> OfferingScope:
        return offering_of(machine, self._machines.provider_of(machine.id))


def _key(provider: str, listed: ListedOffering) -> OfferingScope:
    return OfferingScope(provider, listed.instance_type, listed.zone, listed.capacity_type)
