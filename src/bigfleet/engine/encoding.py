"""Machines as numbers: a record or a batch becomes columns over the interned tables.

A node name is never part of an offering here, however it was said: no two machines share it, and
an offering is what many share.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.kernels.compiled import Int32s
from bigfleet.engine.snapshot import Snapshot, Tables
from bigfleet.model.batches import NEVER, MachineBatch, Offering, Texts, offering_of
from bigfleet.model.fleet import FleetMachine, Held, HeldBy, Marks
from bigfleet.model.journal import MachineTable
from bigfleet.model.machines import CapacityType, Host, Instant, Machine, MachineState
from bigfleet.model.requirements import HOSTNAME_KEY

HELD_BY = tuple(HeldBy)
#: One row of columns before it has a place among the others.
Row = tuple[int, int, int, int, int, int, int, bool, int, int, bool]


def encoded(tables: Tables, machine: Machine, marks: Marks, source: int) -> Row:
    offering, name = _without_name(offering_of(machine))
    is_idle = machine.state is MachineState.IDLE
    return (
        int(machine.state),
        tables.offerings.number(offering),
        tables.clusters.number(machine.cluster) if machine.cluster else -1,
        tables.stamps.number(machine.assigned),
        -1 if machine.host.empty else tables.providers.number(machine.host.provider),
        marks.idle_since if is_idle and marks.idle_since is not None else NEVER,
        HELD_BY.index(marks.held.by) + 1 if marks.held else 0,
        marks.overdue,
        _name_number(tables, name),
        source,
        marks.empty and machine.state is MachineState.CONFIGURED,
    )


def columns_of(rows: Iterable[Row]) -> MachineColumns:
    state, offering, cluster, stamp, provider, since, held, overdue, name, source, empty = zip(
        *rows, strict=True
    )
    return MachineColumns(
        np.array(state, np.int8),
        np.array(offering, np.int32),
        np.array(cluster, np.int32),
        np.array(stamp, np.int32),
        np.array(provider, np.int32),
        np.array(since, np.int64),
        np.array(held, np.int8),
        np.array(overdue, np.bool_),
        np.array(name, np.int32),
        np.array(source, np.int32),
        np.array(empty, np.bool_),
    )


def encoded_batch(tables: Tables, batch: MachineBatch, source: int) -> MachineColumns:
    size = len(batch)
    plain = [_without_name(offering) for offering in batch.offerings]
    offering = np.array([tables.offerings.number(o) for o, _ in plain], np.int32)
    said = np.array([_name_number(tables, name) for _, name in plain], np.int32)
    cluster = np.array([tables.clusters.number(c) for c in batch.clusters] + [-1], np.int32)
    stamp = np.array([tables.stamps.number(s) for s in batch.stamps] + [0], np.int32)
    node_name = said[batch.offering_of_machine]
    if batch.node_names is not None:
        has = np.flatnonzero(batch.node_names.ends > batch.node_names.starts)
        names = batch.node_names.taken(has).read()
        node_name[has] = np.fromiter(map(tables.node_names.number, names), np.int32, len(has))
    return MachineColumns(
        state=batch.state_of_machine.astype(np.int8),
        offering=offering[batch.offering_of_machine],
        cluster=cluster[batch.cluster_of_machine],
        stamp=stamp[batch.stamp_of_machine],
        provider=_providers_of(tables, batch),
        idle_since=batch.idle_since_of_machine.astype(np.int64),
        held=np.zeros(size, np.int8),
        overdue=np.zeros(size, np.bool_),
        node_name=node_name,
        source=np.full(size, source, np.int32),
        empty=np.zeros(size, np.bool_),
    )


def refs_of(batch: MachineBatch) -> Texts:
    if batch.hosts is not None:
        return batch.hosts.refs
    hosted = zip(batch.ids, batch.has_host.tolist(), strict=True)
    return Texts.of([machine_id if has_host else "" for machine_id, has_host in hosted])


def renumbered(before: Tables, live: MachineColumns) -> Tables:
    """Tables of what these columns use; clusters, providers and sources keep their numbers."""
    tables = Tables()
    for cluster in before.clusters.rows:
        tables.clusters.number(cluster)
    for provider in before.providers.rows:
        tables.providers.number(provider)
    for source in before.sources.rows:
        tables.sources.number(source)
    used, number = np.unique(live.offering, return_inverse=True)
    again = [tables.offerings.number(before.offerings.table.rows[o]) for o in used]
    live.offering = np.array(again, np.int32)[number]
    used, number = np.unique(live.stamp, return_inverse=True)
    again = [tables.stamps.number(before.stamps.table.rows[s]) for s in used]
    live.stamp = np.array(again, np.int32)[number]
    used, number = np.unique(live.node_name, return_inverse=True)
    names = [*before.node_names.rows, None]
    again = [_name_number(tables, names[n]) for n in used]
    live.node_name = np.array(again, np.int32)[number]
    return tables


def decoded(
    tables: Tables, columns: MachineColumns, row: int, name: str, host_ref: str, last_error: str
) -> Machine:
    """The machine `name` of a row; the texts beside the columns are given."""
    offering = tables.offerings.table.rows[int(columns.offering[row])]
    cluster, provider = int(columns.cluster[row]), int(columns.provider[row])
    labels = dict(offering.labels)
    if (node := int(columns.node_name[row])) >= 0:
        labels[HOSTNAME_KEY] = tables.node_names.rows[node]
    return Machine(
        id=name,
        state=MachineState(int(columns.state[row])),
        capacity_type=CapacityType(offering.capacity_type),
        host=Host(tables.providers.rows[provider], host_ref) if provider >= 0 else Host(),
        cluster=tables.clusters.rows[cluster] if cluster >= 0 else "",
        instance_type=offering.instance_type,
        zone=offering.zone,
        labels=labels,
        resources=offering.resources,
        allocatable=offering.allocatable,
        price_per_hour=offering.price_per_hour,
        interruption_probability=offering.interruption_probability,
        last_error=last_error,
        assigned=tables.stamps.table.rows[int(columns.stamp[row])],
    )


def decoded_marks(columns: MachineColumns, row: int, held_until: Instant | None = None) -> Marks:
    since, held = int(columns.idle_since[row]), int(columns.held[row])
    return Marks(
        None if since == NEVER else since,
        Held(HELD_BY[held - 1], held_until) if held else None,
        bool(columns.overdue[row]),
        bool(columns.empty[row]),
    )


def machine_at(
    snapshot: Snapshot, row: int, *, host_ref: str = "", last_error: str = "failed"
) -> FleetMachine:
    """A row of the columns as the record it was made of, but for what no decision reads."""
    columns, name = snapshot.columns, snapshot.ids[row]
    error = last_error if columns.state[row] == MachineState.FAILED else ""
    machine = decoded(snapshot.tables, columns, row, name, host_ref or name, error)
    return FleetMachine(machine, decoded_marks(columns, row))


def table_of(snapshot: Snapshot) -> MachineTable:
    """All machines, over tables of what they use now."""
    columns = snapshot.columns.copy()
    tables = renumbered(snapshot.tables, columns)
    return MachineTable(
        snapshot.ids,
        tables.offerings.table.rows,
        tables.stamps.table.rows,
        tables.clusters.rows,
        tables.providers.rows,
        tables.node_names.rows,
        dict(columns.arrays()),
    )


def columns_and_tables(table: MachineTable) -> tuple[MachineColumns, Tables]:
    """The other way round; whose List a machine came from is not kept."""
    tables = Tables()
    for words, rows in (
        (tables.clusters, table.clusters),
        (tables.providers, table.providers),
        (tables.node_names, table.node_names),
    ):
        for text in rows:
            words.number(text)
    offering = np.array([tables.offerings.number(each) for each in table.offerings], np.int32)
    stamp = np.array([tables.stamps.number(each) for each in table.stamps], np.int32)
    columns = {name: column.copy() for name, column in table.columns.items() if name != "source"}
    columns["offering"] = offering[columns["offering"]]
    columns["stamp"] = stamp[columns["stamp"]]
    return MachineColumns(**columns, source=np.full(len(table.ids), -1, np.int32)), tables


def _without_name(offering: Offering) -> tuple[Offering, str | None]:
    """The offering without the label that names a node, and that name."""
    name = next((value for key, value in offering.labels if key == HOSTNAME_KEY), None)
    if name is None:
        return offering, None
    others = tuple(label for label in offering.labels if label[0] != HOSTNAME_KEY)
    return replace(offering, labels=others), name


def _name_number(tables: Tables, name: str | None) -> int:
    return -1 if name is None else tables.node_names.number(name)


def _providers_of(tables: Tables, batch: MachineBatch) -> Int32s:
    providers, hosts = tables.providers, batch.hosts
    if hosts is None:
        number = np.int32(providers.number(batch.provider))
        return np.where(batch.has_host, number, np.int32(-1))
    numbers = np.array([providers.number(p) for p in hosts.providers] + [-1], np.int32)
    return numbers[hosts.provider_of_machine]
