"""Need: one cluster's aggregate demand for one Profile."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources

#: The group of rows that ask for room pods do not find on the machines of their Need's own row.
MARGIN_GROUP = "margin"


def is_margin(group: str) -> bool:
    """Whether a group is a margin's: `margin`, or `margin:` and the group it is for."""
    return group == MARGIN_GROUP or group.startswith(f"{MARGIN_GROUP}:")


class NeedKey(NamedTuple):
    """The identity of a Need across cycles: what stamps, reservations and ages refer to."""

    cluster: str
    fingerprint: str
    group: str

    @property
    def need_id(self) -> str:
        """`n` and twelve hex digits: the Need's name in commands and pages."""
        return "n" + hashlib.sha256("\0".join(self).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Need:
    """No count: how many machines serve it is BigFleet's answer, never the cluster's question."""

    cluster: str
    profile: Profile
    aggregate: Resources
    #: The largest single unit; every machine that serves the Need must hold one of these alone.
    min_unit: Resources = Resources()
    arrival_unix_nanos: int = 0
    #: Opaque gang id; only compared for equality.
    group: str = ""
    #: Local to the shard, never on the wire: keeps what it has, acquires nothing.
    parked: bool = False

    @property
    def key(self) -> NeedKey:
        return NeedKey(self.cluster, self.profile.fingerprint, self.group)


def earliest(first: int, second: int) -> int:
    """The earlier of two arrivals, zero meaning unknown."""
    return min(first, second) if first and second else first or second


def aggregate(needs: Iterable[Need]) -> list[Need]:
    """One row per identity: amounts summed, units maximised, the earliest known arrival kept.

    Rows keep the order in which their identity was first seen.
    """
    rows: dict[NeedKey, Need] = {}
    for need in needs:
        seen = rows.get(need.key)
        rows[need.key] = need if seen is None else _merged(seen, need)
    return list(rows.values())


def _merged(seen: Need, need: Need) -> Need:
    return replace(
        seen,
        aggregate=seen.aggregate.plus(need.aggregate),
        min_unit=seen.min_unit.most(need.min_unit),
        arrival_unix_nanos=earliest(seen.arrival_unix_nanos, need.arrival_unix_nanos),
    )
