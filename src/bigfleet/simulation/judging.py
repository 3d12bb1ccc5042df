"""Whether the assertions of a scenario hold: looked at once a second, and at the end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bigfleet.simulation.expressions import Filters
from bigfleet.simulation.figures import Figures
from bigfleet.simulation.scenario import Assertion


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    text: str
    holds: bool
    #: When it failed; None: it holds.
    seconds: float | None = None
    #: The values at that time, or at the end.
    values: Mapping[str, float] = field(default_factory=dict)
    why: str = ""
    #: The decisions before it failed, oldest first.
    decisions: tuple[str, ...] = ()


@dataclass(slots=True)
class _State:
    failed: Result | None = None
    #: of `within`: the counts that still run, and how many were met.
    running: list[float] = field(default_factory=list)
    met: int = 0
    asked: bool = False


class Judge:
    def __init__(
        self, assertions: tuple[Assertion, ...], figures: Figures, decisions: Iterable[str]
    ) -> None:
        """`decisions`: the last ones, as they are at any moment."""
        self._assertions = assertions
        self._figures = figures
        self._decisions = decisions
        self._states = [_State() for _ in assertions]
        #: When each event happened last.
        self._happened: dict[str, float] = {}
        for each, state in zip(assertions, self._states, strict=True):
            if each.kind == "within" and not each.event:
                state.running.append(0.0)

    def happened(self, event: str, seconds: float) -> None:
        self._happened[event] = seconds
        for each, state in zip(self._assertions, self._states, strict=True):
            if each.kind == "within" and each.event == event:
                state.running.append(seconds)

    def look(self, seconds: float) -> None:
        for each, state in zip(self._assertions, self._states, strict=True):
            if state.failed is None and not self._is_excepted(each, seconds):
                self._look(each, state, seconds)

    def results(self, seconds: float) -> tuple[Result, ...]:
        found = []
        for each, state in zip(self._assertions, self._states, strict=True):
            if each.kind == "final" and state.failed is None:
                self._expect(each, state, seconds)
            why = ""
            if each.kind == "within" and not state.met and not state.running:
                why = f"the event {each.event} never happened"
            elif each.kind == "at" and not state.asked:
                why = "its time is after the end"
            elif state.running and state.failed is None:
                why = "its time was not over at the end, and it did not hold by then"
            if why:
                state.failed = self._result(each, seconds, why)
            found.append(state.failed or self._held(each, seconds))
        return tuple(found)

    # -- within ----------------------------------------------------------------------------------

    def _is_excepted(self, each: Assertion, seconds: float) -> bool:
        after = self._happened.get(each.except_event) if each.except_event else None
        return after is not None and seconds <= after + each.except_seconds

    def _look(self, each: Assertion, state: _State, seconds: float) -> None:
        match each.kind:
            case "always":
                self._expect(each, state, seconds)
            case "never":
                if self._holds(each):
                    state.failed = self._result(each, seconds, "it held")
            case "at":
                if not state.asked and seconds >= each.seconds:
                    state.asked = True
                    self._expect(each, state, seconds)
            case "within":
                if not state.running:
                    return
                if self._holds(each):
                    state.met += len(state.running)
                    state.running.clear()
                elif seconds > state.running[0] + each.seconds:
                    began = f"{each.event or 'the start'} at {state.running[0]:g} s"
                    why = f"not within {each.seconds:g} s of {began}"
                    state.failed = self._result(each, seconds, why)

    def _expect(self, each: Assertion, state: _State, seconds: float) -> None:
        if not self._holds(each):
            state.failed = self._result(each, seconds, "it did not hold")

    def _holds(self, each: Assertion) -> bool:
        return each.expression.holds(self._ask)

    def _ask(self, name: str, filters: Filters) -> float:
        return self._figures.ask(name, filters)

    def _values(self, each: Assertion) -> dict[str, float]:
        names = each.expression.names()
        return {str(name): self._figures.ask(name.name, name.filters) for name in names}

    def _result(self, each: Assertion, seconds: float, why: str) -> Result:
        told = tuple(self._decisions)
        return Result(
            each.name, each.expression.text, False, seconds, self._values(each), why, told
        )

    def _held(self, each: Assertion, seconds: float) -> Result:
        return Result(each.name, each.expression.text, True, None, self._values(each))
