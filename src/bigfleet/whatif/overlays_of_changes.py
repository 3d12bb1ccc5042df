"""The overlay that makes a change, for `bigfleet whatif`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bigfleet.engine.identities import pair_of
from bigfleet.model.needs import Need
from bigfleet.model.what_if import AddDemand, NeedSelector, Overlay, ScaleDemand, SetPriority
from bigfleet.whatif.changes import Change, ChangeKind
from bigfleet.whatif.subjects import Subject

#: More would not be read.
_MOST_NEEDS = 3
#: What no edit of an overlay says.
_WITHOUT = {ChangeKind.WAIT, ChangeKind.HOLD, ChangeKind.PARKED, ChangeKind.RESERVATION}


class Said(NamedTuple):
    """A change as an overlay says it."""

    #: Empty: none says it.
    overlay: Overlay = ()
    #: Whether it surely decides the same; else one more run shows it.
    is_exact: bool = True


def overlay_of(before: Subject, after: Subject, changes: Sequence[Change]) -> Said:
    if any(change.kind in _WITHOUT for change in changes):
        return Said()
    machines = tuple(edit for change in changes for edit in change.machines)
    if before.given.needs is after.given.needs:
        return Said(machines)
    old, new = before.needs, after.needs
    if len(old) != len(new) or len(old) > _MOST_NEEDS:
        return Said()
    priority = new[0].profile.priority
    if [_with_priority(need, priority) for need in old] == new:
        names = [NeedSelector(need.cluster, need.key.need_id) for need in old]
        return Said((*(SetPriority(name, priority) for name in names), *machines))
    # Where it asks together with another Need now, there is one less.
    if len(old) > 1 or len(before.given.needs.demand) != len(after.given.needs.demand):
        return Said()
    gone = ScaleDemand(NeedSelector(old[0].cluster, old[0].key.need_id), 0.0)
    return Said((gone, AddDemand(new[0]), *machines), _is_last_of_equals(after, new[0]))


def _with_priority(need: Need, priority: int) -> Need:
    return replace(need, profile=replace(need.profile, priority=priority))


def _is_last_of_equals(after: Subject, need: Need) -> bool:
    """Whether every Need that is served after it would be so as demand that an overlay adds: that
    comes last of its cluster, and has arrived now where it does not say when."""
    demand = after.given.needs.demand
    columns, names = demand.columns, demand.tables.clusters
    mine = pair_of(need.profile.fingerprint, need.group)
    of_cluster = columns.cluster == names.find(need.cluster)
    row = int(np.flatnonzero(of_cluster & (columns.pair == mine))[0]) + 1
    if row == len(demand):
        return True
    priority = demand.profiles.priority[columns.profile[row]]
    arrival = need.arrival_unix_nanos or after.given.at
    following = (int(columns.arrival[row]), names.rows[columns.cluster[row]])
    return bool(priority != need.profile.priority) or following > (arrival, need.cluster)
