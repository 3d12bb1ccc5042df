"""The live fleet as a fleet file: exactly what the last finished cycle was decided on.

`bigfleet plan` on such a file decides what that cycle decided. What the engine does not look at and
the columns therefore lack (the reference of a host, the error of a Failed machine, when a hold
ends) is taken from the live record, as long as there is one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bigfleet import __version__
from bigfleet.engine.demand import Demand
from bigfleet.engine.need_progress import hold_of
from bigfleet.engine.snapshot import Snapshot
from bigfleet.fleetfile import header_line, machine_line, need_line
from bigfleet.model.batches import NEVER
from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.fleet import (
    Fleet,
    FleetMachine,
    FleetNeed,
    Held,
    Marks,
    PlanOptions,
    Provenance,
)
from bigfleet.model.machines import Host, Instant, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import EngineOptions
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.shard.machines import Machines

#: Of a machine that failed then and is gone or well now.
_FORGOTTEN_ERROR = "no longer known"


@dataclass(frozen=True, slots=True)
class CycleGiven:
    """What a finished cycle was decided on."""

    number: int
    now: Instant
    snapshot: Snapshot
    demand: Demand
    memory: EngineMemory
    options: EngineOptions


@dataclass(frozen=True, slots=True)
class LiveExtras:
    """What of a machine is known beside the engine's columns."""

    host_ref: str = ""
    last_error: str = ""
    held: Held | None = None


class FleetDump:
    def __init__(
        self,
        given: CycleGiven,
        plan: PlanOptions,
        shard: str,
        epoch: int,
        captured_at: Instant | None = None,
    ) -> None:
        """`captured_at`: by people's watches, where the shard lives by another clock."""
        self._captured_at = given.now if captured_at is None else captured_at
        self._given = given
        self._plan = plan
        self._shard = shard
        self._epoch = epoch

    @property
    def machine_count(self) -> int:
        return len(self._given.snapshot)

    @property
    def need_count(self) -> int:
        return len(self._given.demand)

    def header(self) -> bytes:
        given = self._given
        return header_line(
            Fleet(
                now=given.now,
                options=given.options,
                plan=self._plan,
                memory=given.memory,
                provenance=Provenance(
                    self._shard, f"{self._epoch}:{given.number}", __version__, self._captured_at
                ),
            )
        )

    def extras(self, rows: Iterable[int], machines: Machines) -> list[LiveExtras]:
        """From the live records: to be called where nothing changes them meanwhile."""
        ids = self._given.snapshot.ids
        return [_extras_of(ids[row], machines) for row in rows]

    def machine_lines(self, rows: Iterable[int], extras: Iterable[LiveExtras]) -> bytes:
        snapshot = self._given.snapshot
        pairs = zip(rows, extras, strict=True)
        return b"".join(machine_line(machine_at(snapshot, row, more)) for row, more in pairs)

    def need_lines(self, rows: Iterable[int]) -> bytes:
        demand = self._given.demand
        return b"".join(need_line(FleetNeed(demand.need(row))) for row in rows)


def machine_at(snapshot: Snapshot, row: int, extras: LiveExtras) -> FleetMachine:
    """A row of the columns as the record it was made of."""
    columns, tables = snapshot.columns, snapshot.tables
    offering = tables.offerings.table.rows[int(columns.offering[row])]
    state, cluster = MachineState(int(columns.state[row])), int(columns.cluster[row])
    name, provider = int(columns.node_name[row]), int(columns.provider[row])
    labels = dict(offering.labels)
    if name >= 0:
        labels[HOSTNAME_KEY] = tables.node_names.rows[name]
    host = Host()
    if provider >= 0:
        host = Host(tables.providers.rows[provider], extras.host_ref or snapshot.ids[row])
    failed = state is MachineState.FAILED
    machine = Machine(
        snapshot.ids[row],
        state,
        offering.capacity_type,
        host,
        tables.clusters.rows[cluster] if cluster >= 0 else "",
        offering.instance_type,
        offering.zone,
        labels,
        offering.resources,
        offering.allocatable,
        offering.price_per_hour,
        offering.interruption_probability,
        (extras.last_error or _FORGOTTEN_ERROR) if failed else "",
        tables.stamps.table.rows[int(columns.stamp[row])],
    )
    since = int(columns.idle_since[row])
    marks = Marks(
        None if since == NEVER else since,
        _held_at(int(columns.held[row]), extras),
        bool(columns.overdue[row]),
        bool(columns.empty[row]),
    )
    return FleetMachine(machine, marks)


def _held_at(code: int, extras: LiveExtras) -> Held | None:
    if not code:
        return None
    by = hold_of(code)
    return extras.held if extras.held is not None and extras.held.by is by else Held(by)


def _extras_of(machine_id: str, machines: Machines) -> LiveExtras:
    try:
        machine = machines.truth(machine_id)
        marks = machines.inventory.marks_of(machine_id)
    except NoSuchMachine:
        return LiveExtras()
    return LiveExtras(machine.host.ref, machine.last_error, marks.held)


def pieces(count: int, size: int) -> Iterator[range]:
    """Rows, a few at a time."""
    return (range(start, min(start + size, count)) for start in range(0, count, size))
