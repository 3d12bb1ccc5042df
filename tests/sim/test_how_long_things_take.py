"""Latency distributions: what is written is what is drawn."""

from statistics import mean, median, pvariance, quantiles

import pytest

from bigfleet.provider.sim.world.distributions import (
    BadDistribution,
    BadDuration,
    Draws,
    distribution_of,
    duration_text,
    nanos_of,
    seconds_of,
)

TRACE = ["# seconds", "1s", "", "2s", "4s"]


def drawn(text: str, count: int = 4000) -> list[float]:
    distribution = distribution_of(text, lambda _path: TRACE)
    draws = Draws(1)
    return [seconds_of(distribution.nanos(draws, "t", str(n), 0)) for n in range(count)]


@pytest.mark.parametrize(
    ("text", "nanos"),
    [("30s", 30 * 10**9), ("1h30m", 5400 * 10**9), ("5ms", 5 * 10**6), ("2", 2 * 10**9)],
)
def test_a_length_of_time_is_read(text: str, nanos: int) -> None:
    assert nanos_of(text) == nanos
    assert nanos_of(duration_text(nanos)) == nanos


@pytest.mark.parametrize("text", ["", "soon", "3x", "-1s", "1s2", "s"])
def test_what_is_not_a_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(BadDuration):
        nanos_of(text)


def test_nothing_takes_no_time_and_fixed_takes_its_time() -> None:
    assert set(drawn("0", 10)) == {0.0}
    assert set(drawn("fixed:30s", 10)) == {30.0}


def test_uniform_stays_between_its_bounds() -> None:
    found = drawn("uniform:15s,40s")
    assert 15 <= min(found) < 16
    assert 39 < max(found) <= 40
    assert mean(found) == pytest.approx(27.5, abs=0.5)


def test_lognormal_has_the_median_and_the_99th_percentile_it_names() -> None:
    found = drawn("lognormal:30s,90s", 20_000)
    assert median(found) == pytest.approx(30, rel=0.03)
    assert quantiles(found, n=100)[98] == pytest.approx(90, rel=0.08)


@pytest.mark.parametrize("shape", [0.5, 1, 4])
def test_gamma_has_its_mean_and_its_spread(shape: float) -> None:
    found = drawn(f"gamma:10s,{shape}", 10_000)
    assert mean(found) == pytest.approx(10, rel=0.05)
    assert pvariance(found) == pytest.approx(100 / shape, rel=0.15)


def test_a_trace_gives_only_what_its_file_holds() -> None:
    assert set(drawn("trace:file.txt")) == {1.0, 2.0, 4.0}


def test_a_cap_is_never_passed() -> None:
    assert max(drawn("lognormal:30s,90s|cap:45s")) == 45


def test_a_tail_makes_a_share_of_draws_that_much_longer() -> None:
    found = drawn("fixed:1s|tail:0.1x10")
    assert set(found) == {1.0, 10.0}
    assert found.count(10.0) / len(found) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "fixed",
        "fixed:1s,2s",
        "uniform:5s,1s",
        "uniform:5s",
        "lognormal:0,1s",
        "lognormal:9s,1s",
        "gamma:1s,0",
        "gamma:1s,much",
        "fixed:1s|cap",
        "fixed:1s|tail:2x",
        "fixed:soon",
    ],
)
def test_what_is_not_a_distribution_is_refused(text: str) -> None:
    with pytest.raises(BadDistribution):
        distribution_of(text)


def test_a_trace_without_lines_is_refused() -> None:
    with pytest.raises(BadDistribution):
        distribution_of("trace:empty.txt", lambda _path: ["# nothing"])
