"""An ingest over an empty needs table, and roll-ups of so many rows."""

from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup, RollupRefused
from bigfleet.shard.effects import Effects
from bigfleet.shard.ingest.ingest import Ingest
from bigfleet.shard.instructions import Log, WakeCycle
from bigfleet.shard.settings import RailSettings

START: Instant = 1_700_000_000 * SECOND


def rollup(rows: int, cluster: str = "shop", *, digest: str | None = None) -> Rollup:
    """Rows of different priority; equal counts say the same unless given another digest."""
    needs = tuple(
        Need(cluster, Profile.of(priority=row), Resources.parse({"cpu": "1"}), Resources(), START)
        for row in range(rows)
    )
    return Rollup(cluster, START, needs, (digest or f"{cluster}:{rows}").encode())


class Rig:
    def __init__(self, rails: RailSettings | None = None) -> None:
        self.effects = Effects()
        self.needs = NeedsTable()
        self.ingest = Ingest(self.effects, rails or RailSettings(), self.needs)

    def report(self, rows: int, after: float = 0, cluster: str = "shop") -> bool:
        return self.give(rollup(rows, cluster), after, cluster)

    def give(self, given: Rollup | RollupRefused, after: float = 0, cluster: str = "shop") -> bool:
        return self.ingest.on_rollup(cluster, given, START + round(after * SECOND))

    def released(self, *, accept: bool, cluster: str = "shop") -> str:
        return self.ingest.release(cluster, accept, START)

    def rows(self) -> int:
        return len(self.needs)

    def held(self, cluster: str = "shop") -> float:
        self.ingest.measure(self.effects.counts, lambda cluster: True)
        return self.effects.counts.of("rollup_quarantined", cluster=cluster)

    def counted(self, result: str) -> float:
        return self.effects.counts.of("rollups_total", result=result)

    def logged(self) -> list[str]:
        return [each.event for each in self.effects.taken() if isinstance(each, Log)]

    def woken(self) -> bool:
        return any(isinstance(each, WakeCycle) for each in self.effects.taken())
