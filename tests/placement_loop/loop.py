"""Time: everything moves in steps of five seconds while something is under way, else in leaps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from tests.placement_loop.cluster import Cluster
from tests.placement_loop.shard import Shard

STEP = 5 * SECOND
START: Instant = 1_700_000_000 * SECOND
#: While nothing is under way.
LEAP = 60 * SECOND


@dataclass(slots=True)
class Loop:
    shard: Shard
    clusters: Sequence[Cluster]
    at: Instant = START
    #: What happens when, in order of time.
    happenings: list[tuple[Instant, Callable[[Instant], None]]] = field(default_factory=list)
    steps: int = 0

    def plan(self, minutes: float, happening: Callable[[Instant], None]) -> None:
        self.happenings.append((START + round(minutes * 60) * SECOND, happening))
        self.happenings.sort(key=lambda each: each[0])

    def run(self, minutes: float) -> None:
        end = START + round(minutes * 60) * SECOND
        while self.at < end:
            self.step()
            after = min(end, self._next())
            for cluster in self.clusters:
                cluster.figures.spent += cluster.cost() * (after - self.at)
            self.at = after

    def step(self) -> None:
        at = self.at
        self.steps += 1
        while self.happenings and self.happenings[0][0] <= at:
            self.happenings.pop(0)[1](at)
        for cluster in self.clusters:
            cluster.follow_machines(at)
            cluster.schedule(at)
            cluster.operate(at)
            cluster.schedule(at)
            cluster.note_moved(at)
        known = len(self.shard.bought)
        waiting = {c.name for c in self.clusters if c.waiting()}
        self.shard.step(at)
        for name, _ in self.shard.bought[known:]:
            figures = next(c.figures for c in self.clusters if c.name == name)
            figures.bought += 1
            figures.bought_without_demand += name not in waiting
        for cluster in self.clusters:
            cluster.note_waits(at)

    def _next(self) -> Instant:
        if self.shard.is_busy or any(c.is_dirty for c in self.clusters):
            return self.at + STEP
        due = [c.margins.due_at(self.at) for c in self.clusters]
        times = [each for each in due if each is not None]
        times += [when for when, _ in self.happenings[:1]]
        nearest = min(times, default=self.at + LEAP)
        return max(self.at + STEP, min(nearest, self.at + LEAP))
