"""When hosts die: one clock of accumulated hazard per pool instead of a die roll per tick.

Each host draws, once in its life, how much hazard it survives (exponential, mean one). The pool
accumulates hazard at its current rate; a host ends when the pool has accumulated its amount since
the host began. So a change of the rate needs no new draw, and the next death is known exactly.
"""

import math
from dataclasses import dataclass, field
from heapq import heappop, heappush

from bigfleet.model.machines import Instant
from bigfleet.provider.sim.world.durations import HOUR


def rate_of(probability: float) -> float:
    """Hazard per hour that makes a loss within one hour as likely as `probability`."""
    return -math.log1p(-min(probability, 0.999999)) if probability > 0 else 0.0


@dataclass(slots=True)
class Hazard:
    #: Per hour; zero: no host dies and nothing accumulates.
    rate: float = 0.0
    #: Hazard accumulated up to `since`.
    spent: float = 0.0
    since: Instant = 0
    #: Grows with every change, so that a moment computed before it can be told stale.
    version: int = 0
    #: (hazard at which it ends, machine, generation of its host); ended hosts are skipped on top.
    doomed: list[tuple[float, str, int]] = field(default_factory=list)

    def spent_at(self, now: Instant) -> float:
        return self.spent + self.rate * (now - self.since) / HOUR

    def set_rate(self, rate: float, now: Instant) -> None:
        self.spent, self.since, self.rate = self.spent_at(now), now, rate
        self.version += 1

    def enrol(self, machine: str, generation: int, survives: float, now: Instant) -> None:
        heappush(self.doomed, (self.spent_at(now) + survives, machine, generation))
        self.version += 1

    def next_at(self) -> Instant | None:
        """When the next host ends if the rate stays; None: never."""
        if not self.doomed or self.rate <= 0:
            return None
        hours = max(0.0, self.doomed[0][0] - self.spent) / self.rate
        return self.since + math.ceil(hours * HOUR)

    def taken(self, now: Instant) -> list[tuple[str, int]]:
        """The hosts whose time has come, removed from the list of the doomed."""
        ended: list[tuple[str, int]] = []
        while (due := self.next_at()) is not None and due <= now:
            _, machine, generation = heappop(self.doomed)
            ended.append((machine, generation))
        if ended:
            self.version += 1
        return ended

    def forget(self, alive: set[tuple[str, int]]) -> None:
        """Drop hosts that ended otherwise; called when they outnumber the living."""
        self.doomed = sorted(entry for entry in self.doomed if entry[1:] in alive)
        self.version += 1
