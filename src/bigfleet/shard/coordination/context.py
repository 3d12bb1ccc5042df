"""The parts of the shard that transfers use, and whether a machine may be moved.

A machine is given away only while nothing here wants it or is about to touch it: `why_not_free`
looks at it as it is now, not as it was decided before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bigfleet.engine.donation import is_claimed
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import Reservation, ReservationKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.action_checks import ActionChecks
from bigfleet.shard.coordination.bindings import Bindings
from bigfleet.shard.coordination.owned_machines import OwnedMachines
from bigfleet.shard.coordination.quotas import Quotas
from bigfleet.shard.decision_loop import DecisionLoop
from bigfleet.shard.drains.drains import Drains
from bigfleet.shard.effects import Effects
from bigfleet.shard.execution.execution import Execution
from bigfleet.shard.machines import Machines
from bigfleet.shard.offerings.offerings import Offerings
from bigfleet.shard.rails.pauses import Pauses
from bigfleet.shard.reconciling.reconciler import Reconciler
from bigfleet.shard.settings import CurrentShardSettings

_PREFIX = "tx-"


@dataclass(frozen=True, slots=True)
class CoordinationContext:
    shard_id: str
    settings: CurrentShardSettings
    effects: Effects
    machines: Machines
    #: Addresses by name.
    providers: Mapping[str, str]
    reconciler: Reconciler
    owned_machines: OwnedMachines
    quotas: Quotas
    bindings: Bindings
    pauses: Pauses
    offerings: Offerings
    execution: Execution
    drains: Drains
    decision_loop: DecisionLoop
    checks: ActionChecks

    def provider_at(self, address: str) -> str | None:
        """The name under which this shard knows the provider."""
        return next((name for name, known in self.providers.items() if known == address), None)

    def address_of(self, machine: str) -> str:
        name = self.machines.provider_or_none(machine)
        return self.providers.get(name, "") if name is not None else ""

    def owns(self, machine: str) -> bool:
        if machine not in self.machines:
            return False
        record = self.machines.truth(machine)
        return self.owned_machines.ownership.owns(
            machine, record.attribute, self.address_of(machine)
        )

    def why_not_at_rest(self, machine: str, state: MachineState, transfer: str) -> str:
        """Why a machine of that state is not this shard's to move now; empty: it is."""
        found = self.machines.state_of(machine)
        if found is None:
            return f"{machine} is not here"
        if found is not state:
            return f"{machine} is {found.label} by now"
        if not self.owns(machine):
            return f"{machine} is not this shard's"
        if doing := self.checks.under_way(machine):
            return f"{machine}: {doing}"
        if held := self.machines.inventory.marks_of(machine).held:
            return f"{machine} is held ({held.by.value})"
        reservation = self.decision_loop.reservations.get(machine)
        if reservation is not None and not is_offered_to(reservation, transfer):
            return f"{machine} is reserved ({reservation.kind.value})"
        return ""

    def why_not_free(self, machine: str, state: MachineState, transfer: str) -> str:
        """The same, and no Need has it; what is reserved for the transfer no Need can have."""
        if why := self.why_not_at_rest(machine, state, transfer):
            return why
        if is_offered_to(self.decision_loop.reservations.get(machine), transfer):
            return ""
        decision = self.decision_loop.decision
        if decision is None:
            return f"nothing was decided yet, so a Need may have {machine}"
        return f"a Need has {machine}" if is_claimed(decision, machine) else ""

    def capacity(self, machines: Iterable[str]) -> Resources:
        total = Resources()
        for machine in machines:
            total = total.plus(self.machines.truth(machine).effective_allocatable)
        return total

    def tell(self, machine: str, at: Instant, text: str) -> None:
        self.machines.tell(machine, at, StorySource.COORDINATOR, text)


def transfer_name(transfer: str) -> str:
    """As stories, logs and reservations name it."""
    return _PREFIX + transfer


def offered(machine: str, transfer: str, fingerprint: str, until: Instant) -> Reservation:
    """No Need may claim it; the holder's group names the transfer."""
    holder = NeedKey("", fingerprint, transfer_name(transfer))
    return Reservation(machine, ReservationKind.OFFER, holder, until)


def coming_in(machine: str, transfer: str, fingerprint: str, until: Instant) -> Reservation:
    """For Needs of that fingerprint in any cluster."""
    holder = NeedKey("", fingerprint, transfer_name(transfer))
    return Reservation(machine, ReservationKind.TRANSFER_IN, holder, until)


def offered_to(reservation: Reservation) -> str:
    """The transfer a machine is kept for; empty: none."""
    if reservation.kind is not ReservationKind.OFFER:
        return ""
    return reservation.holder.group.removeprefix(_PREFIX)


def is_offered_to(reservation: Reservation | None, transfer: str) -> bool:
    return reservation is not None and offered_to(reservation) == transfer
