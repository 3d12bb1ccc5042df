"""The suite's hold on the real world: the clock every other module is handed."""

import asyncio
import time


class SystemClock:
    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> int:
        return time.time_ns()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
