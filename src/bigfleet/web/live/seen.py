"""What the shards have told so far, and what follows from it for open pages.

Pure: events go in with their time; documents come out. A shard that is silent keeps its last word,
marked as such; a time at which not every shard was heard is a gap in what is measured.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bigfleet.model.figures import ShardFigures
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.watch_events import ShardOverview
from bigfleet.web.live.cost_series import CostSeries
from bigfleet.web.live.overview import (
    P99,
    Coordination,
    FleetSeen,
    Recent,
    costs_of,
    is_calm,
    overview_of,
    sentence_of,
)
from bigfleet.web.live.rings import BOUND, COST, IDLE, TOTAL

#: Rates are of the last minute, quantiles of the last five.
RECENT_SECONDS = 60
#: Looks that are kept of a shard: one a second is enough.
_MOST_LOOKS = 90
#: A shard that has told nothing for longer is not measured.
FRESH_SECONDS = 5


@dataclass
class _Shard:
    overview: ShardOverview
    heard_at: Instant
    #: One a second at most, the oldest first.
    looks: deque[tuple[Instant, ShardFigures]] = field(
        default_factory=lambda: deque(maxlen=_MOST_LOOKS)
    )

    def recent(self) -> Recent:
        return Recent(self.looks[0][1], self.overview.figures)


class Seen:
    def __init__(self) -> None:
        self._shards: dict[str, _Shard] = {}
        self._down: dict[str, str] = {}
        self.coordination = Coordination()
        self._calm_since: Instant | None = None
        self._alerts: dict[str, dict[str, Any]] = {}
        self._cost_series = CostSeries()

    # -- what happens ----------------------------------------------------------------------------

    def on_overview(self, shard: str, overview: ShardOverview, now: Instant) -> None:
        self._down.pop(shard, None)
        known = self._shards.get(shard)
        if known is None or known.overview.figures.epoch != overview.figures.epoch:
            # Counters of another life begin anew.
            known = self._shards[shard] = _Shard(overview, now)
        known.overview, known.heard_at = overview, now
        looks = known.looks
        if not looks or now - looks[-1][0] >= SECOND:
            looks.append((now, overview.figures))
        while len(looks) > 1 and now - looks[1][0] >= RECENT_SECONDS * SECOND:
            looks.popleft()

    def on_down(self, shard: str, why: str) -> None:
        # The first reason stays: later ones only say that it is still so.
        self._down.setdefault(shard, why)

    def on_left(self, shard: str) -> None:
        """It is not a shard of the fleet any more."""
        self._shards.pop(shard, None)
        self._down.pop(shard, None)

    # -- what is told ----------------------------------------------------------------------------

    @property
    def fleet(self) -> FleetSeen:
        return FleetSeen(
            {name: each.overview for name, each in sorted(self._shards.items())},
            {name: each.recent() for name, each in sorted(self._shards.items())},
            self._down,
            self.coordination,
        )

    @property
    def place(self) -> tuple[int, int]:
        """The newest epoch and cycle of any shard."""
        return max(
            ((e.overview.figures.epoch, e.overview.figures.cycle) for e in self._shards.values()),
            default=(0, 0),
        )

    def overview(self, now: Instant) -> dict[str, Any]:
        document = overview_of(self.fleet)
        if not is_calm(document):
            self._calm_since = None
        elif self._calm_since is None:
            self._calm_since = now
        since = self._calm_since
        calm = None if since is None else (now - since) / SECOND
        sentence = sentence_of(document, calm)
        return {**document, "sentence": sentence, "calmSinceUnixNanos": since}

    def costs(self, now: Instant) -> dict[str, Any]:
        return costs_of(self.fleet, now)

    def alerts(self, overview: Mapping[str, Any]) -> dict[str, Any] | None:
        """Findings that are new or over; None: the same as before."""
        found = {each["code"]: each for each in overview["findings"]}
        raised = [each for code, each in found.items() if self._alerts.get(code) != each]
        cleared = [code for code in self._alerts if code not in found]
        self._alerts = found
        return {"raised": raised, "cleared": cleared} if raised or cleared else None

    def samples(self, now: Instant) -> dict[str, float | None]:
        """One value for each series; sums of the fleet only if all its shards were heard."""
        fresh = {
            name: each
            for name, each in self._shards.items()
            if now - each.heard_at <= FRESH_SECONDS * SECOND and name not in self._down
        }
        values: dict[str, float | None] = {}
        for name, each in fresh.items():
            recent = each.recent()
            values[f"shard/{name}/cycleP99Seconds"] = recent.quantile(P99)
            values |= _rates(f"shard/{name}/actions/", recent)
        if len(fresh) == len(self._shards.keys() | self._down.keys()) and fresh:
            values |= self._fleet_samples()
        return values

    # -- within ----------------------------------------------------------------------------------

    def _fleet_samples(self) -> dict[str, float | None]:
        told = overview_of(self.fleet)
        values: dict[str, float | None] = {
            TOTAL: told["dollarsPerHour"],
            IDLE: told["idleDollarsPerHour"],
            "cycleP99Seconds": told["cycleP99Seconds"],
        }
        if told["regret"] is not None:
            values[COST] = told["regret"]["greedyPerHour"]
            values[BOUND] = told["regret"]["boundPerHour"]
        values |= {f"machines/{state}": n for state, n in told["machinesByState"].items()}
        values |= {f"needs/{state}": n for state, n in told["needs"].items()}
        values |= {f"actions/{kind}": n / 60 for kind, n in told["actionsPerMinute"].items()}
        return values | self._cost_series.values(self.fleet.figures)


def _rates(prefix: str, recent: Recent) -> dict[str, float | None]:
    seconds = max(60.0, recent.seconds)
    return {f"{prefix}{kind}": count / seconds for kind, count in recent.actions().items()}
