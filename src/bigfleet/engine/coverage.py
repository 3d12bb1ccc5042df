"""How much of a gang's demand each domain could hold: what is shown where none of them suffices.

Decides nothing: the domain that serves a gang is chosen in `kernels.domains`, by finer rules.
Counts in whole Python numbers, which do not overflow however large a domain is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from bigfleet.model.resources import Resources

_WHOLE = 1000
#: Enough to see the runner-up and the pattern; a fleet has hundreds of racks.
_MOST = 6


@dataclass(frozen=True, slots=True)
class DomainCoverage:
    domain: str
    satisfiable: bool
    #: The least covered dimension, in thousandths of what is wanted.
    permille: int


def permille_of(have: Resources, wanted: Resources) -> int:
    """The share of the scarcest wanted dimension, rounded down; 1000 where nothing is wanted."""
    shares = (min(have[name], want) * _WHOLE // want for name, want in wanted.positive().amounts)
    return min(shares, default=_WHOLE)


def domain_coverages(
    wanted: Resources, offers: Iterable[tuple[str, Sequence[Resources]]]
) -> list[DomainCoverage]:
    """The best covered domains, then by name; `offers` gives the machines of each domain.

    A domain without machines does not count.
    """
    found = []
    for domain, machines in offers:
        if machines:
            permille = permille_of(reduce(Resources.plus, machines), wanted)
            # Rounded down, so a whole thousand means that nothing is missing.
            found.append(DomainCoverage(domain, permille == _WHOLE, permille))
    return sorted(found, key=lambda c: (-c.permille, c.domain))[:_MOST]
