"""The reclaim cap: how many machines a cluster may lose at a time, counted one way for all.

Per cluster the first max(1, floor(fraction x Configured)) Reclaims pass; those of the trailing
window count too, so that deciding more often does not drain a cluster faster.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bigfleet.model.machines import Instant


@dataclass(frozen=True, slots=True)
class PastReclaims:
    """How many machines each cluster lost at one instant."""

    at: Instant
    count_of_cluster: Mapping[str, int]


def reclaim_cap(fraction: float, configured: int) -> int:
    return max(1, int(fraction * configured))


def recent_reclaims(
    past: Iterable[PastReclaims], now: Instant, window: Instant
) -> tuple[PastReclaims, ...]:
    return tuple(p for p in past if now - p.at < window)


def positions_over_cap(
    reclaims: Iterable[tuple[int, str]],
    recent: Iterable[PastReclaims],
    fraction: float,
    configured_of: Callable[[str], int],
) -> dict[int, int]:
    """Of Reclaims as (position, cluster) in order of emission: those that must wait, with the cap
    that stops them. A fraction of zero stops nothing.
    """
    if not fraction:
        return {}
    lost: Counter[str] = Counter()
    for past in recent:
        lost.update(past.count_of_cluster)
    cap_of: dict[str, int] = {}
    over: dict[int, int] = {}
    for position, cluster in reclaims:
        cap = cap_of.get(cluster)
        if cap is None:
            cap = cap_of[cluster] = reclaim_cap(fraction, configured_of(cluster))
        if lost[cluster] >= cap:
            over[position] = cap
        else:
            lost[cluster] += 1
    return over
