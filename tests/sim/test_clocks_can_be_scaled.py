"""The clocks of a sim: scaled time, and timers that survive a change of speed."""

import pytest

from bigfleet.edge.clock import SECOND
from bigfleet.model.errors import BadInput
from bigfleet.provider import ManualClock
from bigfleet.provider.sim import SimBackend, SimConfig
from bigfleet.provider.sim.clocks import ScaledClock, clock_of


async def test_scaled_time_runs_so_many_times_as_fast() -> None:
    real = ManualClock()
    clock = ScaledClock(real, 10)
    began = clock.now()
    await real.advance(6)
    assert clock.now() - began == 60 * SECOND


async def test_a_timer_waits_in_scaled_time() -> None:
    real = ManualClock()
    clock = ScaledClock(real, 10)
    fired: list[int] = []
    clock.call_later(60, lambda: fired.append(clock.now()))
    await real.advance(5.9)
    assert fired == []
    await real.advance(0.2)
    assert len(fired) == 1


async def test_a_change_of_speed_moves_the_timers_with_it() -> None:
    real = ManualClock()
    clock = ScaledClock(real, 1)
    began, fired = clock.now(), list[int]()
    clock.call_later(100, lambda: fired.append(clock.now() - began))
    await real.advance(50)
    clock.set_speed(50)
    await real.advance(1)
    assert fired == [100 * SECOND]


async def test_a_cancelled_timer_stays_silent_also_after_a_change_of_speed() -> None:
    real = ManualClock()
    clock = ScaledClock(real, 1)
    fired: list[int] = []
    clock.call_later(10, lambda: fired.append(1)).cancel()
    clock.set_speed(10)
    await real.advance(20)
    assert fired == []


@pytest.mark.parametrize("text", ["fast", "scaled", "scaled:0", "scaled:-1", "scaled:x", "real:2"])
def test_what_is_not_a_clock_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        clock_of(text, ManualClock())


def test_a_sim_brings_the_clock_its_settings_name() -> None:
    assert isinstance(SimBackend(SimConfig(clock="stepped")).make_clock(), ManualClock)
    assert isinstance(SimBackend(SimConfig()).make_clock(), ScaledClock)


def test_a_clock_is_named() -> None:
    real = ManualClock()
    assert isinstance(clock_of("stepped", real), ManualClock)
    scaled = clock_of("scaled:10", real)
    assert isinstance(scaled, ScaledClock)
    assert scaled.speed == 10
    assert clock_of("real", real).now() == real.now()


async def test_every_instant_has_a_real_one_also_after_changes_of_speed() -> None:
    real = ManualClock(1_000 * SECOND)
    clock = ScaledClock(real, 60.0)
    moments = []
    for speed in (2.0, 600.0, 1.0):
        for _ in range(3):
            await real.advance(7)
            moments.append((clock.now(), real.now()))
        clock.set_speed(speed)
    assert [clock.real_of(at) for at, _ in moments] == [at for _, at in moments]
    assert clock.real_of(clock.now() + 5 * SECOND) == real.now() + 5 * SECOND
    assert clock.real_of(900 * SECOND) == 900 * SECOND, "of an earlier life"
