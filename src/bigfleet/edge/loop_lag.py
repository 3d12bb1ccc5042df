"""How late a process's event loop is: a timer that should have come by now."""

from collections.abc import Callable

from bigfleet.edge.clock import Clock

LAG_SECONDS = 0.1


class LoopLag:
    def __init__(
        self,
        clock: Clock,
        stopwatch: Callable[[], float],
        observe: Callable[[float], None] = lambda late: None,
    ) -> None:
        """`stopwatch` in seconds; it runs on while the loop hangs. `observe` is told every lag."""
        self._clock = clock
        self._stopwatch = stopwatch
        self._observe = observe
        self._seen_at = stopwatch()

    async def run(self) -> None:
        while True:
            before = self._stopwatch()
            await self._clock.sleep(LAG_SECONDS)
            self._seen_at = self._stopwatch()
            self._observe(max(0.0, self._seen_at - before - LAG_SECONDS))

    @property
    def seconds(self) -> float:
        """0 while the loop is in time."""
        return max(0.0, self._stopwatch() - self._seen_at - LAG_SECONDS)
