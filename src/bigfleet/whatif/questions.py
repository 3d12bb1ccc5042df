"""Several what-ifs about one cycle: its input as it is, is decided once for all of them."""

from collections.abc import Set
from dataclasses import replace

from bigfleet.engine.engine_input import EngineInput
from bigfleet.model.latencies import Latencies
from bigfleet.model.what_if import Overlay, WhatIfAnswer
from bigfleet.whatif.applying import applied
from bigfleet.whatif.comparing import DecidedSide, compared
from bigfleet.whatif.fates import fates_of
from bigfleet.whatif.settled import RestingSide, at_rest, settled_answer


class Questions:
    def __init__(self, given: EngineInput, cycle: str, latencies: Latencies | None = None) -> None:
        """With latencies both sides go on until nothing happens any more."""
        self._given = given
        self._cycle = cycle
        self._latencies = latencies
        self._base = self._side(given)

    def answer(self, overlay: Overlay, *, with_machines: bool = False) -> WhatIfAnswer:
        """Raises BadInput for an overlay that cannot be applied."""
        edited, base = applied(self._given, overlay), self._base
        changed = self._side(edited.given) if overlay else base
        if isinstance(base, RestingSide) and isinstance(changed, RestingSide):
            told = settled_answer(base, changed, edited, overlay, self._cycle)
        else:
            told = compared(base, changed, edited, overlay, self._cycle)
        if not with_machines:
            return told
        return replace(told, fates=fates_of(_first(base), _first(changed)))

    def _side(self, given: EngineInput) -> DecidedSide:
        if self._latencies is None:
            return DecidedSide(given, given.decide())
        return at_rest(given, self._latencies)


def _first(side: DecidedSide) -> DecidedSide:
    """Later cycles act on machines that are not the recorded ones any more."""
    return side.first if isinstance(side, RestingSide) else side


def brief(answer: WhatIfAnswer, told: Set[str]) -> WhatIfAnswer:
    """Its sums, without rows: one of hundreds. `told`: warnings that are told once for all."""
    return replace(
        answer,
        clusters=(),
        newly_unmet=(),
        newly_met=(),
        moved=(),
        added=(),
        settling=None,
        warnings=tuple(text for text in answer.warnings if text not in told),
    )
