"""Slots: the Speculative machines of some offerings, found by column and not one by one."""

from collections.abc import Callable

import numpy as np

from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.batches import Offering
from bigfleet.model.machines import MachineState


def slots_of(snapshot: Snapshot, wanted: Callable[[Offering], bool]) -> dict[Offering, list[str]]:
    """Ids ascending, by what they offer."""
    rows_of_table = snapshot.tables.offerings.table.rows
    chosen = np.array([wanted(offering) for offering in rows_of_table], np.bool_)
    if not chosen.any():
        return {}
    columns = snapshot.columns
    speculative = columns.state == MachineState.SPECULATIVE
    found: dict[Offering, list[str]] = {}
    for row in np.flatnonzero(speculative & chosen[columns.offering]).tolist():
        found.setdefault(rows_of_table[columns.offering[row]], []).append(snapshot.ids[row])
    return found
