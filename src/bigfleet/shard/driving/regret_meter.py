"""Measures a shard's regret at every interval, off the cycle's path, and keeps the last one."""

from importlib.util import find_spec

from bigfleet.model.provider_calls import Rejected
from bigfleet.model.regret import HOW_TO_ENABLE, Regret, skipped
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.driving.what_ifs import WhatIfs
from bigfleet.shard.state import ShardState

#: The first measurement comes after this part of the interval.
_FIRST = 0.25
#: How often a meter that is turned off looks at its settings.
_OFF_SECONDS = 10.0


class RegretMeter:
    def __init__(self, state: ShardState, outlet: Outlet, what_ifs: WhatIfs) -> None:
        self._state = state
        self._outlet = outlet
        self._what_ifs = what_ifs
        self._last: Regret | None = None

    def latest(self) -> Regret:
        """The last measurement, or why there is none."""
        interval = self._state.settings.regret_interval
        if not interval:
            return skipped("the regret meter is turned off: regret-interval is 0")
        if not has_solver():
            return skipped(HOW_TO_ENABLE)
        if self._last is None:
            return skipped(
                f"not measured yet: the first measurement comes {_FIRST * interval:g} s after the "
                f"start of the shard, or {interval:g} s later if no cycle has been decided by then"
            )
        return self._last

    async def run(self) -> None:
        """One measurement after the other, never two at once."""
        wait = _FIRST * self._state.settings.regret_interval
        while True:
            await self._outlet.clock.sleep(wait or _OFF_SECONDS)
            interval = self._state.settings.regret_interval
            if not interval:
                self._forget()
            elif wait and has_solver():
                await self.measure()
            wait = interval

    async def measure(self) -> None:
        finished = self._state.decision_loop.finished
        if finished is None:
            return
        try:
            self._last = await self._what_ifs.regret(finished)
        except Rejected as problem:
            self._last = skipped(problem.text, finished.given.cycle, finished.given.at)
        self._show(self._last)

    def _forget(self) -> None:
        """A meter that is turned off shows nothing, also not what it measured before."""
        if self._last is not None:
            self._last = None
            self._show(None)

    def _show(self, found: Regret | None) -> None:
        """A gauge of what is not known is absent."""
        counts = self._state.effects.counts
        counts.clear("regret_dollars_per_hour")
        counts.clear("regret_ratio")
        if found is not None and found.is_measured:
            counts.set("regret_dollars_per_hour", found.gap_per_hour)
            counts.set("regret_ratio", found.ratio)


def has_solver() -> bool:
    try:
        return find_spec("highspy") is not None
    except ValueError:
        return False
