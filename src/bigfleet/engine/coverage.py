"""How much of a gang's demand each domain could hold: what is shown where none of them suffices.

Decides nothing: the domain that serves a gang is chosen in `kernels.domains`, by finer rules.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.kernels.domains import coverage_permille
from bigfleet.model.resources import Resources

_WHOLE = 1000
#: Enough to see the runner-up and the pattern; a rack fleet has hundreds.
_MOST = 6


@dataclass(frozen=True, slots=True)
class DomainCoverage:
    domain: str
    satisfiable: bool
    #: The least covered dimension, in thousandths of what is wanted.
    permille: int


def domain_coverages(
    wanted: Resources, offers: Iterable[tuple[str, Sequence[Resources]]]
) -> list[DomainCoverage]:
    """The best covered domains, then by name; `offers` gives the machines of each domain.

    A domain without machines is none.
    """
    dimensions = tuple(wanted)
    want = _amounts(wanted, dimensions)
    found = []
    for domain, machines in offers:
        if machines:
            total = np.sum([_amounts(m, dimensions) for m in machines], axis=0, dtype=np.int64)
            permille = coverage_permille(total, want)
            # Thousandths are rounded down, so a whole thousand means that nothing is missing.
            found.append(DomainCoverage(domain, permille == _WHOLE, permille))
    return sorted(found, key=lambda c: (-c.permille, c.domain))[:_MOST]


def _amounts(resources: Resources, dimensions: tuple[str, ...]) -> Int64s:
    return np.array([resources[name] for name in dimensions], np.int64)
