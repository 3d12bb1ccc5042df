"""Sweeps: one what-if for each value of one or two axes, all about the same cycle."""

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import product

from bigfleet.engine.engine_input import EngineInput
from bigfleet.model.latencies import Latencies
from bigfleet.model.what_if import Overlay, Sweep, SweepAxis, SweepPoint
from bigfleet.whatif.questions import Questions, brief
from bigfleet.whatif.sweep_axes import Axis


def swept(
    given: EngineInput,
    overlay: Overlay,
    axes: Sequence[Axis],
    cycle: str,
    latencies: Latencies | None = None,
) -> Iterator[SweepPoint]:
    """The last axis moves fastest. With latencies every point settles. Raises BadInput."""
    yield from points_of(Questions(given, cycle, latencies), overlay, axes)


def points_of(questions: Questions, overlay: Overlay, axes: Sequence[Axis]) -> Iterator[SweepPoint]:
    """Raises BadInput."""
    for values in product(*(axis.values for axis in axes)):
        edits = tuple(axis.edit(value) for axis, value in zip(axes, values, strict=True))
        yield SweepPoint(values, questions.answer((*overlay, *edits)))


def sweep_until(
    questions: Questions,
    overlay: Overlay,
    axes: Sequence[Axis],
    seconds_left: Callable[[], float],
    told: Set[str] = frozenset(),
) -> Sweep:
    """As many points as the time is enough for; `told`: warnings of the overlay alone. Raises
    BadInput."""
    points, longest = list[SweepPoint](), 0.0
    left = seconds_left()
    for point in points_of(questions, overlay, axes):
        points.append(SweepPoint(point.values, brief(point.answer, told)))
        before, left = left, seconds_left()
        longest = max(longest, before - left)
        if longest > left:
            break
    return Sweep(tuple(SweepAxis(axis.name, axis.values) for axis in axes), tuple(points))
