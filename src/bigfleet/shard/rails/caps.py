"""How many machines a cluster may lose in a while: the preempt cap and the reclaim cap.

The preempt cap is generous, since priority is the throttle; it bounds mistakes, such as a priority
class with a zero too many. Per victim cluster max(cap, half of its Configured machines) Preempts a
minute pass, those of the Needs that come first in precedence, which is the order of emission. Where
a gang takes a whole domain, its victims pass together or wait together: half a freed rack serves no
gang. While a gang waits, nothing lower takes its clusters' share; a gang larger than the cap passes
when its clusters lost no machine for a minute.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.reclaim_cap import PastReclaims, positions_over_cap, recent_reclaims

_MINUTE = 60 * SECOND
_PART = 2


@dataclass(frozen=True, slots=True)
class CappedVictim:
    #: Position of the Preempt in order of emission.
    position: int
    cluster: str
    #: The gang that takes its whole domain, by number of its Need; None: it goes alone.
    gang: int | None = None


@dataclass(slots=True)
class _VictimGroup:
    """Victims that pass together."""

    victims: list[CappedVictim] = field(default_factory=list)

    def by_cluster(self) -> Counter[str]:
        return Counter(victim.cluster for victim in self.victims)


def preempt_cap(cap_per_minute: int, configured: int) -> int:
    return max(cap_per_minute, configured // _PART)


class _Window:
    def __init__(self) -> None:
        #: Oldest first; nothing older than the window asked for last.
        self._past: deque[PastReclaims] = deque()

    def started(self, clusters: Iterable[str], at: Instant) -> None:
        lost = Counter(clusters)
        if lost:
            self._past.append(PastReclaims(at, lost))


class PreemptWindow(_Window):
    """What clusters lost to Preempts within the last minute."""

    def over_cap(
        self,
        victims: Iterable[CappedVictim],
        cap_per_minute: int,
        configured_of: Callable[[str], int],
        at: Instant,
    ) -> dict[int, int]:
        """Positions that must wait, each with the cap that stops it. A cap of 0 stops nothing."""
        self._past = deque(recent_reclaims(self._past, at, _MINUTE))
        if not cap_per_minute:
            return {}
        lost: Counter[str] = Counter()
        for past in self._past:
            lost.update(past.count_of_cluster)
        over: dict[int, int] = {}
        #: Clusters that are full, or whose share is kept for a gang that waits.
        kept: set[str] = set()
        for together in _in_turn(victims):
            wanted = together.by_cluster()
            caps = {name: preempt_cap(cap_per_minute, configured_of(name)) for name in wanted}
            full = [
                name
                for name, number in wanted.items()
                if name in kept or not _fits(lost[name], number, caps[name])
            ]
            if not full:
                lost.update(wanted)
                continue
            kept.update(wanted)
            over.update((each.position, caps[each.cluster]) for each in together.victims)
        return over


def _fits(lost: int, wanted: int, cap: int) -> bool:
    return lost + wanted <= cap or lost == 0


def _in_turn(victims: Iterable[CappedVictim]) -> Iterable[_VictimGroup]:
    """Gangs whole, where the first of their victims stands."""
    turns: list[_VictimGroup] = []
    of_gang: dict[int, _VictimGroup] = {}
    for victim in victims:
        together = of_gang.get(victim.gang) if victim.gang is not None else None
        if together is None:
            together = _VictimGroup()
            turns.append(together)
            if victim.gang is not None:
                of_gang[victim.gang] = together
        together.victims.append(victim)
    return turns


class ReclaimWindow(_Window):
    """The shard's memory of the Reclaims it started, for the cap over the trailing window.

    A Reclaim that was held back later on the way counts for its own cycle only: the window
    remembers what clusters really lost.
    """

    def over_cap(
        self,
        reclaims: Iterable[tuple[int, str]],
        fraction: float,
        window_seconds: float,
        configured_of: Callable[[str], int],
        at: Instant,
    ) -> dict[int, int]:
        """Positions that must wait, each with the cap that stops it."""
        self._past = deque(recent_reclaims(self._past, at, int(window_seconds * SECOND)))
        return positions_over_cap(reclaims, self._past, fraction, configured_of)
