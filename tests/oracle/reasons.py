"""Unmet reasons: why a Need did not get everything (section 3, rulings E19, E23, E24)."""

from bigfleet.model.actions import UnmetReason
from bigfleet.model.machines import MachineState
from tests.oracle.matching import serves
from tests.oracle.standing import OracleNeed
from tests.oracle.stock import Stock


def matching_supply(standing: OracleNeed, stock: Stock) -> bool:
    profile = standing.need.profile
    free = stock.free_pool(MachineState.IDLE, profile)
    free += stock.free_pool(MachineState.SPECULATIVE, profile)
    bound = stock.in_state(MachineState.CONFIGURED)
    return any(serves(standing.need, m) for m in free + bound)


def withheld_supply(standing: OracleNeed, stock: Stock) -> bool:
    """A free machine would do, and may not be taken now."""
    free = stock.in_state(MachineState.IDLE) + stock.in_state(MachineState.SPECULATIVE)
    return any(m.marks.held is not None and serves(standing.need, m) for m in free)


def unmet_reason(standing: OracleNeed, stock: Stock) -> UnmetReason | None:
    if standing.satisfied:
        return None
    if standing.is_gang and (
        not (standing.same_satisfiable or standing.takes_a_whole_domain)
        or standing.parked
        or standing.domain is None
    ):
        return UnmetReason.TOPOLOGY_UNSATISFIABLE
    if standing.strict_spread is not None and standing.left_candidates:
        return UnmetReason.TOPOLOGY_UNSATISFIABLE
    if not matching_supply(standing, stock):
        return UnmetReason.NO_MATCHING_SUPPLY
    if not standing.unresolved.is_zero() and standing.victims:
        return UnmetReason.PREEMPTION_EXHAUSTED
    if withheld_supply(standing, stock):
        return UnmetReason.NO_MATCHING_SUPPLY
    return UnmetReason.PRIORITY_STARVED
