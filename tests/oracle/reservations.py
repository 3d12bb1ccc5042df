"""Reservations: who may take a reserved machine, and when a reservation ends (U2, U19, U21)."""

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import precedence_of_fingerprint
from tests.oracle.standing import OracleNeed
from tests.oracle.stock import Stock


class Reservations:
    """The live ones, by machine."""

    def __init__(self, memory: EngineMemory, stock: Stock) -> None:
        self.stock = stock
        self.live: dict[str, Reservation] = {
            machine: reservation
            for machine, reservation in memory.reservations.items()
            if machine in stock.by_id
        }

    def end_before_phase_one(self, standings: list[OracleNeed]) -> None:
        present = {s.key for s in standings}
        for machine, held in list(self.live.items()):
            if held.kind is ReservationKind.PREEMPTION and held.holder not in present:
                del self.live[machine]

    def end_after_phase_one(
        self, standings: list[OracleNeed], now: Instant | None, margin_seconds: float
    ) -> None:
        acquired = {m.machine.id for s in standings for m in s.bootstrapped + s.provisioned}
        short = {s.key for s in standings if not s.satisfied}
        for machine, held in list(self.live.items()):
            each = self.stock.by_id[machine]
            covered_without_it = (
                held.kind is ReservationKind.PREEMPTION
                and each.machine.state is MachineState.IDLE
                and held.holder not in short
            )
            if (
                machine in acquired
                or covered_without_it
                or expired(held, each, now, margin_seconds)
            ):
                del self.live[machine]

    def lets(self, need: Need, each: FleetMachine) -> bool:
        """Whether this Need may take this machine as far as reservations go."""
        held = self.live.get(each.machine.id)
        if held is None:
            return True
        if held.kind is ReservationKind.OFFER:
            return False
        if held.kind is ReservationKind.PREEMPTION and held.holder == need.key:
            return True
        if (
            held.kind is ReservationKind.TRANSFER_IN
            and held.holder.fingerprint == need.profile.fingerprint
        ):
            return True
        holder_precedence = precedence_of_fingerprint(held.holder.fingerprint)
        return holder_precedence is not None and need.profile.precedence > holder_precedence

    def preempted_for(self, key: NeedKey) -> list[FleetMachine]:
        """Every machine under a live preemption reservation of this identity, by id."""
        return [
            self.stock.by_id[machine]
            for machine, held in sorted(self.live.items())
            if held.kind is ReservationKind.PREEMPTION and held.holder == key
        ]

    def draining_for(self, key: NeedKey) -> list[FleetMachine]:
        return [m for m in self.preempted_for(key) if m.machine.state is MachineState.DRAINING]


def expired(
    held: Reservation, each: FleetMachine, now: Instant | None, margin_seconds: float
) -> bool:
    if now is None or held.expires_at is None or now < held.expires_at:
        return False
    if each.machine.state is MachineState.DRAINING:
        return False
    since = each.marks.idle_since
    just_idle = (
        each.machine.state is MachineState.IDLE
        and since is not None
        and now - since < margin_seconds * SECOND
    )
    return not just_idle
