"""Departures: machines that are another shard's by now go, piece by piece and without any action.

From the moment a view is taken nothing is begun for them, however long they take to leave: a part
that is about to act asks `is_owned`. Occupied machines of a domain that is being given up stay, are
served, and leave when they are free; `occupied_in` says how many are left.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from bigfleet.model.machines import Instant
from bigfleet.model.ownership import Ownership, Pair
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.adoption import PendingActions
from bigfleet.shard.reconciling.list_reading import COLUMNS_AT_A_TIME, pieces_of
from bigfleet.shard.reconciling.missing_machines import REMOVALS_AT_A_TIME, MissingMachines
from bigfleet.shard.reconciling.ownership_reasons import (
    OCCUPIED,
    OwnershipReason,
    OwnershipReasons,
    rows_lingering_in,
    rows_to_look_at,
)
from bigfleet.shard.reconciling.provider_side import ProviderSide

if TYPE_CHECKING:
    from bigfleet.shard.decision_loop import DecisionLoop
    from bigfleet.shard.drains.drains import Drains
    from bigfleet.shard.failures.failures import Failures
    from bigfleet.shard.failures.lost import LostMachines

ANOTHERS = "owned by another shard"
#: Machines that are looked at before the loop may do something else.
JUDGED_AT_A_TIME = 1_024


class DepartureNeighbours(Protocol):
    """Parts that remember machines, and forget those that are another shard's."""

    drains: "Drains"
    failures: "Failures"
    lost: "LostMachines"
    decision_loop: "DecisionLoop"


