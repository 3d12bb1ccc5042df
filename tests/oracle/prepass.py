"""Pre-pass: every Need is first credited with what its cluster already has (2.2, 2.3)."""

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from tests.oracle.demand import by_precedence
from tests.oracle.domains import Domain, choose
from tests.oracle.matching import domain_value, pinned_types, serves
from tests.oracle.reservations import Reservations
from tests.oracle.standing import OracleNeed, less_all
from tests.oracle.stock import Stock


def credit_everybody(standings: list[OracleNeed], stock: Stock, reservations: Reservations) -> None:
    claimed: set[str] = set()
    spoken_for: set[str] = set()
    for standing in by_precedence(standings):
        if standing.need.aggregate.is_zero():
            continue
        usable = [
            m
            for m in stock.creditable(standing.key)
            if m.machine.id not in claimed and serves(standing.need, m)
        ]
        if standing.is_gang:
            credit_gang(standing, usable, stock, reservations, spoken_for)
        else:
            credit(standing, usable)
        claimed.update(m.machine.id for m in standing.credited)


def credit(standing: OracleNeed, usable: list[FleetMachine]) -> None:
    for each in usable:
        if standing.satisfied:
            return
        standing.credited.append(each)


def credit_gang(
    standing: OracleNeed,
    usable: list[FleetMachine],
    stock: Stock,
    reservations: Reservations,
    spoken_for: set[str],
) -> None:
    """Chooses the domain once, credits inside it, and speaks for the stock it still lacks."""
    free: list[FleetMachine] = []
    if not standing.parked:
        free = [
            m
            for m in acquirable(standing.need, stock, reservations)
            if m.machine.id not in spoken_for
        ]
    coming = [m for m in reservations.draining_for(standing.key) if serves(standing.need, m)]
    chosen = choose(domains_of(standing.need, usable, free, coming), standing.need.aggregate)
    if chosen is None:
        return
    standing.domain = chosen.value
    standing.same_satisfiable = chosen.total.covers(standing.need.aggregate)
    standing.saw_free_stock = bool(chosen.acquirable)
    others = [m for m in chosen.creditable if m not in chosen.own]
    credit(standing, chosen.own + others)
    if not standing.parked:
        speak_for(standing, chosen.acquirable, spoken_for)


def domains_of(
    need: Need,
    usable: list[FleetMachine],
    free: list[FleetMachine],
    coming: list[FleetMachine],
) -> list[Domain]:
    assert need.profile.same is not None
    key = need.profile.same.key
    found: dict[str, Domain] = {}
    for each in usable:
        value = domain_value(each, key)
        if value is None:
            continue
        domain = found.setdefault(value, Domain(value))
        domain.creditable.append(each)
        stamp = each.machine.assigned
        if (stamp.group, stamp.need_fingerprint) == (need.group, need.profile.fingerprint):
            domain.own.append(each)
    for each in free:
        value = domain_value(each, key)
        if value is not None:
            found.setdefault(value, Domain(value)).acquirable.append(each)
    for each in coming:
        value = domain_value(each, key)
        if value is not None:
            found.setdefault(value, Domain(value)).coming.append(each)
    return list(found.values())


def acquirable(need: Need, stock: Stock, reservations: Reservations) -> list[FleetMachine]:
    """Idle and Speculative machines this Need may take, by id."""
    return [
        m
        for m in stock.in_state(MachineState.IDLE) + stock.in_state(MachineState.SPECULATIVE)
        if m.marks.held is None and serves(need, m) and reservations.lets(need, m)
    ]


def speak_for(standing: OracleNeed, in_domain: list[FleetMachine], spoken_for: set[str]) -> None:
    """Virtual consumption: later gangs do not see what this one will probably take."""
    consumed: list[FleetMachine] = []
    for state in (MachineState.IDLE, MachineState.SPECULATIVE):
        pool = [m for m in in_domain if m.machine.state is state]
        for each in in_listing_order(standing.need, pool):
            if less_all(standing.deficit, consumed).is_zero():
                break
            consumed.append(each)
    spoken_for.update(m.machine.id for m in consumed)


def in_listing_order(need: Need, pool: list[FleetMachine]) -> list[FleetMachine]:
    """Ruling E25: by id; for a Need that pins instance types, type by type, price, id."""
    types = pinned_types(need.profile)
    if not types:
        return sorted(pool, key=lambda m: m.machine.id)
    listed: list[FleetMachine] = []
    for instance_type in types:
        of_type = [m for m in pool if m.machine.instance_type == instance_type]
        listed.extend(sorted(of_type, key=lambda m: (m.machine.price_per_hour, m.machine.id)))
    return listed
