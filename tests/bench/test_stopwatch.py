"""Times are measured values, part by part."""

from collections.abc import Iterator

from bigfleet.bench.timing import Stopwatch, percentile_ms


def _ticking(*readings: float) -> Stopwatch:
    clock: Iterator[float] = iter(readings)
    return Stopwatch(lambda: next(clock))


def test_a_cycle_is_the_sum_of_its_parts() -> None:
    stopwatch = _ticking(0.0, 1.0, 3.0)
    stopwatch.resume()
    stopwatch.ended("match")
    stopwatch.ended("fold")
    stopwatch.cycle_ended()
    assert stopwatch.cycles == [3.0]
    assert stopwatch.parts == {"match": [1.0], "fold": [2.0]}


def test_what_happens_before_resume_belongs_to_no_part() -> None:
    stopwatch = _ticking(0.0, 1.0, 10.0, 12.0)
    stopwatch.resume()
    stopwatch.ended("cold")
    stopwatch.resume()
    stopwatch.ended("warm")
    stopwatch.cycle_ended()
    assert stopwatch.cycles == [3.0]


def test_an_aside_is_recorded_but_not_counted() -> None:
    stopwatch = _ticking(0.0, 1.0, 5.0)
    stopwatch.resume()
    stopwatch.ended("rebuild")
    stopwatch.aside("clean")
    stopwatch.cycle_ended()
    assert stopwatch.cycles == [1.0]
    assert stopwatch.p50_ms_of_parts() == {"rebuild": 1000.0, "clean": 4000.0}


def test_a_percentile_is_a_value_that_was_measured() -> None:
    seconds = [0.004, 0.001, 0.003, 0.002]
    assert percentile_ms(seconds, 0.5) == 2.0
    assert percentile_ms(seconds, 0.99) == 4.0
    assert percentile_ms(seconds, 1.0) == 4.0
