"""Which machines of a snapshot a selector means, found in columns: half a million in milliseconds.

Types, zones and labels are looked at once per offering, not once per machine.
"""

from bisect import bisect_left

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.batches import Offering
from bigfleet.model.machines import MachineState
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.shard_views import MachineSelector


def selected_rows(snapshot: Snapshot, selector: MachineSelector) -> Int64s:
    """Ascending, which is by id. Draining machines are meant with the Configured ones too: a caller
    that shows some of them as Configured tells them apart."""
    columns, tables = snapshot.columns, snapshot.tables
    if selector.ids:
        rows = (snapshot.row_of(each) for each in sorted(selector.ids))
        chosen = np.array([row for row in rows if row >= 0], np.int64)
    else:
        chosen = np.arange(*_prefix_range(snapshot.ids, selector.id_prefix), dtype=np.int64)
    meant = np.ones(len(chosen), np.bool_)
    if selector.ids and selector.id_prefix:
        meant &= [snapshot.ids[row].startswith(selector.id_prefix) for row in chosen.tolist()]
    if selector.states:
        states = [int(each) for each in selector.states]
        if MachineState.CONFIGURED in selector.states:
            states.append(int(MachineState.DRAINING))
        meant &= np.isin(columns.state[chosen], states)
    if selector.cluster:
        meant &= columns.cluster[chosen] == _number(tables.clusters.find(selector.cluster))
    if selector.provider:
        meant &= columns.source[chosen] == _number(tables.sources.find(selector.provider))
    offered = _offerings_meant(snapshot, selector)
    if offered is not None:
        meant &= offered[columns.offering[chosen]]
    hosts = [value for key, value in selector.labels if key == HOSTNAME_KEY]
    for value in hosts:
        meant &= columns.node_name[chosen] == _number(tables.node_names.find(value))
    return chosen[meant]


def _number(found: int) -> int:
    """A word that is not known is one that no machine has; -1 would be a machine without any."""
    return found if found >= 0 else -2


def _prefix_range(ids: list[str], prefix: str) -> tuple[int, int]:
    if not prefix:
        return 0, len(ids)
    start = bisect_left(ids, prefix)
    end = bisect_left(ids, prefix + chr(0x10FFFF), start)
    return start, end


def _offerings_meant(snapshot: Snapshot, selector: MachineSelector) -> Bools | None:
    """By row of the offerings; None: all are."""
    labels = [(key, value) for key, value in selector.labels if key != HOSTNAME_KEY]
    if not (selector.zones or selector.instance_types or selector.capacity_types or labels):
        return None

    def is_meant(each: Offering) -> bool:
        return (
            (not selector.zones or each.zone in selector.zones)
            and (not selector.instance_types or each.instance_type in selector.instance_types)
            and (not selector.capacity_types or int(each.capacity_type) in selector.capacity_types)
            and all(dict(each.labels).get(key) == value for key, value in labels)
        )

    rows = snapshot.tables.offerings.table.rows[: len(snapshot.offerings.price)]
    return np.array([is_meant(each) for each in rows], np.bool_)
