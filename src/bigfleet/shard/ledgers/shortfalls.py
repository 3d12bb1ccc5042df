"""Shortfalls: what even preemption could not cover, as the coordinator and the metrics are told.

The entries and their ages are the engine's memory; a cycle only hands its decision over here, and
rows, gauges and the warning are made when they are asked for.
"""

from collections import Counter
from collections.abc import Mapping
from heapq import nlargest

import numpy as np

from bigfleet.edge.counts import Counts
from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.model.coordination import ShortfallDetail
from bigfleet.model.machines import Instant
from bigfleet.model.memory import Shortfall
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.priority_classes import LEAST_OF_CLASS, PRIORITY_CLASSES, priority_class
from bigfleet.model.profiles import precedence_of_fingerprint
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShortfallRow
from bigfleet.shard.effects import Effects

_AGES = (("300+", 300), ("60-299", 60), ("10-59", 10), ("1-9", 1))
#: One warning within this time, and how many Needs it names.
_QUIET = 60 * SECOND
_NAMED = 3


def priority_of(fingerprint: str) -> int:
    precedence = precedence_of_fingerprint(fingerprint)
    return precedence[0] if precedence else 0


def class_numbers(priority: Int64s) -> Int64s:
    """Of each priority, the place of its class in PRIORITY_CLASSES."""
    below: Int64s = (priority[:, None] < np.array(LEAST_OF_CLASS)).sum(axis=1)
    return below


def age_bucket(age: int) -> str:
    return next((name for name, least in _AGES if age >= least), _AGES[-1][0])


class Shortfalls:
    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self._decision: Decision | None = None
        self._warned_at: Instant | None = None

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def _entries(self) -> Mapping[NeedKey, Shortfall]:
        decision = self._decision
        return decision.memory.shortfalls if decision is not None else {}

    def on_decision(self, decision: Decision, at: Instant) -> None:
        """The cycle ended; costs nothing unless a warning is due."""
        self._decision = decision
        self._effects.counts.set("shortfalls", len(self))
        if len(self) and (self._warned_at is None or at - self._warned_at >= _QUIET):
            self._warned_at = at
            self._warn()

    def rows(self, most: int) -> tuple[ShortfallRow, ...]:
        """For the report: one row per fingerprint over all clusters, with the highest age; by
        priority, then age, at most `most`."""
        deficits: dict[str, Counter[str]] = {}
        oldest: dict[str, tuple[int, str]] = {}
        for key, shortfall in self._entries.items():
            total = deficits.setdefault(key.fingerprint, Counter())
            for name, amount in shortfall.deficit.amounts:
                total[name] += amount
            known = oldest.get(key.fingerprint)
            if known is None or shortfall.age > known[0]:
                oldest[key.fingerprint] = (shortfall.age, key.cluster)
        order = sorted(oldest, key=lambda f: (-priority_of(f), -oldest[f][0], f))
        rows = (
            self._row(fingerprint, Resources.of(deficits[fingerprint]), *oldest[fingerprint])
            for fingerprint in order[:most]
        )
        return tuple(row for row in rows if row is not None)

    def details(self, most: int) -> tuple[ShortfallDetail, ...]:
        """For the sync: like `rows`, with all that another shard must know to help. What waits for
        victims only is not short of anything now."""
        if self._decision is None:
            return ()
        outcome = self._decision.outcome
        return tuple(
            ShortfallDetail(
                row.need.profile.fingerprint,
                row.need.profile.requirements,
                outcome.largest_unit(row.need.profile.fingerprint),
                row.deficit.positive(),
                row.need.profile.priority,
                row.age,
                row.need.profile.same is not None,
                row.need.profile.interruption_bucket,
            )
            for row in self.rows(most)
            if not row.deficit.is_zero()
        )

    def measure(self, counts: Counts) -> None:
        """Set the gauges of the metrics page; in any thread."""
        entries = self._entries
        class_of = {key.fingerprint: "" for key in entries}
        for fingerprint in class_of:
            class_of[fingerprint] = priority_class(priority_of(fingerprint))
        by_class = Counter(class_of[key.fingerprint] for key in entries)
        for name in PRIORITY_CLASSES:
            counts.set("shortfalls_by_priority", by_class[name], priority_class=name)
        by_age = Counter(age_bucket(shortfall.age) for shortfall in entries.values())
        for name, _ in _AGES:
            counts.set("shortfalls_aged", by_age[name], bucket=name)

    def _row(
        self, fingerprint: str, deficit: Resources, age: int, cluster: str
    ) -> ShortfallRow | None:
        assert self._decision is not None, "entries come from a decision"
        profiles = self._decision.outcome.scene.demand.tables.profiles
        profile = profiles.of_fingerprint(fingerprint)
        if profile is None:  # An entry kept from before a restart, of a Need that has not come yet.
            return None
        return ShortfallRow(Need(cluster, profile, deficit), deficit, age)

    def _warn(self) -> None:
        entries = self._entries
        oldest = nlargest(_NAMED, entries, key=lambda k: (entries[k].age, priority_of(k[1]), k))
        named = [
            f"{key.need_id} of {key.cluster} ({entries[key].age} cycles, short of"
            f" {_text(entries[key].deficit)})"
            for key in oldest
        ]
        self._effects.log(
            "warning",
            "shortfalls",
            f"{len(entries)} Needs are short and nothing lower is left to preempt; the oldest: "
            + "; ".join(named),
            count=len(entries),
            needs=[key.need_id for key in oldest],
        )


def _text(deficit: Resources) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in deficit.positive().texts().items())
