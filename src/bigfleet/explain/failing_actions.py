"""Actions that keep failing, by the Need they were for.

A success ends the count, so a Need that gets its machines with a failure now and then never has
one. It is forgotten when the Need is gone or nothing has failed for a while.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import ActionView

#: How long the last one counts.
REMEMBERED = 600 * SECOND


@dataclass(frozen=True, slots=True)
class FailingNeed:
    """Of one Need, in a row."""

    failures: int
    since: Instant
    last_at: Instant
    machine: str
    kind: str
    #: The outcome, and the provider's or the operator's own words.
    outcome: str
    text: str = ""


class FailingActions:
    def __init__(self) -> None:
        self._of_need: dict[NeedKey, FailingNeed] = {}

    def __len__(self) -> int:
        return len(self._of_need)

    def failed(self, view: ActionView, outcome: str, text: str, at: Instant) -> None:
        if view.need is None:
            return
        known = self._of_need.get(view.need)
        fresh = FailingNeed(1, at, at, view.machine, view.kind.label, outcome, text)
        if known is not None and at - known.last_at < REMEMBERED:
            fresh = replace(fresh, failures=known.failures + 1, since=known.since)
        self._of_need[view.need] = fresh

    def succeeded(self, view: ActionView) -> None:
        if view.need is not None:
            self._of_need.pop(view.need, None)

    def lately(self, at: Instant) -> dict[NeedKey, FailingNeed]:
        """Needs whose last action failed."""
        return {k: each for k, each in self._of_need.items() if at - each.last_at < REMEMBERED}

    def keys(self) -> Iterable[NeedKey]:
        return self._of_need.keys()

    def forget(self, gone: Iterable[NeedKey], at: Instant) -> None:
        """These Needs are gone; so is what failed long ago."""
        for key in gone:
            self._of_need.pop(key, None)
        for key, each in list(self._of_need.items()):
            if at - each.last_at >= REMEMBERED:
                del self._of_need[key]
