"""The empty-roll-up rail: a cluster that suddenly wants almost nothing is believed only after it
has said so several times, over some time. An operator that lost its cache looks just like that.

The baseline is the last accepted roll-up and does not move while one is held. A roll-up that is not
suspicious ends the hold at once.
"""

from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.rollups import Rollup
from bigfleet.model.shard_views import Quarantine, QuarantineKind
from bigfleet.shard.settings import RailSettings


@dataclass(slots=True)
class Hold:
    """Suspicious roll-ups in a row, and the newest of them."""

    baseline: int
    since: Instant
    newest: Rollup
    consecutive: int = 1

    def view(self, cluster: str, rails: RailSettings) -> Quarantine:
        return Quarantine(
            kind=QuarantineKind.ROLLUP,
            subject=cluster,
            baseline=self.baseline,
            observed=len(self.newest.needs),
            consecutive=self.consecutive,
            required=rails.rollup_guard_confirmations,
            since=self.since,
            accepts_after=self.since + round(rails.rollup_guard_min_hold * SECOND),
        )


def is_suspicious(rows: int, baseline: int | None, rails: RailSettings) -> bool:
    """Whether a roll-up lost nearly everything; without a baseline nothing can be lost."""
    if not rails.empty_rollup_guard or baseline is None:
        return False
    return baseline >= rails.rollup_guard_min_rows and rows < rails.rollup_guard_fraction * baseline


def held_next(
    hold: Hold | None, rollup: Rollup, baseline: int, rails: RailSettings, at: Instant
) -> Hold | None:
    """The hold with one more suspicious roll-up; None: said often and long enough, it is true."""
    if hold is None:
        return Hold(baseline, at, rollup)
    hold.consecutive += 1
    hold.newest = rollup
    long_enough = at - hold.since >= round(rails.rollup_guard_min_hold * SECOND)
    if hold.consecutive >= rails.rollup_guard_confirmations and long_enough:
        return None
    return hold
