"""Shortfall ledger: what even preemption could not cover, and for how long (section 3, U12)."""

from collections.abc import Mapping

from bigfleet.model.memory import Shortfall
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from tests.oracle.standing import OracleNeed


def shortfalls_after(
    standings: list[OracleNeed], before: Mapping[NeedKey, Shortfall]
) -> dict[NeedKey, Shortfall]:
    after: dict[NeedKey, Shortfall] = {}
    for key in {s.key for s in standings if not s.satisfied}:
        unresolved = Resources()
        for standing in standings:
            if standing.key == key:
                unresolved = unresolved.plus(standing.unresolved)
        entry = before.get(key)
        if not unresolved.is_zero():
            age = 1 if entry is None else entry.age + 1
            after[key] = Shortfall(unresolved.positive(), age)
        elif entry is not None:
            after[key] = entry
    return after
