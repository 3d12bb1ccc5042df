"""A lane per kind: so many operations run at once, the rest wait in order.

Lanes are separate, so that a burst of one kind cannot starve another.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from bigfleet.edge.clock import Clock


class Lane:
    def __init__(self, places: int, clock: Clock) -> None:
        self._free = places
        self._clock = clock
        self._waiting: deque[asyncio.Future[bool]] = deque()

    def try_enter(self) -> bool:
        """Takes a place if one is free; then no call waits, for `leave` hands places over."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    async def enter(self, seconds: float) -> bool:
        """Waits for a place; False once the patience is over."""
        if self.try_enter():
            return True
        place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(seconds, _resolver(place, False))
        self._waiting.append(place)
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.result():
                self.leave()
            raise
        finally:
            timer.cancel()

    def leave(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(True)
                return
        self._free += 1


def _resolver(place: asyncio.Future[bool], value: bool) -> Callable[[], None]:
    def resolve() -> None:
        if not place.done():
            place.set_result(value)

    return resolve
