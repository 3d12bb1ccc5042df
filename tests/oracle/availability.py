"""Availability: what is there for whom, machine by machine (wire 4.2 and 6)."""

import math
from dataclasses import dataclass

from bigfleet.engine.decision import Verdict
from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.shard_views import DomainCoverage, MatchingSupply
from tests.oracle.matching import domain_value, serves
from tests.oracle.stock import Stock, effective_cost


@dataclass(frozen=True, slots=True)
class Available:
    idle: int
    speculative: int
    idle_price: float
    speculative_cost: float


def available(fleet: Fleet) -> dict[tuple[str, str], Available]:
    """By cluster and fingerprint."""
    pairs: dict[tuple[str, str], list[int]] = {}
    for index, row in enumerate(fleet.needs):
        pairs.setdefault((row.need.cluster, row.need.profile.fingerprint), []).append(index)
    stock, found = Stock(fleet), {}
    for pair, indices in pairs.items():
        needs = [fleet.needs[index].need for index in indices]
        profile = needs[0].profile
        idle = [
            m
            for m in stock.free_pool(MachineState.IDLE, profile)
            if all(serves(need, m) for need in needs)
        ]
        slots = [
            m
            for m in stock.free_pool(MachineState.SPECULATIVE, profile)
            if all(serves(n, m) for n in needs)
        ]
        found[pair] = Available(
            len(idle),
            len(slots),
            min((m.machine.price_per_hour for m in idle), default=math.inf),
            min((effective_cost(m, profile) for m in slots), default=math.inf),
        )
    return found


def matching(fleet: Fleet, verdict: Verdict) -> MatchingSupply:
    stock = Stock(fleet)

    def count(machines: list[FleetMachine]) -> int:
        return sum(serves(verdict.need, each) for each in machines)

    return MatchingSupply(
        idle=count(stock.free_pool(MachineState.IDLE, verdict.need.profile)),
        configured=count(stock.in_state(MachineState.CONFIGURED)),
        speculative=count(stock.free_pool(MachineState.SPECULATIVE, verdict.need.profile)),
    )


def candidates(
    fleet: Fleet, verdict: Verdict, claimed: set[str], memory: EngineMemory
) -> tuple[DomainCoverage, ...]:
    """`claimed`: by any Need."""
    same = verdict.need.profile.same
    if same is None or verdict.satisfied:
        return ()
    stock, key = Stock(fleet), verdict.need.key
    free = stock.free_pool(MachineState.IDLE, verdict.need.profile)
    free += stock.free_pool(MachineState.SPECULATIVE, verdict.need.profile)
    usable = stock.creditable(key) + [
        m
        for m in free
        if m.machine.id not in memory.reservations
        or memory.reservations[m.machine.id].holder == key
    ]
    domains: dict[str, dict[str, FleetMachine]] = {}
    for each in usable + [stock.by_id[name] for name in verdict.claimed]:
        value, name = domain_value(each, same.key), each.machine.id
        foreign = name in claimed and name not in verdict.claimed
        if value is not None and not foreign and serves(verdict.need, each):
            domains.setdefault(value, {})[name] = each
    found = []
    for value, machines in domains.items():
        thousandths = 1000
        for name, want in verdict.need.aggregate.amounts:
            have = sum(m.machine.effective_allocatable[name] for m in machines.values())
            if want > 0:
                thousandths = min(thousandths, min(have, want) * 1000 // want)
        found.append(DomainCoverage(value, thousandths, thousandths == 1000))
    return tuple(sorted(found, key=lambda c: (-c.per_mille, c.domain))[:6])
