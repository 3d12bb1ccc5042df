"""Sweeps: one what-if for each value of one or two axes, all about the same cycle.

    demand.ml=1.0:2.0:0.1               the demand of a cluster, times 1.0, 1.1 and so on to 2.0
    demand.priority>=1000=1:3:0.5       of these Needs; without a selector, of all
    price.Spot=1:3:0.5                  the price of a capacity type, or of any selector
    probability.zone=a=0:4:1            the probability of interruption
    option.drainSeconds=10:60:10        an option of the engine

A value is one more edit after those of the overlay.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from itertools import product

from bigfleet.engine.engine_input import EngineInput
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.latencies import Latencies
from bigfleet.model.machines import CapacityType
from bigfleet.model.what_if import Edit, Overlay, WhatIfAnswer
from bigfleet.whatif.applying import applied
from bigfleet.whatif.comparing import DecidedSide, compared
from bigfleet.whatif.overlay_text import edit_of
from bigfleet.whatif.settled import at_rest, settled_answer

MOST_AXES = 2
MOST_POINTS = 400
KINDS = ("demand", "price", "probability", "option")
_FORM = "write AXIS=FROM:TO:STEP, such as demand.ml=1.0:2.0:0.1"
_CAPACITIES = {kind.label.lower(): kind.label for kind in CapacityType if kind}


@dataclass(frozen=True, slots=True)
class Axis:
    #: As it is written before the values.
    name: str
    #: Ascending.
    values: tuple[float, ...]

    def edit(self, value: float) -> Edit:
        """Raises BadInput."""
        kind, _, what = self.name.partition(".")
        if kind == "option":
            return edit_of(kind, f"{what}={value:g}")
        return edit_of(kind, f"{_selector(kind, what)} x{value!r}".strip())


@dataclass(frozen=True, slots=True)
class SweepPoint:
    #: One for each axis.
    values: tuple[float, ...]
    answer: WhatIfAnswer


def axes_of(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Raises BadInput with every problem."""
    axes, problems = list[Axis](), list[Problem]()
    for text in texts:
        try:
            axes.append(_axis(text))
        except BadInput as problem:
            problems += [Problem(text, p.text) for p in problem.problems]
        except ValueError as problem:
            problems.append(Problem(text, str(problem)))
    names = [axis.name for axis in axes]
    if len(texts) > MOST_AXES:
        problems.append(Problem("sweep", f"{len(texts)} axes; {MOST_AXES} are the most"))
    elif len(set(names)) < len(names):
        problems.append(Problem("sweep", f"{names[0]} is given twice; leave one out"))
    elif (points := point_count(axes)) > MOST_POINTS:
        text = f"{points:,} points; {MOST_POINTS} are the most: write a larger step"
        problems.append(Problem("sweep", text))
    if problems:
        raise BadInput(problems)
    return tuple(axes)


def point_count(axes: Sequence[Axis]) -> int:
    count = 1
    for axis in axes:
        count *= len(axis.values)
    return count


def swept(
    given: EngineInput,
    overlay: Overlay,
    axes: Sequence[Axis],
    cycle: str,
    latencies: Latencies | None = None,
) -> Iterator[SweepPoint]:
    """The last axis moves fastest. With latencies every point settles. Raises BadInput."""
    answer = _answers(given, cycle, latencies)
    for values in product(*(axis.values for axis in axes)):
        edits = tuple(axis.edit(value) for axis, value in zip(axes, values, strict=True))
        yield SweepPoint(values, answer((*overlay, *edits)))


def _answers(
    given: EngineInput, cycle: str, latencies: Latencies | None
) -> Callable[[Overlay], WhatIfAnswer]:
    """The input as it is, is decided once for all of them."""
    if latencies is None:
        base = DecidedSide(given, given.decide())

        def once(overlay: Overlay) -> WhatIfAnswer:
            edited = applied(given, overlay)
            changed = DecidedSide(edited.given, edited.given.decide())
            return compared(base, changed, edited, overlay, cycle)

        return once
    resting = at_rest(given, latencies)
    return lambda overlay: settled_answer(
        resting, applied(given, overlay), overlay, cycle, latencies
    )


def _axis(text: str) -> Axis:
    name, equals, values = text.strip().rpartition("=")
    if not equals or not name:
        raise ValueError(_FORM)
    kind, dot, what = name.partition(".")
    if kind not in KINDS:
        close = get_close_matches(kind, KINDS, n=1)
        instead = f"did you mean {close[0]}?" if close else f"there are {', '.join(KINDS)}"
        raise ValueError(f"{kind} cannot be swept; {instead}")
    if (dot or kind == "option") and not what:
        raise ValueError(f"{name} does not say of what; {_FORM}")
    axis = Axis(name, _values(values))
    for value in (axis.values[0], axis.values[-1]):
        axis.edit(value)
    return axis


def _values(text: str) -> tuple[float, ...]:
    parts = text.split(":")
    try:
        first, last, step = (Decimal(part) for part in parts)
    except (InvalidOperation, ValueError):
        raise ValueError(f"{text!r} is not FROM:TO:STEP; {_FORM}") from None
    if not (first.is_finite() and last.is_finite() and step.is_finite()):
        raise ValueError(f"{text!r}: write finite numbers")
    if step <= 0 or last < first:
        raise ValueError(f"{text!r}: the step is above 0, and TO is not below FROM")
    count = (last - first) / step
    if count >= MOST_POINTS:
        raise ValueError(f"{text!r} is more than {MOST_POINTS} points: write a larger step")
    return tuple(float(first + step * n) for n in range(int(count) + 1))


def _selector(kind: str, what: str) -> str:
    """A bare word is what is meant most: a cluster, or a capacity type."""
    if not what or any(sign in what for sign in "=<>/ "):
        return what
    if kind == "demand":
        return f"cluster={what}"
    if what.lower() in _CAPACITIES:
        return f"capacity={_CAPACITIES[what.lower()]}"
    there = ", ".join(_CAPACITIES.values())
    raise BadInput(
        [Problem(what, f"neither a capacity type ({there}) nor a selector such as zone=a")]
    )
