"""The domains a gang weighed, and the rule that decided between them."""

from bigfleet.engine.gang_domains import WeighedDomain, domains_weighed
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.model.explanations import DomainRule, DomainVerdict

#: Domains that are told.
MOST_DOMAINS = 8


def domain_verdicts(cycle: DecidedCycle, row: int) -> tuple[DomainVerdict, ...]:
    found = domains_weighed(cycle.given, cycle.outcome, row, MOST_DOMAINS)
    return tuple(_verdict(place, each, found[0]) for place, each in enumerate(found, 1))


def _verdict(rank: int, found: WeighedDomain, chosen: WeighedDomain) -> DomainVerdict:
    rule = DomainRule(found.rule)
    return DomainVerdict(
        found.name,
        rank,
        found.machines,
        found.offers.positive(),
        found.credited,
        found.own,
        found.covered,
        found.offered,
        rule,
        _sentence(rule, found, chosen),
    )


def _sentence(rule: DomainRule, found: WeighedDomain, chosen: WeighedDomain) -> str:
    best = chosen.name
    match rule:
        case DomainRule.CHOSEN:
            return "chosen"
        case DomainRule.WHOLE:
            return f"{best} holds the whole gang, this one {found.covered:.0%} of it"
        case DomainRule.CREDITED | DomainRule.CREDITED_OF_PART:
            amounts = f"{chosen.credited:.0%}, here {found.credited:.0%}"
            return f"more of the gang is in {best} already: {amounts}"
        case DomainRule.OWN:
            amounts = f"{chosen.own:.0%}, here {found.own:.0%}"
            return f"more of what {best} has is the gang's own: {amounts}"
        case DomainRule.TIGHTER:
            amounts = f"{chosen.offered:.0%} of the gang, here {found.offered:.0%}"
            return f"{best} fits more tightly: {amounts}"
        case DomainRule.COVERED:
            return f"{best} holds {chosen.covered:.0%} of the gang, this one {found.covered:.0%}"
        case DomainRule.MORE_MACHINES:
            return f"{best} has {chosen.machines:,} machines, this one {found.machines:,}"
        case DomainRule.NAME:
            return f"equal in everything, and {best} comes first by name"
