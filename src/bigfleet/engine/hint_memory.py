"""What clusters were last told of their availability, and which of it is due to be told again.

A row is due when it was never told; when it differs from what was told and `interval` has passed
since; and when `refresh` has passed in any case. Where more are due than may be told at once, those
that waited longest go first and the others stay due.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.availability import Availability
from bigfleet.engine.demand import NeedTables
from bigfleet.engine.kernels.compiled import Bools, Floats, Int8s, Int32s, Int64s
from bigfleet.model.machines import Instant
from bigfleet.model.profiles import Profile
from bigfleet.model.session_frames import Confidence

_NEVER = -(2**62)


@dataclass(frozen=True, slots=True)
class Hint:
    cluster: str
    profile: Profile
    count: int
    confidence: Confidence
    cost: float


@dataclass(slots=True)
class _Told:
    """Columns over what was told, by ascending identity."""

    tables: NeedTables
    identity: Int64s
    cluster: Int32s
    count: Int64s
    confidence: Int8s
    cost: Floats
    at: Int64s


class HintMemory:
    def __init__(self) -> None:
        #: Numbers of clusters are those of its tables: new tables, and everything is told anew.
        self._told: _Told | None = None

    def forget(self, cluster: str) -> None:
        """The cluster's session ended: what it was told counts for nothing."""
        told = self._told
        if told is not None:
            number = told.tables.clusters.find(cluster)
            told.at[told.cluster == number] = _NEVER

    def due(
        self,
        availability: Availability,
        connected: Collection[str],
        at: Instant,
        interval: int,
        refresh: int,
        most: int,
    ) -> Iterator[Hint]:
        """Hints to be told now, taken as told, at most `most`; times are nanoseconds."""
        told = self._aligned(availability)
        count, confidence, cost = availability.count, availability.confidence, availability.cost
        order = availability.order
        changed = (
            (told.count != count[order])
            | (told.confidence != confidence[order])
            | (told.cost != cost[order])
        )
        since = at - told.at
        ripe: Bools = (changed & (since >= interval)) | (since >= refresh)
        ripe &= availability.asked_by(connected)[order]
        due = np.flatnonzero(ripe)
        if len(due) > most:
            due = due[np.argsort(told.at[due], kind="stable")[:most]]
        rows = order[due]
        told.count[due], told.confidence[due] = count[rows], confidence[rows]
        told.cost[due], told.at[due] = cost[rows], at
        return (
            Hint(
                availability.cluster_name(row),
                availability.profile_of(row),
                int(count[row]),
                Confidence(int(confidence[row])),
                float(cost[row]),
            )
            for row in np.sort(rows).tolist()
        )

    def _aligned(self, availability: Availability) -> _Told:
        """What was told of the rows asked for now, in the order of their identity."""
        tables = availability.scene.demand.tables
        order = availability.order
        identity = availability.identity[order]
        before = self._told
        if before is not None and before.tables is tables:
            if np.array_equal(before.identity, identity):
                return before
        else:
            before = None
        size = len(identity)
        told = _Told(
            tables,
            identity,
            availability.cluster[order],
            np.zeros(size, np.int64),
            np.zeros(size, np.int8),
            np.zeros(size, np.float64),
            np.full(size, _NEVER, np.int64),
        )
        if before is not None and len(before.identity):
            place = np.searchsorted(before.identity, identity)
            place[place == len(before.identity)] = 0
            known = before.identity[place] == identity
            old = place[known]
            told.count[known], told.confidence[known] = before.count[old], before.confidence[old]
            told.cost[known], told.at[known] = before.cost[old], before.at[old]
        self._told = told
        return told