class Departures:
    def __init__(
        self,
        machines: Machines,
        missing: MissingMachines,
        ownership: Ownership,
        address_of: Mapping[str, str],
        execution: PendingActions,
        parts: DepartureNeighbours,
    ) -> None:
        """`address_of`: under which the coordinator knows a provider; its name where there is
        none."""
        self._machines = machines
        self._missing = missing
        self._address_of = address_of
        self._execution = execution
        self._parts = parts
        self._ownership = ownership
        #: By name of the provider, under the ownership of now.
        self._reasons: dict[str, OwnershipReasons] = {}
        #: Ours only while they are occupied, and perhaps not occupied any more.
        self._again: set[str] = set()

    @property
    def ownership(self) -> Ownership:
        return self._ownership

    @ownership.setter
    def ownership(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._reasons = {}

    def address(self, provider: str) -> str:
        return self._address_of.get(provider, provider)

    def reasons(self, provider: str) -> OwnershipReasons:
        known = self._reasons.get(provider)
        if known is None:
            known = OwnershipReasons(self._ownership, self.address(provider))
            self._reasons[provider] = known
        return known

    # -- asking ----------------------------------------------------------------------------------

    def is_owned(self, machine_id: str) -> bool:
        """Whether something may be done with the machine as it is; a machine that is gone is not
        owned."""
        if self._ownership.everything:
            return True
        if machine_id not in self._machines:
            return False
        reason = self._reason(machine_id)
        return reason.holds(occupied=self._machines.state_of(machine_id) in OCCUPIED)

    def is_being_given_up(self, machine_id: str) -> bool:
        """Whether it is here only until it is free: its domain is another shard's then."""
        if not self._ownership.lingering or machine_id not in self._machines:
            return False
        reason = self._reason(machine_id)
        return not reason.whole and bool(reason.lingers_in)

    def occupied_in(self, pair: Pair, providers: Iterable[str]) -> int:
        """Machines that are still here by a pair that is being given up."""
        if pair not in self._ownership.lingering:
            return 0
        snapshot = self._machines.inventory.snapshot()
        found: set[str] = set()
        for provider in providers:
            reasons = self.reasons(provider)
            rows = rows_lingering_in(snapshot, reasons, provider, pair)
            found.update(snapshot.ids[row] for row in rows.tolist())
        left = {name for name in found if not self._ownership.names(name)}
        singled = (found - left) | {name for name in self._again if name in self._machines}
        return len(left) + sum(
            1 for name in singled - left if self._stays(name) and self._is_in(name, pair)
        )

    # -- leaving ---------------------------------------------------------------------------------

    def sweep(self, side: ProviderSide, at: Instant) -> Iterator[None]:
        """Every machine of a provider that is not ours goes."""
        snapshot = self._machines.inventory.snapshot()
        rows = rows_to_look_at(snapshot, self.reasons(side.name), side.name).tolist()
        ids = snapshot.ids
        del snapshot
        yield
        for piece in pieces_of(rows, JUDGED_AT_A_TIME):
            yield from self._let_go(side, [ids[row] for row in piece], at)
        view = self._ownership.view
        singled = [*self._ownership.released, *(view.overrides if view else ())]
        for names in pieces_of(singled, COLUMNS_AT_A_TIME):
            yield from self._let_go(side, names, at)

    def drop(self, side: ProviderSide, ids: Sequence[str], at: Instant) -> None:
        """These are another shard's; whether or not we had them, no part remembers them here."""
        ours = [name for name in ids if self._machines.provider_or_none(name) == side.name]
        self._missing.drop(side, ours, at, ANOTHERS, StorySource.COORDINATOR)
        side.unowned.update(ids)
        self._again.difference_update(ids)
        for machine_id in ids:
            self._forget(machine_id)

    def look_again(self, machine_id: str) -> None:
        """It came to rest, or its action ended: perhaps nothing keeps it here any more."""
        if self._ownership.lingering:
            self._again.add(machine_id)

    def settle(self, side: ProviderSide, at: Instant) -> None:
        """Those of one provider that only waited for their end."""
        here = [n for n in self._again if self._machines.provider_or_none(n) == side.name]
        self.drop(side, [name for name in here if not self._stays(name)], at)
        for name in here:
            # Occupied ones come back here when they change; a pending action may end unseen.
            if name in self._machines and not self._execution.is_pending(name):
                self._again.discard(name)
        self._again = {name for name in self._again if name in self._machines}

    # -- within ----------------------------------------------------------------------------------

    def _forget(self, machine_id: str) -> None:
        """Nothing is remembered of it, so that nothing is done about it."""
        self._parts.drains.forget(machine_id)
        self._parts.failures.forget(machine_id)
        self._parts.lost.forget(machine_id)
        self._parts.decision_loop.abandon(machine_id)

    def _let_go(self, side: ProviderSide, names: Sequence[str], at: Instant) -> Iterator[None]:
        here = (name for name in names if self._machines.provider_or_none(name) == side.name)
        lost = [name for name in here if not self._stays(name)]
        yield
        for piece in pieces_of(lost, REMOVALS_AT_A_TIME):
            # What was found out before the last piece need not hold any more.
            self.drop(side, [name for name in piece if self._is_lost(side, name)], at)
            yield

    def _is_lost(self, side: ProviderSide, machine_id: str) -> bool:
        here = self._machines.provider_or_none(machine_id) == side.name
        return here and not self._stays(machine_id)

    def _stays(self, machine_id: str) -> bool:
        """One with a pending action stays until that ends, if it may stay at all."""
        reason = self._reason(machine_id)
        occupied = self._machines.state_of(machine_id) in OCCUPIED
        if reason.holds(occupied=occupied):
            return True
        if not (reason.lingers_in and self._execution.is_pending(machine_id)):
            return False
        self._again.add(machine_id)
        return True

    def _is_in(self, machine_id: str, pair: Pair) -> bool:
        return pair in self._reason(machine_id).lingers_in

    def _reason(self, machine_id: str) -> OwnershipReason:
        offering, node_name = self._machines.inventory.offering_of(machine_id)
        reasons = self.reasons(self._machines.provider_of(machine_id))
        return reasons.of_machine(machine_id, offering, node_name)
