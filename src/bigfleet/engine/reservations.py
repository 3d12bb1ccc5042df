"""Reservations: which Need may take a machine that was freed for one (rulings U2, U19-U21).

A preemption reserves its victim until the Need that asked for it has it, no longer wants it, or has
been offered it in vain. Judged twice a cycle: before Phase 1, whether there is still a machine and
a Need; after it, whether it was used, became needless, or expired.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.fold import InFlight, Normalised
from bigfleet.engine.identities import identity_of, pair_of
from bigfleet.engine.kernels.compiled import Int8s, Int32s, Int64s
from bigfleet.engine.kernels.vectors import GUARD_OFFER, GUARD_PREEMPTION, GUARD_TRANSFER_IN
from bigfleet.engine.scene import Scene
from bigfleet.engine.snapshot import Snapshot
from bigfleet.engine.vocabulary import packed_precedence
from bigfleet.model.batches import NEVER
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import Reservation, ReservationKind
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import precedence_of_fingerprint

_GUARD = {
    ReservationKind.PREEMPTION: GUARD_PREEMPTION,
    ReservationKind.OFFER: GUARD_OFFER,
    ReservationKind.TRANSFER_IN: GUARD_TRANSFER_IN,
}
#: A holder whose fingerprint cannot be read is never outranked.
_NEVER_OUTRANKED = 2**62


@dataclass(frozen=True, slots=True)
class StandingReservation:
    """A reservation with the row of its machine and the identity of its holder."""

    reservation: Reservation
    row: int
    identity: int

    @property
    def is_preemption(self) -> bool:
        return self.reservation.kind is ReservationKind.PREEMPTION


def standing_reservations(
    scene: Scene, reservations: Mapping[str, Reservation]
) -> list[StandingReservation]:
    """Reservations whose machine is known, by machine id."""
    found = []
    for machine_id in sorted(reservations):
        row = _row_of(scene.snapshot, machine_id)
        if row >= 0:
            reservation = reservations[machine_id]
            holder = reservation.holder
            cluster = scene.demand.tables.clusters.find(holder.cluster)
            pair = pair_of(holder.fingerprint, holder.group)
            found.append(StandingReservation(reservation, row, identity_of(cluster, pair)))
    return found


def in_flight(scene: Scene, standing: Iterable[StandingReservation]) -> InFlight:
    preemptions = [s for s in standing if s.is_preemption]
    state = scene.snapshot.columns.state
    draining = [s for s in preemptions if state[s.row] == MachineState.DRAINING]
    return InFlight(
        holder_identity=np.array([s.identity for s in preemptions], np.int64),
        draining_identity=np.array([s.identity for s in draining], np.int64),
        draining_kind=np.array([scene.supply.kind[s.row] for s in draining], np.int32),
    )


def wanted_reservations(
    standing: list[StandingReservation], normalised: Normalised
) -> list[StandingReservation]:
    """Without the preemptions whose Need is withdrawn."""
    held = np.array([s.identity for s in standing], np.int64)
    alive = np.isin(held, normalised.identity) if len(held) else held
    return [s for s, lives in zip(standing, alive, strict=True) if lives or not s.is_preemption]


@dataclass(frozen=True, slots=True)
class Guards:
    """Columns over the reserved machines, sorted by row."""

    row: Int32s
    kind: Int8s
    identity: Int64s
    fingerprint: Int64s
    precedence: Int64s


def guards_of(standing: list[StandingReservation]) -> Guards:
    ordered = sorted(standing, key=lambda s: s.row)
    precedence = [precedence_of_fingerprint(s.reservation.holder.fingerprint) for s in ordered]
    return Guards(
        np.array([s.row for s in ordered], np.int32),
        np.array([_GUARD[s.reservation.kind] for s in ordered], np.int8),
        np.array([s.identity for s in ordered], np.int64),
        np.array([pair_of(s.reservation.holder.fingerprint, "") for s in ordered], np.int64),
        np.array(
            [_NEVER_OUTRANKED if p is None else packed_precedence(p) for p in precedence],
            np.int64,
        ),
    )


def surviving_reservations(
    scene: Scene,
    standing: list[StandingReservation],
    holder: Int32s,
    unsatisfied_identities: set[int],
    now: Instant | None,
    margin_seconds: float,
) -> list[StandingReservation]:
    """What is left after Phase 1: not used, still of use, and not expired."""
    columns = scene.snapshot.columns
    margin = round(margin_seconds * SECOND)
    left = []
    for s in standing:
        state = columns.state[s.row]
        idle = state == MachineState.IDLE
        if holder[s.row] >= 0 and state in (MachineState.IDLE, MachineState.SPECULATIVE):
            continue
        if s.is_preemption and idle and s.identity not in unsatisfied_identities:
            continue
        since = int(columns.idle_since[s.row])
        just_idle = idle and since != NEVER and now is not None and now - since < margin
        expires = s.reservation.expires_at
        expired = now is not None and expires is not None and now >= expires
        if expired and state != MachineState.DRAINING and not just_idle:
            continue
        left.append(s)
    return left


def draining_victims(scene: Scene, standing: list[StandingReservation]) -> dict[int, list[int]]:
    """By identity of the holder, the rows of victims still draining, by id."""
    state = scene.snapshot.columns.state
    found: dict[int, list[int]] = {}
    for s in standing:
        if s.is_preemption and state[s.row] == MachineState.DRAINING:
            found.setdefault(s.identity, []).append(s.row)
    return found


def awaited_by_gangs(
    scene: Scene, standing: list[StandingReservation], normalised: Normalised
) -> tuple[Int32s, Int64s]:
    """Rows that drain for gangs, and the gang of each, ascending."""
    draining = draining_victims(scene, standing)
    rows: list[int] = []
    needs: list[int] = []
    if draining:
        is_gang = scene.same_of_profile[normalised.profile] >= 0
        held = np.isin(normalised.identity, np.array(list(draining), np.int64))
        for n in np.flatnonzero(held & is_gang).tolist():
            mine = draining[int(normalised.identity[n])]
            rows += mine
            needs += [n] * len(mine)
    return np.array(rows, np.int32), np.array(needs, np.int64)


def _row_of(snapshot: Snapshot, machine_id: str) -> int:
    at = bisect_left(snapshot.ids, machine_id)
    return at if at < len(snapshot.ids) and snapshot.ids[at] == machine_id else -1
