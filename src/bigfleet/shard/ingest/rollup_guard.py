"""The empty-roll-up rail: a cluster that suddenly wants almost nothing is believed only after it
has said so several times, over some time. An operator that lost its cache looks just like that.

Almost nothing is less than a tenth of its rows, where it had ten or more; or, where five or more
machines are claimed for it, less than a tenth of every resource it asked for: few rows may stand
for many machines.

The baseline is the last accepted roll-up and does not move while one is held. A roll-up that is not
suspicious ends the hold at once.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.quantities import quantity_text
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup
from bigfleet.model.shard_views import Quarantine, QuarantineKind
from bigfleet.shard.settings import RailSettings

#: Claimed machines from which demand that nearly vanishes is held, however few its rows were: five
#: Nodes are more than a rolling restart of one workload gives back at once.
GUARDED_MACHINES = 5
#: Resources that a sentence names.
_MOST_NAMED = 3


@dataclass(slots=True)
class Hold:
    """Suspicious roll-ups in a row, and the newest of them."""

    baseline: int
    since: Instant
    newest: Rollup
    #: What was seen, as a sentence.
    what: str = ""
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
            what=self.what,
        )


@dataclass(frozen=True, slots=True)
class Accepted:
    """The roll-up in force."""

    digest: bytes
    rows: int
    #: Of all its rows together.
    resources: Resources


def accepted_of(rollup: Rollup) -> Accepted:
    return Accepted(rollup.digest, len(rollup.needs), resources_of(rollup))


def resources_of(rollup: Rollup) -> Resources:
    total: Counter[str] = Counter()
    for need in rollup.needs:
        for name, amount in need.aggregate.amounts:
            total[name] += amount
    return Resources.of(total)


def why_suspicious(
    rollup: Rollup, accepted: Accepted, claimed: Callable[[], int], rails: RailSettings
) -> str:
    """What a roll-up lost, as a sentence; empty: it may be believed at once."""
    if not rails.empty_rollup_guard:
        return ""
    rows = len(rollup.needs)
    said = f"{rows} rows after {accepted.rows}"
    if is_suspicious(rows, accepted.rows, rails):
        return said
    asked = resources_of(rollup)
    before = [(name, amount) for name, amount in accepted.resources.amounts if amount]
    fell = [asked[name] < rails.rollup_guard_fraction * amount for name, amount in before]
    if not before or not all(fell) or (machines := claimed()) < GUARDED_MACHINES:
        return ""
    lost = " and ".join(
        f"{quantity_text(name, asked[name])} of {quantity_text(name, amount)} {name}"
        for name, amount in before[:_MOST_NAMED]
    )
    return f"{said}, and {lost} for {machines} machines"


def is_suspicious(rows: int, baseline: int | None, rails: RailSettings) -> bool:
    """Whether a roll-up lost nearly everything; without a baseline nothing can be lost."""
    if not rails.empty_rollup_guard or baseline is None:
        return False
    return baseline >= rails.rollup_guard_min_rows and rows < rails.rollup_guard_fraction * baseline


def next_hold(
    hold: Hold | None, rollup: Rollup, baseline: int, rails: RailSettings, at: Instant, what: str
) -> Hold | None:
    """The hold with one more suspicious roll-up; None: said often and long enough, it is true."""
    if hold is None:
        return Hold(baseline, at, rollup, what)
    hold.consecutive += 1
    hold.newest, hold.what = rollup, what
    long_enough = at - hold.since >= round(rails.rollup_guard_min_hold * SECOND)
    if hold.consecutive >= rails.rollup_guard_confirmations and long_enough:
        return None
    return hold
