"""Which decisions those who watch have not been told yet: new ones, and ends of known ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.shard.decision_loop import REMEMBERED

#: Decisions in one piece of news; older ones are asked for.
MOST_TOLD = 1000
Ended = Mapping[tuple[int, str], ActionView]


class DecisionNews:
    def __init__(self) -> None:
        self._last = (0, -1)
        #: Started, and their end is not told yet, by cycle and machine; the oldest come first.
        self._open: dict[tuple[int, str], ActionView] = {}

    def take(self, decided: Sequence[ActionView], ended: Ended) -> tuple[ActionView, ...]:
        """`decided`: all that are remembered, newest last."""
        fresh: list[ActionView] = []
        for view in reversed(decided):
            if (view.cycle, view.index) <= self._last:
                break
            fresh.append(view)
        over = [key for key in self._open if key in ended]
        told = [with_end(self._open.pop(key), ended) for key in over]
        for view in reversed(fresh):
            told.append(with_end(view, ended))
            key = (view.cycle, view.machine)
            if view.disposition is Disposition.ENQUEUED and key not in ended:
                self._open[key] = view
        while len(self._open) > REMEMBERED:
            del self._open[next(iter(self._open))]
        if fresh:
            self._last = (fresh[0].cycle, fresh[0].index)
        return tuple(told[-MOST_TOLD:])


def decided_after(
    cycle: int, decided: Iterable[ActionView], ended: Ended
) -> tuple[ActionView, ...]:
    """For one who comes later and knows what was decided until then."""
    return tuple(with_end(view, ended) for view in decided if view.cycle > cycle)[-MOST_TOLD:]


def with_end(view: ActionView, ended: Ended) -> ActionView:
    known = ended.get((view.cycle, view.machine))
    return view if known is None else replace(view, outcome=known.outcome)
