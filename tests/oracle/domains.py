"""ChooseSameBucket: the one domain a gang is to live in (2.3 step 3, rulings E1, E21, E34)."""

from dataclasses import dataclass, field

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.resources import Resources


@dataclass(slots=True)
class Domain:
    value: str
    creditable: list[FleetMachine] = field(default_factory=list)
    #: The creditable ones stamped with the gang's own group and fingerprint.
    own: list[FleetMachine] = field(default_factory=list)
    acquirable: list[FleetMachine] = field(default_factory=list)
    #: Draining for the gang itself (U26).
    coming: list[FleetMachine] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.creditable) + len(self.acquirable) + len(self.coming)

    @property
    def total(self) -> Resources:
        return total_of(self.creditable + self.acquirable + self.coming)


def total_of(machines: list[FleetMachine]) -> Resources:
    total = Resources()
    for each in machines:
        total = total.plus(each.machine.effective_allocatable)
    return total


def score(have: Resources, wanted: Resources, *, capped: bool) -> float:
    result = 0.0
    for dimension, amount in wanted.positive().amounts:
        ratio = float(have[dimension]) / float(amount)
        result += min(1.0, ratio) if capped else ratio
    return result


def choose(domains: list[Domain], wanted: Resources) -> Domain | None:
    best: Domain | None = None
    for domain in domains:
        if domain.count > 0 and (best is None or beats(domain, best, wanted)):
            best = domain
    return best


def beats(left: Domain, right: Domain, wanted: Resources) -> bool:
    left_fits, right_fits = left.total.covers(wanted), right.total.covers(wanted)
    if left_fits != right_fits:
        return left_fits
    left_credit = score(total_of(left.creditable), wanted, capped=True)
    right_credit = score(total_of(right.creditable), wanted, capped=True)
    left_own = score(total_of(left.own), wanted, capped=True)
    right_own = score(total_of(right.own), wanted, capped=True)
    if left_fits:
        if left_credit != right_credit:
            return left_credit > right_credit
        if left_own != right_own:
            return left_own > right_own
        left_stock = score(left.total, wanted, capped=False)
        right_stock = score(right.total, wanted, capped=False)
        if left_stock != right_stock:
            return left_stock < right_stock
    else:
        left_cover = score(left.total, wanted, capped=True)
        right_cover = score(right.total, wanted, capped=True)
        if left_cover != right_cover:
            return left_cover > right_cover
        if left_credit != right_credit:
            return left_credit > right_credit
        if left_own != right_own:
            return left_own > right_own
    if left.count != right.count:
        return left.count > right.count
    return left.value < right.value
