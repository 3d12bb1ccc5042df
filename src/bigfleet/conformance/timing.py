"""How long calls take, measured so that a machine busy with other work is not held against them.

What is really slow is slow every time; what a busy machine adds comes and goes. So a time counts
against a provider only if several measurements agree, and one good measurement settles it.
"""

from collections.abc import Awaitable, Callable

from bigfleet.conformance.pace import Clock

#: Measured again so often before a time counts against the provider.
TRIES = 5

Call = Callable[[], Awaitable[object]]


async def timed(clock: Clock, count: int, call: Call, enough_seconds: float = 0.0) -> list[float]:
    """Seconds of each of `count` calls, quickest first; three will do if they take long."""
    began_all = clock.now()
    times: list[float] = []
    for _ in range(count):
        began = clock.now()
        await call()
        times.append(clock.now() - began)
        if enough_seconds and len(times) >= 3 and clock.now() - began_all > enough_seconds:
            break
    return sorted(times)


def p99_of(times: list[float]) -> float:
    return times[max(0, -(-len(times) * 99 // 100) - 1)]


async def best_p99(measure: Callable[[], Awaitable[list[float]]], enough: float = 0.0) -> float:
    """The least p99 of several measurements, the first that is `enough` being the last."""
    best = float("inf")
    for _ in range(TRIES):
        times = await measure()
        best = min(best, p99_of(times))
        # Also when even the quickest call was too slow: no busy machine delays every single one.
        if best <= enough or (enough and times[0] > enough):
            break
    return best
