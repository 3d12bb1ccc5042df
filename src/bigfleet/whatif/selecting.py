"""Which rows of the columns an edit is about.

Offerings, clusters and profiles are matched once each; only ids are looked at machine by machine.
A `*` in a value stands for any characters.
"""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

import numpy as np

from bigfleet.engine.demand import NeedColumns, NeedTables
from bigfleet.engine.kernels.compiled import Bools
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.batches import Offering
from bigfleet.model.needs import NeedKey
from bigfleet.model.requirements import HOSTNAME_KEY, INSTANCE_TYPE_KEY, ZONE_KEY
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import NeedSelector


def machine_rows(snapshot: Snapshot, selector: MachineSelector) -> Bools:
    """Of each machine, whether the selector means it."""
    columns, tables = snapshot.columns, snapshot.tables
    offered = [_is_offered(offering, selector) for offering in tables.offerings.table.rows]
    chosen: Bools = np.array([*offered, False], np.bool_)[columns.offering]
    if selector.states:
        chosen &= np.isin(columns.state, [int(state) for state in selector.states])
    if selector.cluster:
        named = [_matches(name, (selector.cluster,)) for name in tables.clusters.rows]
        chosen &= np.array([*named, False], np.bool_)[columns.cluster]
    if selector.provider:
        named = [_matches(name, (selector.provider,)) for name in tables.providers.rows]
        chosen &= np.array([*named, False], np.bool_)[columns.provider]
    for key, value in selector.labels:
        if key == HOSTNAME_KEY:
            named = [_matches(name, (value,)) for name in tables.node_names.rows]
            chosen &= np.array([*named, False], np.bool_)[columns.node_name]
    if selector.ids or selector.id_prefix:
        chosen &= _of_ids(snapshot, selector)
    return chosen


def need_rows(tables: NeedTables, block: NeedColumns, cluster: str, wanted: NeedSelector) -> Bools:
    """Of each Need of one cluster, whether the selector means it."""
    if wanted.cluster and not _matches(cluster, (wanted.cluster,)):
        return np.zeros(len(block), np.bool_)
    priority = tables.profiles.columns().priority[block.profile]
    chosen: Bools = (priority >= wanted.priority_min) & (priority <= wanted.priority_max)
    if wanted.need_id:
        for row in np.flatnonzero(chosen).tolist():
            key = key_of(tables, block, cluster, row)
            chosen[row] = key.need_id.startswith(wanted.need_id)
    return chosen


def key_of(tables: NeedTables, block: NeedColumns, cluster: str, row: int) -> NeedKey:
    fingerprint = tables.profiles.rows[block.profile[row]].fingerprint
    return NeedKey(cluster, fingerprint, tables.groups.rows[block.group[row]])


def _is_offered(offering: Offering, selector: MachineSelector) -> bool:
    labels = dict(offering.labels)
    zone = offering.zone or labels.get(ZONE_KEY, "")
    instance_type = offering.instance_type or labels.get(INSTANCE_TYPE_KEY, "")
    return (
        (not selector.zones or _matches(zone, selector.zones))
        and (not selector.instance_types or _matches(instance_type, selector.instance_types))
        and (not selector.capacity_types or int(offering.capacity_type) in selector.capacity_types)
        and all(
            key == HOSTNAME_KEY or (key in labels and _matches(labels[key], (value,)))
            for key, value in selector.labels
        )
    )


def _of_ids(snapshot: Snapshot, selector: MachineSelector) -> Bools:
    chosen = np.zeros(len(snapshot), np.bool_)
    if selector.id_prefix:
        starts = (machine_id.startswith(selector.id_prefix) for machine_id in snapshot.ids)
        chosen |= np.fromiter(starts, np.bool_, len(snapshot))
    whole = [machine_id for machine_id in selector.ids if "*" not in machine_id]
    rows = [row for row in map(snapshot.row_of, whole) if row >= 0]
    chosen[rows] = True
    globs = [machine_id for machine_id in selector.ids if "*" in machine_id]
    if globs:
        found = (_matches(machine_id, globs) for machine_id in snapshot.ids)
        chosen |= np.fromiter(found, np.bool_, len(snapshot))
    return chosen


def _matches(text: str, patterns: Iterable[str] | Collection[str]) -> bool:
    return any(
        text == pattern or ("*" in pattern and fnmatchcase(text, _as_glob(pattern)))
        for pattern in patterns
    )


def _as_glob(pattern: str) -> str:
    """Only `*` is special: ids may have brackets and question marks."""
    return pattern.replace("[", "[[]").replace("?", "[?]")
