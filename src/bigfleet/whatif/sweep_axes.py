"""Axes of a sweep, as people write them, at most two:

    demand.ml=1.0:2.0:0.1               the demand of a cluster, times 1.0, 1.1 and so on to 2.0
    demand.priority>=1000=1:3:0.5       of these Needs; without a selector, of all
    price.Spot=1:3:0.5                  the price of a capacity type, or of any selector
    probability.zone=a=0:4:1            the probability of interruption
    option.drainSeconds=10:60:10        an option of the engine

A value is one more edit after those of the overlay.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import CapacityType
from bigfleet.model.what_if import Edit, SweepAxis
from bigfleet.whatif.overlay_text import edit_of

MOST_AXES = 2
MOST_POINTS = 400
#: Values of one axis that may be thinned out; more is a slip of the keyboard.
_MOST_READ = 1_000_000
KINDS = ("demand", "price", "probability", "option")
_FORM = "write AXIS=FROM:TO:STEP, such as demand.ml=1.0:2.0:0.1"
_CAPACITIES = {kind.label.lower(): kind.label for kind in CapacityType if kind}


@dataclass(frozen=True, slots=True)
class Axis(SweepAxis):
    def edit(self, value: float) -> Edit:
        """Raises BadInput."""
        kind, _, what = self.name.partition(".")
        if kind == "option":
            return edit_of(kind, f"{what}={value:g}")
        return edit_of(kind, f"{_selector(kind, what)} x{value!r}".strip())


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


def widened(texts: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Axes with steps so large that all points may be asked for, and whether any was changed.

    What cannot be read stays as it is: `axes_of` says what is wrong with it.
    """
    spans = [_span(text) for text in texts[:MOST_AXES]]
    counts = [1 if span is None else span.count for span in spans]
    factors = [1] * len(spans)
    while _product(counts, factors) > MOST_POINTS:
        # The axis with most values loses first.
        most = max(range(len(counts)), key=lambda place: -(-counts[place] // factors[place]))
        factors[most] = max(factors[most] + 1, counts[most] // MOST_POINTS)
    wide = [
        text if span is None or factor == 1 else span.text(factor)
        for text, span, factor in zip(texts, spans, factors, strict=False)
    ]
    return (*wide, *texts[MOST_AXES:]), max(factors, default=1) > 1


def _product(counts: Sequence[int], factors: Sequence[int]) -> int:
    points = 1
    for count, factor in zip(counts, factors, strict=True):
        points *= -(-count // factor)
    return points


@dataclass(frozen=True, slots=True)
class _Span:
    name: str
    first: Decimal
    last: Decimal
    step: Decimal

    @property
    def count(self) -> int:
        return int((self.last - self.first) / self.step) + 1

    def text(self, factor: int) -> str:
        return f"{self.name}={self.first}:{self.last}:{self.step * factor}"


def _span(text: str) -> _Span | None:
    """None: it cannot be read."""
    name, _, values = text.strip().rpartition("=")
    try:
        first, last, step = (Decimal(part) for part in values.split(":"))
        fits = step > 0 and 0 <= (last - first) / step < _MOST_READ
    except (ArithmeticError, ValueError):
        return None
    return _Span(name, first, last, step) if name and fits else None


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
