"""The real clock and real chance, for processes; everything else gets them passed in."""

import asyncio
import random
import secrets
import time
from collections.abc import Callable

from bigfleet.model.machines import Instant
from bigfleet.provider.clock import Timer, sleep_on


class RealClock:
    """Wall time that never runs backwards: read once, then counted by the monotonic clock."""

    def __init__(self) -> None:
        self._origin = time.time_ns() - time.monotonic_ns()

    def now(self) -> Instant:
        return self._origin + time.monotonic_ns()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        await sleep_on(self, seconds)


def fresh_incarnation() -> str:
    return secrets.token_hex(6)


def fresh_chance() -> random.Random:
    return random.Random(secrets.randbits(64))
