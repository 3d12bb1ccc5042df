"""Shards: each in a line, one in detail, and how it went lately."""

from dataclasses import dataclass, field
from http import HTTPStatus
from re import compile as pattern
from typing import Any

from starlette.routing import Route

from bigfleet.edge.clock import SECOND
from bigfleet.model.figures import ShardFigures
from bigfleet.web.answers import queried_at
from bigfleet.web.figures import (
    P99,
    RateMeter,
    count_of_capacity,
    count_of_state,
    figures,
    seconds_of_cycle,
)
from bigfleet.web.fleet import Fleet, not_found
from bigfleet.web.history import Samples
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.problems import bad
from bigfleet.web.schemas import ShardDetail, Shards, Trends

_NAME = r"^[a-z0-9][a-z0-9.-]{0,252}$"
_MATCH = pattern(_NAME)
DURATION = Param("duration", "How far back; 1h unless said, 24h at most.", example="15m")
STEP = Param("step", "Between two samples; 30s unless said, 1h at most.", example="10s")
DEFAULT_SECONDS, MOST_SECONDS = 3600, 24 * 3600
DEFAULT_STEP, MOST_STEP = 30, 3600
POD = Param("pod", "Id of a shard.", in_path=True, pattern=_NAME, example="shard-0")


@dataclass(frozen=True, slots=True)
class ShardRoutes:
    fleet: Fleet
    rates: RateMeter = field(default_factory=RateMeter)

    async def all(self, _asked: Asked) -> dict[str, Any]:
        told = (await figures(self.fleet)).require()
        now = self.fleet.clock.now()
        lines = [line_of(shard, each) for shard, each in sorted(told.said.items())]
        return {"shards": lines, "queriedAt": queried_at(now), **told.head()}

    async def one(self, asked: Asked) -> dict[str, Any]:
        pod = self._pod(asked)
        told = (await figures(self.fleet, only=pod)).require().said[pod]
        now = self.fleet.clock.now()
        rates = self.rates.look(told, now / SECOND)
        phases = {
            each.phase: seconds
            for each in told.durations
            if each.phase and (seconds := seconds_of_cycle(told, P99, each.phase)) is not None
        }
        return {
            **line_of(pod, told),
            "cycleP99ByPhaseSeconds": phases,
            "machinesByState": count_of_state([told]),
            "machinesByCapacityType": count_of_capacity([told]),
            "actionsByKindRatePerSec": dict(rates.actions) if rates else {},
            "occCommittedPerSec": rates.committed if rates else 0.0,
            "occConflictPerSec": rates.conflicting if rates else 0.0,
            "cycle": told.cycle,
            "epoch": told.epoch,
            # Rates need two looks at the shard: the first answer has none, and says so.
            **({} if rates else {"ratesKnown": False}),
            "queriedAt": queried_at(now),
        }

    async def trends(self, asked: Asked) -> dict[str, Any]:
        pod = self._pod(asked)
        if pod not in self.fleet.shards:
            raise not_found("shard", pod, self.fleet.shards)
        found = samples(self.fleet, asked, pod)
        return {
            "pod": pod,
            "timestamps": found.timestamps,
            "cycleP99Seconds": found.cycle_p99_seconds,
            "actionRates": found.action_rates,
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    def _pod(self, asked: Asked) -> str:
        pod = asked.text("pod")
        if not _MATCH.match(pod):
            raise bad("pod", f"{pod[:100]!r} is not the id of a shard")
        return pod


def samples(fleet: Fleet, asked: Asked, shard: str = "") -> Samples:
    """What cannot be read is as if it were not said, and what is too long is cut."""
    seconds = asked.duration("duration", DEFAULT_SECONDS, MOST_SECONDS)
    step = asked.duration("step", DEFAULT_STEP, MOST_STEP)
    return Samples() if fleet.history is None else fleet.history.samples(shard, seconds, step)


def line_of(shard: str, told: ShardFigures) -> dict[str, Any]:
    return {
        "pod": shard,
        "cycleP99Seconds": seconds_of_cycle(told, P99) or 0.0,
        "machines": told.machines,
        "shortfalls": told.shortfalls,
        "activeSessions": told.sessions,
    }


def operations(fleet: Fleet) -> list[Operation]:
    routes = ShardRoutes(fleet)
    unknown = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
    return [
        Operation(
            "/shards",
            "listShards",
            "Every shard in a line.",
            routes.all,
            Shards,
            compatible=True,
            example="/shards",
        ),
        Operation(
            "/shards/{pod}",
            "getShard",
            "One shard: its machines, how long cycles and their parts take, and rates.",
            routes.one,
            ShardDetail,
            (POD,),
            problems=unknown,
            compatible=True,
            example="/shards/shard-0",
        ),
        Operation(
            "/shards/{pod}/trends",
            "getShardTrends",
            "How one shard went lately.",
            routes.trends,
            Trends,
            (POD, DURATION, STEP),
            problems=unknown,
            compatible=True,
            example="/shards/shard-0/trends?duration=5m&step=10s",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
