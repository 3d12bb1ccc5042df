"""Values that machines have for a label, and topology keys that are wider than one."""

import numpy as np

from bigfleet.engine.kernels.compiled import Int32s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.requirements import HOSTNAME_KEY, ZONE_KEY

#: How the keys of labels begin that say where a machine is.
_TOPOLOGY = "topology."


def values_of_key(snapshot: Snapshot, key: str) -> tuple[list[str], Int32s]:
    """The values, and the number of each offering's among them; -1: it has none."""
    words, numbers = snapshot.tables.attributes.column(key)
    return words.rows, numbers


def wider_keys(snapshot: Snapshot, key: str) -> list[str]:
    """Topology keys whose domains hold whole domains of this one, the narrowest first."""
    used = np.unique(snapshot.columns.offering)
    rows = snapshot.tables.offerings.table.rows
    labels = {label for offering in used.tolist() for label, _ in rows[offering].labels}
    others = {each for each in labels if each.startswith(_TOPOLOGY)} | {ZONE_KEY}
    found = []
    for other in sorted(others - {key, HOSTNAME_KEY}):
        domains = _domains(snapshot, key, other, used)
        if domains:
            found.append((-domains, other))
    return [other for _, other in sorted(found)]


def _domains(snapshot: Snapshot, narrow: str, wide: str, used: Int32s) -> int:
    """How many domains the wide key has; 0: it is not wider."""
    wide_of = values_of_key(snapshot, wide)[1][used]
    if narrow == HOSTNAME_KEY:
        return len(np.unique(wide_of[wide_of >= 0]))
    narrow_of = values_of_key(snapshot, narrow)[1][used]
    both = (wide_of >= 0) & (narrow_of >= 0)
    pairs = np.unique(np.stack([narrow_of[both], wide_of[both]]), axis=1)
    domains, parts = len(np.unique(pairs[1])), len(np.unique(pairs[0]))
    is_wider = pairs.shape[1] == parts and domains < parts
    return domains if is_wider else 0
