"""The live fleet as a fleet file: exactly what the last finished cycle was decided on.

`bigfleet plan` on such a file decides what that cycle decided. What the engine does not look at and
the columns therefore lack (the reference of a host, the error of a Failed machine, when a hold
ends) is taken from the live record, as long as there is one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bigfleet import __version__
from bigfleet.engine.encoding import machine_at
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.snapshot import Snapshot
from bigfleet.fleetfile import header_line, machine_line, need_line
from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.fleet import (
    Fleet,
    FleetMachine,
    FleetNeed,
    Held,
    PlanOptions,
    Provenance,
)
from bigfleet.model.machines import Instant
from bigfleet.shard.machines import Machines

#: Of a machine that failed then and is gone or well now.
_FORGOTTEN_ERROR = "no longer known"


@dataclass(frozen=True, slots=True)
class LiveExtras:
    """What of a machine is known beside the engine's columns."""

    host_ref: str = ""
    last_error: str = ""
    held: Held | None = None


class FleetDump:
    def __init__(
        self,
        given: EngineInput,
        plan: PlanOptions,
        shard: str,
        epoch: int,
        captured_at: Instant | None = None,
    ) -> None:
        """`captured_at`: by people's watches, where the shard lives by another clock."""
        self._captured_at = given.at if captured_at is None else captured_at
        self._given = given
        self._plan = plan
        self._shard = shard
        self._epoch = epoch

    @property
    def machine_count(self) -> int:
        return len(self._given.snapshot)

    @property
    def need_count(self) -> int:
        return len(self._given.needs.demand)

    def header(self) -> bytes:
        given = self._given
        return header_line(
            Fleet(
                now=given.now,
                options=given.options,
                plan=self._plan,
                memory=given.memory,
                provenance=Provenance(
                    self._shard, f"{self._epoch}:{given.cycle}", __version__, self._captured_at
                ),
            )
        )

    def extras(self, rows: Iterable[int], machines: Machines) -> list[LiveExtras]:
        """From the live records: to be called where nothing changes them meanwhile."""
        ids = self._given.snapshot.ids
        return [_extras_of(ids[row], machines) for row in rows]

    def unknown(self, rows: Iterable[int]) -> list[LiveExtras]:
        """Of a past cycle: the journal has what the engine saw."""
        return [LiveExtras() for _ in rows]

    def machine_lines(self, rows: Iterable[int], extras: Iterable[LiveExtras]) -> bytes:
        snapshot = self._given.snapshot
        return b"".join(
            machine_line(_machine(snapshot, row, more))
            for row, more in zip(rows, extras, strict=True)
        )

    def need_lines(self, rows: Iterable[int]) -> bytes:
        demand = self._given.needs.demand
        return b"".join(need_line(FleetNeed(demand.need(row))) for row in rows)


def _machine(snapshot: Snapshot, row: int, extras: LiveExtras) -> FleetMachine:
    error = extras.last_error or _FORGOTTEN_ERROR
    entry = machine_at(snapshot, row, host_ref=extras.host_ref, last_error=error)
    held = entry.marks.held
    if held is None or extras.held is None or extras.held.by is not held.by:
        return entry
    return replace(entry, marks=replace(entry.marks, held=extras.held))


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
