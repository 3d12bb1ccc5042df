"""Today's fleet with tomorrow's demand: the Needs of a cluster, or all, times a factor."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bigfleet.model.fleet import Fleet, FleetNeed
from bigfleet.model.quantities import scaled_amounts
from bigfleet.model.resources import Resources
from bigfleet.model.what_if import LARGEST_FACTOR


@dataclass(frozen=True, slots=True)
class DemandScale:
    factor: float
    #: Empty: of every cluster.
    cluster: str = ""


def scale_of(text: str) -> DemandScale:
    """`cluster=ml x1.4`, or `x1.4` for all; raises ValueError with what to write."""
    remedy = "write 'cluster=NAME x1.4', or 'x1.4' for every cluster"
    *terms, times = text.split() or [""]
    cluster = terms[0].removeprefix("cluster=") if terms else ""
    if len(terms) > 1 or (terms and (not cluster or terms[0] == cluster)) or times[:1] != "x":
        raise ValueError(f"{text!r} does not say whose demand grows how much; {remedy}")
    try:
        factor = float(times[1:])
    except ValueError:
        raise ValueError(f"{times[1:]!r} is not a number; {remedy}") from None
    if not 0 <= factor <= LARGEST_FACTOR:  # NaN fails every comparison
        raise ValueError(f"{times[1:]} is not a factor from 0 to {LARGEST_FACTOR:g}; {remedy}")
    return DemandScale(factor, cluster)


def scaled(fleet: Fleet, scales: Iterable[DemandScale]) -> Fleet:
    """Raises ValueError where a cluster is named that asks for nothing."""
    for scale in scales:
        clusters = {entry.need.cluster for entry in fleet.needs}
        if scale.cluster and scale.cluster not in clusters:
            there = ", ".join(sorted(clusters)[:8]) or "none"
            raise ValueError(
                f"no need of cluster {scale.cluster} in the file; its clusters are: {there}"
            )
        needs = tuple(
            _grown(entry, scale.factor) if scale.cluster in ("", entry.need.cluster) else entry
            for entry in fleet.needs
        )
        fleet = replace(fleet, needs=needs)
    return fleet


def _grown(entry: FleetNeed, factor: float) -> FleetNeed:
    amounts = scaled_amounts(entry.need.aggregate.amounts, factor)
    return replace(entry, need=replace(entry.need, aggregate=Resources.of(amounts)))
