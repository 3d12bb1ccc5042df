"""When an absent machine counts as gone, and when a describe is not believed at all.

A machine is gone after so many complete describes in a row without it, spanning at least so long. A
describe that would lose a large part at once is more likely wrong than true: it is quarantined and
judged only when the same loss has been seen five times, or when an operator accepts it. An empty
describe after a full one is always such.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bigfleet.edge.clock import SECOND
from bigfleet.model.machines import Instant

LOSS_SHARE, LOSS_COUNT = 0.10, 5
EQUAL_DESCRIBES = 5


@dataclass(frozen=True, slots=True)
class Miss:
    describes: int
    since: Instant


@dataclass(frozen=True, slots=True)
class Rule:
    threshold: int = 3
    span_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Absences:
    """What was missing in the describes so far."""

    misses: Mapping[str, Miss] = field(default_factory=dict)
    #: The loss that is not believed yet, and how often it was seen; None: nothing is doubted.
    doubted: frozenset[str] | None = None
    seen: int = 0

    @property
    def quarantined(self) -> bool:
        return self.doubted is not None


@dataclass(frozen=True, slots=True)
class Judgement:
    absences: Absences
    gone: frozenset[str]


def judged(
    before: Absences,
    absent: frozenset[str],
    present: int,
    now: Instant,
    rule: Rule,
    *,
    accepted: bool = False,
) -> Judgement:
    """`absent` are known machines the describe does not show, `present` how many it does show."""
    after = _missed(before, absent, now)
    if not accepted and _too_many(len(absent), present):
        seen = before.seen + 1 if before.doubted == absent else 1
        if seen < EQUAL_DESCRIBES:
            return Judgement(replace(after, doubted=absent, seen=seen), frozenset())
    gone = frozenset(
        machine_id
        for machine_id, miss in after.misses.items()
        if miss.describes >= rule.threshold and now - miss.since >= rule.span_seconds * SECOND
    )
    kept = {machine_id: miss for machine_id, miss in after.misses.items() if machine_id not in gone}
    return Judgement(Absences(kept), gone)


def _missed(before: Absences, absent: frozenset[str], now: Instant) -> Absences:
    misses = {}
    for machine_id in absent:
        miss = before.misses.get(machine_id) or Miss(0, now)
        misses[machine_id] = replace(miss, describes=miss.describes + 1)
    return replace(before, misses=misses)


def _too_many(absent: int, present: int) -> bool:
    if absent and not present:
        return True
    return absent > LOSS_COUNT and absent > LOSS_SHARE * (absent + present)
