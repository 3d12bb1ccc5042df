"""Figures of all shards as one: counts added up, and rates between two answers of a shard."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bigfleet.model.figures import CostAxis, ShardFigures, quantile
from bigfleet.model.machines import MachineState
from bigfleet.web.fleet import Answers, Fleet

#: What a headline needs: a few rows only.
HEADLINE = (CostAxis.CAPACITY,)
P50, P99 = 0.50, 0.99


async def figures(
    fleet: Fleet, axes: tuple[CostAxis, ...] = HEADLINE, only: str = ""
) -> Answers[ShardFigures]:
    return await fleet.ask(lambda shard: shard.figures(axes=axes), only)


def count_of_state(told: Iterable[ShardFigures]) -> dict[str, int]:
    """By label, in the order of a machine's life; only states that machines are in."""
    found: Counter[MachineState] = Counter()
    for each in told:
        for sort in each.sorts:
            found[sort.state] += sort.machines
    return {state.label: found[state] for state in MachineState if found[state]}


def count_of_capacity(
    told: Iterable[ShardFigures], state: MachineState | None = None
) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in told:
        for sort in each.sorts:
            if state in (None, sort.state):
                found[sort.capacity_type.label] += sort.machines
    return dict(found)


def seconds_of_cycle(told: ShardFigures, share: float, phase: str = "") -> float | None:
    """Since the shard started; None: no cycle has ended."""
    for each in told.durations:
        if each.phase == phase:
            return quantile(told.edges, each.counts, share)
    return None


def slowest(told: Iterable[ShardFigures], share: float) -> float | None:
    """Of the slowest shard."""
    known = [each for one in told if (each := seconds_of_cycle(one, share)) is not None]
    return max(known, default=None)


@dataclass(frozen=True, slots=True)
class Rates:
    """Per second."""

    actions: Mapping[str, float]
    committed: float
    conflicting: float


def rates_between(before: ShardFigures, after: ShardFigures, seconds: float) -> Rates:
    """A shard that started anew in between has counted from 0."""
    anew = before.epoch != after.epoch

    def rate(then: int, now: int) -> float:
        return max(0, now - (0 if anew else then)) / seconds if seconds > 0 else 0.0

    return Rates(
        {kind: rate(before.actions.get(kind, 0), now) for kind, now in after.actions.items()},
        rate(before.proposals_committed, after.proposals_committed),
        rate(before.proposals_conflicting, after.proposals_conflicting),
    )


class RateMeter:
    """Rates of each shard between two looks at it, at least `GAP_SECONDS` apart.

    The first look at a shard has none: what a shard counted before is not known to be of now.
    """

    GAP_SECONDS = 5.0
    #: A look that is older says nothing of now.
    OLDEST_SECONDS = 300.0

    def __init__(self) -> None:
        #: The last two looks of each shard, as (seconds, figures).
        self._looks: dict[str, list[tuple[float, ShardFigures]]] = {}

    def look(self, told: ShardFigures, at: float) -> Rates | None:
        """None: a second look is needed."""
        looks = [
            look
            for look in self._looks.get(told.shard_id, [])
            if at - look[0] < self.OLDEST_SECONDS
        ]
        if not looks or at - looks[-1][0] >= self.GAP_SECONDS:
            looks = [*looks[-1:], (at, told)]
        self._looks[told.shard_id] = looks
        began, before = looks[0]
        return rates_between(before, told, at - began) if at > began else None
