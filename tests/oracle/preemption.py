"""Preemption: who must leave for a Need that Phase 1 left short (2.5, U1, U2, U16, U18, U26)."""

from dataclasses import dataclass, field

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.options import EngineOptions
from bigfleet.model.resources import Resources
from tests.oracle.acquisition import count_in, eligible
from tests.oracle.demand import by_precedence
from tests.oracle.matching import domain_value, serves
from tests.oracle.reservations import Reservations
from tests.oracle.standing import OracleNeed, less_all
from tests.oracle.stock import Stock


@dataclass(slots=True)
class Preemption:
    """Phase 2 of one cycle: the victims, with who claims what and who is excess."""

    stock: Stock
    options: EngineOptions
    #: By machine id.
    claimed_by: dict[str, OracleNeed]
    taken: set[str] = field(default_factory=set)

    def priority_of(self, each: FleetMachine) -> int:
        """U1: of the Need that claims the machine this cycle, else the stamped one."""
        holder = self.claimed_by.get(each.machine.id)
        return each.machine.assigned.priority if holder is None else holder.need.profile.priority

    def is_excess(self, each: FleetMachine) -> bool:
        return each.machine.id not in self.claimed_by and is_ready(
            each.machine.cluster, self.options
        )

    def gap(self, standing: OracleNeed, each: FleetMachine) -> int:
        return standing.need.profile.priority - self.priority_of(each)

    def score(self, standing: OracleNeed, each: FleetMachine) -> float:
        weights, stamp = self.options.victim_weights, each.machine.assigned
        score = max(0, self.gap(standing, each)) * weights.priority
        score += weights.drain / max(1, self.options.drain_seconds)
        score += weights.interruption / max(0.01, stamp.interruption_penalty)
        score += weights.reclamation / max(0.01, stamp.reclamation_penalty)
        return score

    def candidates(self, standing: OracleNeed) -> list[FleetMachine]:
        """In victim order: excess first, then score descending, then id."""
        found = [
            m
            for m in self.stock.in_state(MachineState.CONFIGURED)
            if m.machine.id not in self.taken
            and self.gap(standing, m) > 0
            and serves(standing.need, m)
        ]
        return sorted(
            found,
            key=lambda m: (not self.is_excess(m), -self.score(standing, m), m.machine.id),
        )

    def pick(self, standing: OracleNeed, remaining: Resources) -> list[FleetMachine]:
        candidates = self.candidates(standing)
        same, spread = standing.need.profile.same, standing.strict_spread
        if same is not None:
            candidates = [m for m in candidates if domain_value(m, same.key) == standing.domain]
        if spread is not None:
            return self.pick_within_skew(standing, candidates, remaining)
        picked: list[FleetMachine] = []
        for each in candidates:
            if less_all(remaining, picked).is_zero():
                break
            picked.append(each)
        return picked

    def take_a_whole_domain(self, standing: OracleNeed) -> None:
        """U26: of the domains whose lower machines cover the gang alone the one whose highest
        victim is lowest, then the fewest victims, then the smallest value."""
        assert standing.need.profile.same is not None
        domains: dict[str, list[FleetMachine]] = {}
        for each in self.candidates(standing):
            value = domain_value(each, standing.need.profile.same.key)
            if value is not None:
                domains.setdefault(value, []).append(each)
        found: list[tuple[int, int, str, list[FleetMachine]]] = []
        for value, machines in domains.items():
            lowest_first = sorted(machines, key=lambda m: (self.priority_of(m), m.machine.id))
            victims: list[FleetMachine] = []
            while lowest_first and not less_all(standing.need.aggregate, victims).is_zero():
                victims.append(lowest_first.pop(0))
            if less_all(standing.need.aggregate, victims).is_zero():
                found.append((self.priority_of(victims[-1]), len(victims), value, victims))
        if found:
            _, _, standing.domain, standing.victims = min(found, key=lambda f: f[:3])
            standing.takes_a_whole_domain = True

    def pick_within_skew(
        self, standing: OracleNeed, candidates: list[FleetMachine], remaining: Resources
    ) -> list[FleetMachine]:
        """U18: each step the first candidate in victim order whose domain is eligible."""
        spread = standing.strict_spread
        assert spread is not None
        key = spread.topology_key
        counts = dict.fromkeys(standing.spread_domains, 0)
        for each in candidates:
            count_in(counts, each, key, 0)
        for each in standing.claimed + standing.draining:
            count_in(counts, each, key, 1)
        picked: list[FleetMachine] = []
        while not less_all(remaining, picked).is_zero():
            allowed = eligible(counts, spread)
            inside = [m for m in candidates if domain_value(m, key) in allowed]
            if not inside:
                break
            picked.append(inside[0])
            candidates = [m for m in candidates if m is not inside[0]]
            count_in(counts, inside[0], key, 1)
        return picked


def preempt_for_everybody(
    standings: list[OracleNeed], stock: Stock, reservations: Reservations, options: EngineOptions
) -> Preemption:
    """Fills `draining`, `victims` and `unresolved` of every short Need."""
    claimed_by = {m.machine.id: s for s in standings for m in s.claimed}
    phase = Preemption(stock, options, claimed_by)
    counted: set[str] = set()
    for standing in by_precedence(standings):
        if standing.satisfied:
            continue
        remaining = count_draining(standing, reservations, counted)
        if not standing.parked and not remaining.is_zero():
            if standing.is_gang and standing.domain is None:
                phase.take_a_whole_domain(standing)
            else:
                standing.victims = phase.pick(standing, remaining)
            phase.taken.update(m.machine.id for m in standing.victims)
        standing.unresolved = less_all(remaining, standing.victims)
    return phase


def count_draining(
    standing: OracleNeed, reservations: Reservations, counted: set[str]
) -> Resources:
    """Ruling E5: what is left of the deficit once the victims under way are its own."""
    remaining = standing.deficit
    for each in reservations.draining_for(standing.key):
        if remaining.is_zero():
            break
        if each.machine.id in counted:
            continue
        counted.add(each.machine.id)
        standing.draining.append(each)
        remaining = remaining.less(each.machine.effective_allocatable)
    return remaining


def is_ready(cluster: str, options: EngineOptions) -> bool:
    return options.clusters_ready is None or cluster in options.clusters_ready


def grace_seconds(gap: int) -> int:
    if gap > 900_000:
        return 10
    if gap > 500_000:
        return 30
    if gap > 100_000:
        return 120
    return 600
