"""Acquisition: the naive pass in precedence order over Idle and Speculative machines (2.4)."""

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.profiles import Profile, Spread
from tests.oracle.demand import by_precedence
from tests.oracle.matching import domain_value, serves
from tests.oracle.reservations import Reservations
from tests.oracle.standing import OracleNeed
from tests.oracle.stock import Stock, effective_cost, pool_order


def acquire_for_everybody(
    standings: list[OracleNeed], stock: Stock, reservations: Reservations
) -> None:
    taken: set[str] = set()
    for standing in by_precedence(standings):
        if standing.satisfied:
            continue
        idle, speculative = (
            [
                m
                for m in pool
                if m.machine.id not in taken
                and serves(standing.need, m)
                and reservations.lets(standing.need, m)
            ]
            for pool in (
                stock.free_pool(state, standing.need.profile)
                for state in (MachineState.IDLE, MachineState.SPECULATIVE)
            )
        )
        if standing.is_gang:
            acquire_in_domain(standing, idle + speculative)
        elif standing.strict_spread is not None:
            acquire_within_skew(standing, standing.strict_spread, idle, speculative)
        else:
            acquire(standing, idle + speculative)
        taken.update(m.machine.id for m in standing.bootstrapped + standing.provisioned)


def take(standing: OracleNeed, each: FleetMachine) -> None:
    if each.machine.state is MachineState.IDLE:
        standing.bootstrapped.append(each)
    else:
        standing.provisioned.append(each)


def acquire(standing: OracleNeed, candidates: list[FleetMachine]) -> None:
    for each in candidates:
        if standing.satisfied:
            return
        take(standing, each)


def acquire_in_domain(standing: OracleNeed, candidates: list[FleetMachine]) -> None:
    """A parked gang, one without a domain, or one that saw no free stock takes nothing (U10)."""
    profile = standing.need.profile
    assert profile.same is not None
    if standing.parked or standing.domain is None or not standing.saw_free_stock:
        return
    inside = [m for m in candidates if domain_value(m, profile.same.key) == standing.domain]
    acquire(standing, inside)


def acquire_within_skew(
    standing: OracleNeed,
    spread: Spread,
    idle: list[FleetMachine],
    speculative: list[FleetMachine],
) -> None:
    """One machine a step from the cheapest eligible domain, Idle before Speculative (U5)."""
    key = spread.topology_key
    counts: dict[str, int] = {}
    for each in idle + speculative:
        count_in(counts, each, key, 0)
    for each in standing.claimed:
        count_in(counts, each, key, 1)
    standing.spread_domains = frozenset(counts)
    left = [[m for m in pool if domain_value(m, key)] for pool in (idle, speculative)]
    while not standing.satisfied:
        chosen = None
        for pool in left:
            allowed = eligible(counts, spread)
            chosen = chosen or cheapest_head(standing.need.profile, pool, key, allowed)
        if chosen is None:
            break
        take(standing, chosen)
        count_in(counts, chosen, key, 1)
        left = [[m for m in pool if m is not chosen] for pool in left]
    standing.left_candidates = any(left)
    for taken in (standing.bootstrapped, standing.provisioned):
        taken.sort(key=lambda m: pool_order(m, standing.need.profile))


def count_in(counts: dict[str, int], each: FleetMachine, key: str, amount: int) -> None:
    value = domain_value(each, key)
    if value is not None:
        counts[value] = counts.get(value, 0) + amount


def eligible(counts: dict[str, int], spread: Spread) -> set[str]:
    """Domains that may take one more machine; the minimum counts exhausted domains too."""
    if not counts:
        return set()
    most = min(counts.values()) + max(1, spread.max_skew) - 1
    return {value for value, count in counts.items() if count <= most}


def cheapest_head(
    profile: Profile, pool: list[FleetMachine], key: str, allowed: set[str]
) -> FleetMachine | None:
    """Ruling E13: the first machine of each domain in pool order; its cost, then domain value."""
    heads: dict[str, FleetMachine] = {}
    for each in pool:
        value = domain_value(each, key)
        if value is not None and value in allowed:
            heads.setdefault(value, each)
    if not heads:
        return None
    return heads[min(heads, key=lambda value: (effective_cost(heads[value], profile), value))]
