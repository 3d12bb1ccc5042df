"""Rings: a value a second for an hour, one a minute for a day, and gaps that stay gaps."""

from bigfleet.web.live.rings import Ring, Rings

T0 = 1_700_000_040


def test_a_value_is_found_at_its_second_and_what_lies_between_is_a_gap() -> None:
    rings = Rings()
    rings.put(T0, {"cost": 1.0})
    rings.put(T0 + 3, {"cost": 4.0})
    times, found = rings.series(["cost"], T0 + 4, 5, 1)
    assert times == [T0, T0 + 1, T0 + 2, T0 + 3, T0 + 4]
    assert found == {"cost": [1.0, None, None, 4.0, None]}


def test_a_step_has_the_mean_of_what_was_measured_in_it() -> None:
    rings = Rings()
    for second in range(10):
        rings.put(T0 + second, {"cost": float(second) if second != 3 else None})
    _, found = rings.series(["cost"], T0 + 9, 10, 5)
    assert found == {"cost": [7 / 4, 7.0]}


def test_a_series_that_was_never_measured_is_gaps_only() -> None:
    rings = Rings()
    rings.put(T0, {"cost": 1.0})
    assert rings.series(["other"], T0, 2, 1)[1] == {"other": [None, None]}


def test_beyond_an_hour_minutes_answer() -> None:
    rings = Rings()
    for second in range(0, 2 * 3600, 10):
        rings.put(T0 + second, {"cost": 1.0 if second < 3600 else 3.0})
    times, found = rings.series(["cost"], T0 + 2 * 3600, 7200, 600)
    assert len(times) == 12
    assert found["cost"][0] == 1.0
    assert found["cost"][-2] == 3.0


def test_a_silence_of_hours_is_a_gap_and_no_old_value_comes_back() -> None:
    ring = Ring(1, 10)
    for second in range(10):
        ring.put(T0 + second, {"a": 1.0})
    ring.put(T0 + 1000, {"a": 2.0})
    assert ring.read("a", T0 + 991, T0 + 1000).tolist()[-1] == 2.0
    assert str(ring.read("a", T0 + 991, T0 + 999).tolist()) == str([float("nan")] * 9)


def test_a_time_before_the_newest_is_kept_as_long_as_there_is_room_for_it() -> None:
    ring = Ring(1, 3)
    ring.put(T0 + 5, {"a": 5.0})
    ring.put(T0 + 4, {"a": 4.0})
    ring.put(T0, {"a": 0.0})
    assert ring.read("a", T0 + 4, T0 + 5).tolist() == [4.0, 5.0]


def test_samples_of_a_shard_and_of_the_fleet_are_told_apart() -> None:
    rings = Rings()
    rings.put(
        T0,
        {
            "actions/Bootstrap": 3.0,
            "cycleP99Seconds": 0.5,
            "shard/s-1/actions/Bootstrap": 1.0,
            "shard/s-1/cycleP99Seconds": 0.25,
        },
    )
    fleet, shard = rings.samples("", 1, 1), rings.samples("s-1", 1, 1)
    assert (fleet.action_rates, fleet.cycle_p99_seconds) == ({"Bootstrap": [3.0]}, [0.5])
    assert (shard.action_rates, shard.cycle_p99_seconds) == ({"Bootstrap": [1.0]}, [0.25])
    assert shard.timestamps == [T0]
