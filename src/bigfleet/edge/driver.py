"""Real time and real chance, for processes; everything else gets them passed in."""

import asyncio
import random
import secrets
import socket
import time
from collections.abc import Callable

from bigfleet.edge.clock import Timer, sleep_on
from bigfleet.edge.profiler import Profiler
from bigfleet.model.machines import Instant


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


#: Seconds, for measuring only.
stopwatch = time.perf_counter
#: From 0 up to 1, of a generator of its own: the module's state is left alone.
draw = random.Random().random
#: For secrets.
random_bytes = secrets.token_bytes


def new_id() -> str:
    return secrets.token_hex(8)


def replica_name() -> str:
    """Tells the replicas of a process apart."""
    return f"{socket.gethostname()}-{secrets.token_hex(3)}"


def cpu_seconds() -> float:
    """Of this process so far, all its threads, user and system."""
    return time.process_time()


def real_profiler() -> Profiler:
    return Profiler(time.monotonic, time.sleep)
