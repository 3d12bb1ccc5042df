"""Where a loop spends its time is found by looking at it from a thread, while it goes on."""

import asyncio
import threading

import pytest

from bigfleet.edge.clock import LoopLag, ManualClock, next_turn
from bigfleet.edge.profiler import LOOK_SECONDS, AlreadyProfiling, Profiler, collapsed

PATIENCE_SECONDS = 60.0


class SteppedTime:
    """Time that passes only while the profiler sleeps, and only once that is allowed."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.may_pass = threading.Event()
        self.is_asked = threading.Event()
        self.until = float("inf")
        self.is_over = threading.Event()

    def stopwatch(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.is_asked.set()
        assert self.may_pass.wait(PATIENCE_SECONDS)
        self.passed += seconds
        if self.passed >= self.until:
            self.is_over.set()


def busy(virtual: SteppedTime) -> None:
    """Does not let go of the loop until the profile is over."""
    virtual.may_pass.set()
    assert virtual.is_over.wait(PATIENCE_SECONDS)


async def test_a_profile_names_the_function_that_keeps_the_loop_busy() -> None:
    virtual = SteppedTime()
    virtual.until = 1.0
    profiling = asyncio.create_task(Profiler(virtual.stopwatch, virtual.sleep).profile(1.0))
    await next_turn()
    busy(virtual)
    lines = collapsed(await profiling).splitlines()
    here = f"{__name__}.test_a_profile_names_the_function_that_keeps_the_loop_busy"
    counted = [line.rpartition(" ") for line in lines if f";{here};{__name__}.busy;" in line]
    # All looks but the first, which came before it was busy.
    assert sum(int(count) for _, _, count in counted) >= 1.0 / LOOK_SECONDS - 1


async def test_the_loop_goes_on_and_no_second_profile_runs_meanwhile() -> None:
    virtual = SteppedTime()
    profiler = Profiler(virtual.stopwatch, virtual.sleep)
    profiling = asyncio.create_task(profiler.profile(1.0))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not virtual.is_asked.is_set():
            await next_turn()
    with pytest.raises(AlreadyProfiling):
        await profiler.profile(1.0)
    virtual.may_pass.set()
    assert await profiling
    assert await profiler.profile(1.0)


async def test_an_abandoned_profile_ends_and_lets_others_ask() -> None:
    virtual = SteppedTime()
    profiler = Profiler(virtual.stopwatch, virtual.sleep)
    profiling = asyncio.create_task(profiler.profile(1e9))
    await next_turn()
    profiling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await profiling
    threads = [each for each in threading.enumerate() if each.name == "profiling"]
    virtual.may_pass.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
    assert await profiler.profile(1.0)


async def test_a_broken_stopwatch_is_told_to_the_caller() -> None:
    def broken() -> float:
        raise RuntimeError("no time")

    with pytest.raises(RuntimeError, match="no time"):
        await Profiler(broken, lambda seconds: None).profile(1.0)


def test_the_most_frequent_stack_comes_first_and_equals_by_name() -> None:
    seen = {"a;b": 2, "a;c": 7, "a": 2, "": 9}
    assert collapsed(seen) == "a;c 7\na 2\na;b 2\n"


async def test_lag_is_the_time_since_the_loop_should_have_been_heard_of() -> None:
    clock, passed = ManualClock(), [0.0]
    observed: list[float] = []
    lag = LoopLag(clock, lambda: passed[0], observed.append)
    task = asyncio.create_task(lag.run())
    assert lag.seconds == 0
    await clock.advance(0)
    passed[0] = 12.1
    assert round(lag.seconds) == 12
    await clock.advance(0.1)
    assert lag.seconds == 0
    assert [round(late) for late in observed] == [12]
    task.cancel()
