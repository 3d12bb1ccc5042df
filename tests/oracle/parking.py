"""Parking: a gang that keeps getting nothing stops asking for a while (2.7, U19)."""

from collections.abc import Mapping

from bigfleet.model.needs import NeedKey
from bigfleet.model.options import Parking
from tests.oracle.reservations import Reservations
from tests.oracle.standing import OracleNeed


def stamp_parked(
    standings: list[OracleNeed],
    ages: Mapping[NeedKey, int],
    options: Parking,
    reservations: Reservations,
) -> None:
    for standing in standings:
        if not standing.is_gang or standing.need.aggregate.is_zero():
            continue
        if reservations.preempted_for(standing.key):
            continue
        age = ages.get(standing.key, 0)
        by_age = age >= options.after and age % options.probe != 0
        standing.parked = standing.need.parked or by_age


def ages_after(
    standings: list[OracleNeed], ages: Mapping[NeedKey, int], reservations: Reservations
) -> dict[NeedKey, int]:
    """The ages the next cycle sees; what is not named here is forgotten."""
    kept: dict[NeedKey, int] = {}
    for standing in standings:
        if not standing.is_gang or standing.satisfied:
            continue
        if standing.acquired > 0 or standing.same_satisfiable:
            continue
        age = kept.get(standing.key, ages.get(standing.key, 0))
        if not reservations.preempted_for(standing.key):
            age += 1
        if age > 0:
            kept[standing.key] = age
    return kept
