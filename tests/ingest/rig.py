"""The ingest of a shard that cluster shop is connected to, and roll-ups of so many rows."""

from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup, RollupRefused
from bigfleet.shard.instructions import Log, WakeCycle
from bigfleet.shard.settings import RailSettings, ShardSettings
from tests.shard_parts import Clusters, parts_of

START: Instant = 1_700_000_000 * SECOND


def rollup(rows: int, cluster: str = "shop", *, digest: str | None = None) -> Rollup:
    """Rows of different priority; equal counts say the same unless given another digest."""
    needs = tuple(
        Need(cluster, Profile.of(priority=row), Resources.parse({"cpu": "1"}), Resources(), START)
        for row in range(rows)
    )
    return Rollup(cluster, START, needs, (digest or f"{cluster}:{rows}").encode())


class Rig:
    def __init__(
        self, rails: RailSettings | None = None, settings: ShardSettings | None = None
    ) -> None:
        known = settings or ShardSettings(rails=rails or RailSettings())
        self.parts = parts = parts_of(known, at=START)
        self.effects, self.needs, self.ingest = parts.effects, parts.needs, parts.ingest
        self.clusters = Clusters(parts, "shop")
        self.effects.taken()

    def report(self, rows: int, after: float = 0, cluster: str = "shop") -> bool:
        return self.give(rollup(rows, cluster), after, cluster)

    def give(self, given: Rollup | RollupRefused, after: float = 0, cluster: str = "shop") -> bool:
        return self.ingest.on_rollup(cluster, given, START + round(after * SECOND))

    def released(self, *, accept: bool, cluster: str = "shop") -> str:
        return self.ingest.release(cluster, accept, START)

    def rows(self) -> int:
        return len(self.needs)

    def held(self, cluster: str = "shop") -> float:
        self.ingest.measure(self.effects.counts)
        return self.effects.counts.of("rollup_quarantined", cluster=cluster)

    def counted(self, result: str) -> float:
        return self.effects.counts.of("rollups_total", result=result)

    def logged(self) -> list[str]:
        return [each.event for each in self.effects.taken() if isinstance(each, Log)]

    def woken(self) -> bool:
        return any(isinstance(each, WakeCycle) for each in self.effects.taken())
