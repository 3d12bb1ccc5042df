"""How long machines take to be created, configured, drained and deleted, where nothing measures it.

Named by their step, `create`, or by step and capacity type, `create.Spot`; the narrower one wins.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from bigfleet.model.durations import seconds_of, short_text
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import CapacityType

STEPS = ("create", "configure", "drain", "delete")
#: Medians of the simulated provider; a Node is ready 15 to 40 s after its machine is configured,
#: and metal is imaged, not launched.
ASSUMED: Mapping[str, float] = {
    "create": 30.0,
    "configure": 5.0 + 27.5,
    "configure.BareMetal": 120.0 + 27.5,
    "drain": 10.5,
    "delete": 5.0,
}
LONGEST_SECONDS = 86_400.0
MOST_LATENCIES = 32
_CAPACITIES = {kind.label.lower(): kind for kind in CapacityType if kind}


@dataclass(frozen=True, slots=True)
class Latencies:
    #: By name; what is not named here is assumed.
    given: Mapping[str, float] = field(default_factory=dict)
    #: Of those that were measured: how many machines took the step.
    samples: Mapping[str, int] = field(default_factory=dict)

    def seconds(self, step: str, kind: CapacityType) -> float:
        """A given step holds for every capacity type that is not named itself."""
        narrow = f"{step}.{kind.label}"
        for known in (self.given, ASSUMED):
            for name in (narrow, step):
                if name in known:
                    return known[name]
        raise KeyError(step)

    @property
    def assumed(self) -> dict[str, float]:
        """Those that nothing given replaces."""
        return {
            name: seconds
            for name, seconds in ASSUMED.items()
            if name not in self.given and name.partition(".")[0] not in self.given
        }

    def unless(self, said: "Latencies") -> "Latencies":
        """These, but for what a person said of the same step."""
        kept = {
            name: seconds
            for name, seconds in self.given.items()
            if name not in said.given and name.partition(".")[0] not in said.given
        }
        samples = {name: count for name, count in self.samples.items() if name in kept}
        return Latencies({**kept, **said.given}, samples)

    @property
    def said_texts(self) -> dict[str, str]:
        """Those that were not measured."""
        return {name: text for name, text in self.texts.items() if name not in self.samples}

    @property
    def measured_texts(self) -> dict[str, str]:
        """With how many machines took the step: `40s (n=12)`."""
        texts = self.texts
        return {name: f"{texts[name]} (n={count})" for name, count in sorted(self.samples.items())}

    @property
    def texts(self) -> dict[str, str]:
        """As they are written."""
        return {name: short_text(seconds) for name, seconds in sorted(self.given.items())}


def latencies_of(said: Mapping[str, str]) -> Latencies:
    """Raises BadInput with every problem."""
    if len(said) > MOST_LATENCIES:
        raise BadInput([Problem("latency", f"at most {MOST_LATENCIES}; there are {len(said)}")])
    given, problems = dict[str, float](), list[Problem]()
    for name, text in said.items():
        try:
            given[_name(name)] = _seconds(text)
        except ValueError as problem:
            problems.append(Problem(f"latency {name}={text}", str(problem)))
    if problems:
        raise BadInput(problems)
    return Latencies(given)


def _name(said: str) -> str:
    step, dot, capacity = said.partition(".")
    if step not in STEPS:
        close = get_close_matches(step, STEPS, n=1)
        instead = f"did you mean {close[0]}?" if close else f"there are {', '.join(STEPS)}"
        raise ValueError(f"no such step; {instead}")
    if not dot:
        return step
    kind = _CAPACITIES.get(capacity.lower().replace("-", "").replace("_", ""))
    if kind is None:
        there = ", ".join(each.label for each in _CAPACITIES.values())
        raise ValueError(f"no such capacity type; there are {there}")
    return f"{step}.{kind.label}"


def _seconds(text: str) -> float:
    seconds = seconds_of(text)
    if seconds is None:
        raise ValueError("not a duration; write 500ms, 40s or 2m")
    if seconds > LONGEST_SECONDS:
        raise ValueError(f"at most {short_text(LONGEST_SECONDS)}")
    # Whole milliseconds, so that its text reads back as the same length.
    return round(seconds, 3)
