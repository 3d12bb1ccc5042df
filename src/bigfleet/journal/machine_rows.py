"""Machines of a snapshot as bytes of the journal, from parts that many of them share."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.snapshot import Snapshot, Tables
from bigfleet.model.batches import NEVER
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import MachineState
from bigfleet.wire.journal_records import (
    cluster_part,
    failed_part,
    host_part,
    machine_record,
    marks_part,
    node_name_part,
    offering_part,
    stamp_part,
)

T = TypeVar("T")

_HELD_BY = (None, *HeldBy)


class MachineRows:
    """Remembers the parts of one inventory's tables, which only grow."""

    def __init__(self) -> None:
        self._tables = Tables()
        self._offerings: list[bytes] = []
        self._stamps: list[bytes] = []
        self._clusters: list[bytes] = []
        self._hosts: list[bytes] = []

    def records(self, snapshot: Snapshot, rows: Int64s) -> Iterator[bytes]:
        self._learn(snapshot.tables)
        columns, ids = snapshot.columns, snapshot.ids
        names, failed = snapshot.tables.node_names.rows, failed_part()
        chosen = (
            columns.state,
            columns.offering,
            columns.cluster,
            columns.stamp,
            columns.provider,
            columns.node_name,
            columns.idle_since,
            columns.held,
            columns.overdue,
            columns.empty,
        )
        values = zip(rows.tolist(), *(column[rows].tolist() for column in chosen), strict=True)
        for row, state, offering, cluster, stamp, host, name, since, held, overdue, empty in values:
            within = self._offerings[offering]
            if host >= 0:
                within += self._hosts[host]
            if cluster >= 0:
                within += self._clusters[cluster]
            if name >= 0:
                within += node_name_part(names[name])
            if state == MachineState.FAILED:
                within += failed
            known = None if since == NEVER else since
            beside = self._stamps[stamp] + marks_part(known, _HELD_BY[held], overdue, empty)
            yield machine_record(ids[row], state, within, beside)

    def _learn(self, tables: Tables) -> None:
        if tables is not self._tables:
            self._tables = tables
            for parts in (self._offerings, self._stamps, self._clusters, self._hosts):
                parts.clear()
        _extend(self._offerings, tables.offerings.table.rows, offering_part)
        _extend(self._stamps, tables.stamps.table.rows, stamp_part)
        _extend(self._clusters, tables.clusters.rows, cluster_part)
        _extend(self._hosts, tables.providers.rows, host_part)


def _extend(parts: list[bytes], rows: list[T], part_of: Callable[[T], bytes]) -> None:
    parts.extend(map(part_of, rows[len(parts) :]))
