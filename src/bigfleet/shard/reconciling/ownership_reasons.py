"""Why this shard owns a machine, found out once for all machines of one offering.

A reason holds for a machine in any state, or only while it is occupied: a shard that gives a
domain up keeps what serves there until it is free. Machines of which something is said by name,
by the coordinator or by their own Node's name, are looked at one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.batches import MachineBatch, Offering
from bigfleet.model.machines import MachineState
from bigfleet.model.ownership import Ownership, Pair
from bigfleet.model.requirements import HOSTNAME_KEY, attribute_of

S = MachineState
#: A cluster is served, or something is under way.
OCCUPIED = (S.CREATING, S.CONFIGURING, S.CONFIGURED, S.DRAINING, S.DELETING)


@dataclass(frozen=True, slots=True)
class OwnershipReason:
    #: Ours in any state.
    whole: bool
    #: Pairs that are being given up, by which they are still ours while they are occupied.
    lingers_in: tuple[Pair, ...] = ()

    def holds(self, *, occupied: bool) -> bool:
        return self.whole or (occupied and bool(self.lingers_in))


_NONE, _WHOLE = OwnershipReason(False), OwnershipReason(True)


class OwnershipReasons:
    """To the machines of one provider, under one ownership."""

    def __init__(self, ownership: Ownership, address: str) -> None:
        self.ownership = ownership
        self._address = address
        self._of_offering: dict[Offering, OwnershipReason] = {}
        view = ownership.view
        pairs = view.domains if view is not None and HOSTNAME_KEY in view.keys else ()
        #: Names of Nodes that are domains of their own.
        self.names = frozenset(value for key, value in pairs if key == HOSTNAME_KEY)

    @property
    def everything(self) -> bool:
        return self.ownership.everything

    def of_machine(self, machine_id: str, offering: Offering, node_name: str) -> OwnershipReason:
        if self.is_said_of(machine_id, node_name):
            return self._reason(machine_id, offering, node_name)
        return self.of_offering(offering)

    def of_offering(self, offering: Offering) -> OwnershipReason:
        """To machines of which nothing is said by name."""
        known = self._of_offering.get(offering)
        if known is None:
            known = self._of_offering[offering] = self._reason("", offering, "")
        return known

    def is_said_of(self, machine_id: str, node_name: str) -> bool:
        return self.ownership.names(machine_id) or (bool(node_name) and node_name in self.names)

    def _reason(self, machine_id: str, offering: Offering, node_name: str) -> OwnershipReason:
        labels = dict(offering.labels)
        if node_name:
            labels[HOSTNAME_KEY] = node_name

        def attribute(key: str) -> str | None:
            return attribute_of(key, offering.instance_type, offering.zone, labels)

        if self.ownership.owns(machine_id, attribute, self._address):
            return _WHOLE
        lingers_in = self.ownership.lingers_in(machine_id, attribute, self._address)
        return OwnershipReason(False, lingers_in) if lingers_in else _NONE


def owned_rows(batch: MachineBatch, reasons: OwnershipReasons, has: Callable[[str], bool]) -> Bools:
    """Which machines of a List are this shard's.

    `has`: whether the shard has a machine. One that it keeps only until it is free is taken from
    the List once more when it is, so that its end is seen like any other.
    """
    size = len(batch)
    if reasons.everything:
        return np.ones(size, np.bool_)
    if reasons.ownership.view is None:
        return np.zeros(size, np.bool_)
    place = batch.offering_of_machine
    whole, lingers = _by_offering(batch.offerings, place, reasons)
    owned: Bools = whole[place] | (lingers[place] & np.isin(batch.state_of_machine, OCCUPIED))
    for row in np.flatnonzero(lingers[place] & ~owned).tolist():
        owned[row] = has(batch.ids[row])
    names = batch.node_names.read() if reasons.names and batch.node_names else None
    for row, machine_id in enumerate(batch.ids):
        name = names[row] if names else ""
        if reasons.is_said_of(machine_id, name):
            offering = batch.offerings[int(batch.offering_of_machine[row])]
            reason = reasons.of_machine(machine_id, offering, name)
            occupied = batch.state_of_machine[row] in OCCUPIED
            owned[row] = reason.holds(occupied=occupied or has(machine_id))
    return owned


def rows_to_look_at(snapshot: Snapshot, reasons: OwnershipReasons, source: str) -> Int64s:
    """Rows of a provider's machines that may be another shard's, those said of by id apart."""
    columns = snapshot.columns
    of_source = columns.source == snapshot.tables.sources.find(source)
    if reasons.everything:
        return np.zeros(0, np.int64)
    if reasons.ownership.view is None:
        return np.flatnonzero(of_source)
    whole, lingers = _by_offering(_offerings(snapshot), columns.offering, reasons)
    occupied = np.isin(columns.state, OCCUPIED)
    kept: Bools = whole[columns.offering] | (lingers[columns.offering] & occupied)
    kept &= ~_named(snapshot, reasons.names)
    return np.flatnonzero(of_source & ~kept)


def rows_lingering_in(
    snapshot: Snapshot, reasons: OwnershipReasons, source: str, pair: Pair
) -> Int64s:
    """Rows of a provider's occupied machines that are ours by a pair that is being given up; what
    is said of a machine by its id is not looked at."""
    columns, table = snapshot.columns, _offerings(snapshot)
    there = np.zeros(len(table), np.bool_)
    for number in _used(columns.offering):
        there[number] = pair in reasons.of_offering(table[number]).lingers_in
    occupied = np.isin(columns.state, OCCUPIED)
    occupied &= columns.source == snapshot.tables.sources.find(source)
    found: Bools = there[columns.offering] & occupied
    for row in np.flatnonzero(occupied & _named(snapshot, reasons.names)).tolist():
        name = snapshot.tables.node_names.rows[int(columns.node_name[row])]
        offering = table[int(columns.offering[row])]
        reason = reasons.of_machine(snapshot.ids[row], offering, name)
        found[row] = not reason.whole and pair in reason.lingers_in
    return np.flatnonzero(found)


def _by_offering(
    offerings: Sequence[Offering], offering_of_machine: Int32s, reasons: OwnershipReasons
) -> tuple[Bools, Bools]:
    """By number of an offering that is in use: ours in any state, and while occupied."""
    whole, lingers = np.zeros(len(offerings), np.bool_), np.zeros(len(offerings), np.bool_)
    for number in _used(offering_of_machine):
        reason = reasons.of_offering(offerings[number])
        whole[number], lingers[number] = reason.whole, bool(reason.lingers_in)
    return whole, lingers


def _used(offering_of_machine: Int32s) -> list[int]:
    return np.flatnonzero(np.bincount(offering_of_machine)).tolist()


def _named(snapshot: Snapshot, names: frozenset[str]) -> Bools:
    if not names:
        return np.zeros(len(snapshot), np.bool_)
    words = snapshot.tables.node_names
    numbers = [number for name in names if (number := words.find(name)) >= 0]
    return np.isin(snapshot.columns.node_name, numbers)


def _offerings(snapshot: Snapshot) -> Sequence[Offering]:
    return snapshot.tables.offerings.table.rows
