"""What the verifier is told about the actions of a decision, read from the cycle's columns.

The one way from the engine's numbers to the verifier's records, for a live shard, a plan and a
replay alike. Touches the machines of the actions, and the columns of the others as a whole; decides
nothing. Machines are found by the id an action names, and Needs are read from the accepted demand.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.decision import Decision
from bigfleet.engine.identities import identity_of, pair_of
from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.engine.snapshot import Snapshot, Tables
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.batches import Offering
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import Reservation, ReservationKind
from bigfleet.model.requirements import HOSTNAME_KEY, ZONE_KEY
from bigfleet.verifier.facts import (
    NONE,
    AskingNeed,
    Batch,
    ClusterStanding,
    Fence,
    MachineShape,
    ReservedMachine,
    state_hash,
)

_ACQUIRE = (ActionKind.BOOTSTRAP, ActionKind.PROVISION)
_NO_FENCE = Fence()
_FREE = (int(MachineState.IDLE), int(MachineState.SPECULATIVE))


@dataclass(frozen=True, slots=True)
class MachinesNow:
    """The machines of the actions as they are now, in the order of the actions."""

    columns: MachineColumns
    #: Of those columns.
    tables: Tables
    #: The columns of the others say nothing.
    present: Bools
    owned: Sequence[bool]


def rows_of(snapshot: Snapshot, actions: Sequence[Action]) -> Int64s:
    """-1: the engine saw no such machine."""
    return np.array([snapshot.row_of(action.machine) for action in actions], np.int64)


def batch_of(
    decision: Decision,
    actions: Sequence[Action],
    reservations: Mapping[str, Reservation],
    *,
    rows: Int64s | None = None,
    live: MachinesNow | None = None,
    reported: Collection[str] | None = None,
    held: Collection[str] = (),
    at: Instant | None = None,
    decided_under: Fence = _NO_FENCE,
    current: Fence = _NO_FENCE,
    spend_per_hour: float = 0.0,
) -> Batch:
    """`reservations`: those the cycle was given. `live`: None, where nothing goes on meanwhile.
    `reported`: None, where every cluster has. `rows`: as `rows_of` has them."""
    snapshot = decision.outcome.scene.snapshot
    rows = rows_of(snapshot, actions) if rows is None else rows
    seen = snapshot.columns.taken(rows) if len(snapshot) else MachineColumns.no_rows()
    known: Bools = rows >= 0
    if live is None:
        live = MachinesNow(seen, snapshot.tables, known, [True] * len(actions))
    tables = _Tables(decision)
    needs = [tables.need(action.need) for action in actions]
    claimants = tables.claimants(actions, rows)
    shapes = tables.shapes_of(seen, known)
    tables.add_credits(actions)
    hashes = _hashes(snapshot.tables, seen, live, known)
    return Batch(
        actions=actions,
        shape=shapes,
        need=needs,
        claimant=claimants,
        stamped_priority=_stamped(snapshot, seen, known),
        bound_to=_names(live),
        state=np.where(live.present, live.columns.state, 0).tolist() if len(known) else [],
        owned=live.owned,
        seen=hashes[0],
        now=hashes[1],
        shapes=tables.shapes,
        needs=tables.needs,
        clusters=_standings(snapshot, actions, reported, held),
        reserved=_reserved(decision, actions, reservations),
        at=at,
        decided_under=decided_under,
        current=current,
        spend_per_hour=spend_per_hour,
    )


def spend_of(snapshot: Snapshot, ordered: Collection[str] = ()) -> float:
    """Dollars per hour of machines with a host or in Creating, and of the slots that are ordered
    and still stand as Speculative."""
    columns, price = snapshot.columns, snapshot.offerings.price
    billed = (columns.provider >= 0) | (columns.state == int(MachineState.CREATING))
    for machine in ordered:
        row = snapshot.row_of(machine)
        if row >= 0:
            billed[row] = True
    return float(price[columns.offering[billed]].sum())


class _Tables:
    """The shapes and Needs the columns point into, each once."""

    def __init__(self, decision: Decision) -> None:
        self._outcome = decision.outcome
        self._scene = decision.outcome.scene
        self.shapes: list[MachineShape] = []
        self.needs: list[AskingNeed] = []
        self._place_of_shape: dict[tuple[int, int], int] = {}
        self._place_of_need: dict[int, int] = {}

    def shapes_of(self, seen: MachineColumns, known: Bools) -> list[int]:
        """Asked when all Needs are known."""
        if not len(seen):
            return [NONE] * len(known)
        # Names of Nodes tell shapes apart only where a Need asks for one.
        by_name = any(
            requirement.key == HOSTNAME_KEY
            for need in self.needs
            for requirement in need.row.profile.requirements
        )
        names = seen.node_name.tolist() if by_name else [-1] * len(known)
        places = map(self._shape, seen.offering.tolist(), names)
        return [p if k else NONE for p, k in zip(places, known.tolist(), strict=True)]

    def _shape(self, offering: int, name: int) -> int:
        place = self._place_of_shape.get((offering, name))
        if place is None:
            place = self._place_of_shape[offering, name] = len(self.shapes)
            tables = self._scene.snapshot.tables
            node_name = tables.node_names.rows[name] if name >= 0 else None
            self.shapes.append(shape_of(tables.offerings.table.rows[offering], node_name))
        return place

    def need(self, row: int | None) -> int:
        """`row`: of the normalised demand."""
        outcome = self._outcome
        if row is None or not 0 <= row < len(outcome):
            return NONE
        place = self._place_of_need.get(row)
        if place is None:
            place = self._place_of_need[row] = len(self.needs)
            normalised = outcome.normalised
            lead = int(normalised.members[normalised.starts[row]])
            asked, whole = self._scene.demand.need(lead), outcome.need(row)
            self.needs.append(AskingNeed(outcome.key(row), asked, whole.aggregate))
        return place

    def claimants(self, actions: Sequence[Action], rows: Int64s) -> list[int]:
        holder, found = self._outcome.credit.holder, [NONE] * len(actions)
        for place, action in enumerate(actions):
            if action.kind is ActionKind.PREEMPT and rows[place] >= 0:
                claims = int(holder[rows[place]])
                found[place] = self.need(claims) if claims >= 0 else NONE
        return found

    def add_credits(self, actions: Sequence[Action]) -> None:
        """To the Needs that acquire: what they have already."""
        asking = {a.need for a in actions if a.kind in _ACQUIRE and a.need is not None}
        outcome, columns = self._outcome, self._scene.snapshot.columns
        rows = [row for row in asking if 0 <= row < len(outcome)]
        if not rows:
            return
        # The last one is for machines without a holder.
        acquires = np.zeros(len(outcome) + 1, np.bool_)
        acquires[rows] = True
        holder = outcome.credit.holder
        mine = np.flatnonzero(acquires[holder])
        mine = mine[~np.isin(columns.state[mine], _FREE)]
        offerings = len(self._scene.snapshot.tables.offerings.table.rows)
        pairs, counts = np.unique(
            holder[mine].astype(np.int64) * offerings + columns.offering[mine], return_counts=True
        )
        credited: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            credited[pair // offerings].append((self._shape(pair % offerings, -1), count))
        for row, shapes in credited.items():
            place = self._place_of_need[row]
            bare = self.needs[place]
            self.needs[place] = AskingNeed(bare.key, bare.row, bare.wanted, tuple(shapes))


def shape_of(offering: Offering, node_name: str | None = None) -> MachineShape:
    """`node_name`: of its label, which may be there and empty; None: it has none."""
    labels = dict(offering.labels)
    if node_name is not None:
        labels[HOSTNAME_KEY] = node_name
    return MachineShape(
        offering.capacity_type,
        offering.instance_type,
        offering.zone or labels.get(ZONE_KEY, ""),
        labels,
        offering.allocatable if offering.allocatable.amounts else offering.resources,
        offering.price_per_hour,
    )


def _stamped(snapshot: Snapshot, seen: MachineColumns, known: Bools) -> list[int]:
    if not len(seen):
        return [0] * len(known)
    priority: list[int] = np.where(known, snapshot.stamps.priority[seen.stamp], 0).tolist()
    return priority


def _names(live: MachinesNow) -> list[str]:
    names = live.tables.clusters.rows
    if not len(live.columns):
        return [""] * len(live.present)
    clusters = np.where(live.present, live.columns.cluster, -1).tolist()
    return [names[number] if number >= 0 else "" for number in clusters]


def _hashes(
    tables: Tables, seen: MachineColumns, live: MachinesNow, known: Bools
) -> tuple[list[int], list[int]]:
    """Numbers where nothing differs; where a number does, of the values behind it: a price that
    moved is no other state."""
    now = live.columns
    if now is seen:
        same = [0] * len(known)
        return same, same
    changed = seen.state != now.state
    if live.tables is tables:
        for mine, theirs in (
            (seen.cluster, now.cluster),
            (seen.stamp, now.stamp),
            (seen.offering, now.offering),
            (seen.node_name, now.node_name),
        ):
            changed |= mine != theirs
    else:
        changed[:] = True
    before, after = [0] * len(known), [0] * len(known)
    for place in np.flatnonzero(changed & known & live.present).tolist():
        before[place] = state_hash(*_values(tables, seen, place))
        after[place] = state_hash(*_values(live.tables, now, place))
    return before, after


def _values(tables: Tables, columns: MachineColumns, place: int) -> tuple[object, ...]:
    offering = tables.offerings.table.rows[int(columns.offering[place])]
    cluster, name = int(columns.cluster[place]), int(columns.node_name[place])
    return (
        int(columns.state[place]),
        tables.clusters.rows[cluster] if cluster >= 0 else "",
        tables.node_names.rows[name] if name >= 0 else None,
        tables.stamps.table.rows[int(columns.stamp[place])],
        (offering.capacity_type, offering.instance_type, offering.zone, offering.labels),
        (offering.resources, offering.allocatable),
    )


def _standings(
    snapshot: Snapshot,
    actions: Sequence[Action],
    reported: Collection[str] | None,
    held: Collection[str],
) -> dict[str, ClusterStanding]:
    losing = {action.cluster for action in actions if action.kind is ActionKind.RECLAIM}
    return {
        cluster: ClusterStanding(
            reported is None or cluster in reported,
            cluster in held,
            snapshot.configured_of(cluster),
            _configured_by_zone(snapshot, cluster),
        )
        for cluster in losing
    }


def _configured_by_zone(snapshot: Snapshot, cluster: str) -> dict[str, int]:
    number = snapshot.tables.clusters.find(cluster)
    if not 0 <= number < snapshot.cluster_count:
        return {}
    first, end = snapshot.keep_starts[2 * number], snapshot.keep_starts[2 * number + 1]
    offerings = snapshot.columns.offering[snapshot.keep_order[first:end]]
    found: dict[str, int] = defaultdict(int)
    numbers, counts = np.unique(offerings, return_counts=True)
    for offering, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        found[shape_of(snapshot.tables.offerings.table.rows[offering]).zone] += count
    return dict(found)


def _reserved(
    decision: Decision, actions: Sequence[Action], reservations: Mapping[str, Reservation]
) -> dict[str, ReservedMachine]:
    found: dict[str, ReservedMachine] = {}
    for action in actions if reservations else ():
        reservation = reservations.get(action.machine)
        if reservation is not None and action.kind in _ACQUIRE:
            found[action.machine] = ReservedMachine(reservation, _stands(decision, reservation))
    return found


def _stands(decision: Decision, reservation: Reservation) -> bool:
    """Whether the Need that preempted still asks, as a row or as a folded group."""
    if reservation.kind is not ReservationKind.PREEMPTION:
        return True
    holder, outcome = reservation.holder, decision.outcome
    cluster = outcome.scene.demand.tables.clusters.find(holder.cluster)
    identity = identity_of(cluster, pair_of(holder.fingerprint, holder.group))
    return bool(np.any(outcome.normalised.identity == identity))
