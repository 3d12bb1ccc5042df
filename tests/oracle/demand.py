"""Demand order: the fleet's needs as the needs table would list them."""

from bigfleet.model.fleet import Fleet
from tests.oracle.standing import OracleNeed


def demand_of(fleet: Fleet) -> list[OracleNeed]:
    """Priority descending, arrival, cluster, then the cluster's own order in the file."""
    indices = sorted(
        range(len(fleet.needs)),
        key=lambda i: (
            -fleet.needs[i].need.profile.priority,
            fleet.needs[i].need.arrival_unix_nanos,
            fleet.needs[i].need.cluster,
            i,
        ),
    )
    return [
        OracleNeed(position, fleet.needs[index].need, (index,), folded=False)
        for position, index in enumerate(indices)
    ]


def by_precedence(standings: list[OracleNeed]) -> list[OracleNeed]:
    """The order of every phase (U22); equal precedence goes by position in the demand."""

    def order(standing: OracleNeed) -> tuple[int, int, int, int]:
        priority, interruption, reclamation = standing.need.profile.precedence
        return (-priority, -interruption, -reclamation, standing.position)

    return sorted(standings, key=order)
