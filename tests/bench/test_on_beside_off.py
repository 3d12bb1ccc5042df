"""Something on beside the same thing off: the turns of the blocks, and what their rounds tell."""

from random import Random

import pytest

from bigfleet.bench.measures import Measure
from bigfleet.bench.paired import Round, measures_of, of_medians, of_percentiles, of_shares, turns


def rounds_of(cost: float, *, noise: float, drift: float, seed: int = 7) -> list[Round]:
    """Rounds of a machine that grows slower block by block; on, a cycle takes `cost` more."""
    chance, made = Random(seed), [Round() for _ in range(12)]
    for block, (number, is_on) in enumerate(turns(len(made))):
        for _ in range(5):
            seconds = 30 * (1 + drift * block) * (1 + cost * is_on)
            made[number].of(is_on=is_on).append(seconds * (1 + noise * chance.random()))
    return made


def test_blocks_take_turns_so_that_each_round_begins_and_ends_alike() -> None:
    assert list(turns(2)) == [
        *((0, False), (0, True), (0, True), (0, False)),
        *((1, True), (1, False), (1, False), (1, True)),
    ]


def test_a_machine_that_grows_slower_weighs_on_both_alike() -> None:
    found = of_medians(rounds_of(0.0, noise=0.0, drift=0.02))
    assert abs(found.value) < 1


@pytest.mark.parametrize("cost", [0.0, 0.02, 0.1])
def test_the_interval_holds_what_it_costs(cost: float) -> None:
    found = of_medians(rounds_of(cost, noise=0.2, drift=0.01))
    assert found.low <= found.value <= found.high
    assert found.low <= 100 * cost <= found.high


def test_the_same_rounds_tell_the_same_interval() -> None:
    rounds = rounds_of(0.05, noise=0.3, drift=0.0)
    assert of_medians(rounds) == of_medians(rounds)


def test_cores_are_compared_by_what_they_are_more() -> None:
    rounds = [Round([0.5, 0.6], [0.55, 0.65]) for _ in range(4)]
    assert of_shares(rounds).value == pytest.approx(5)


def test_a_high_percentile_is_of_all_cycles_together() -> None:
    rounds = [Round([1.0] * 99 + [10.0] * 2, [1.0] * 99 + [20.0] * 2) for _ in range(4)]
    assert of_percentiles(rounds, 0.99).value == pytest.approx(100)
    assert of_percentiles(rounds, 0.5).value == 0


def test_both_medians_are_told_in_milliseconds_beside_what_they_differ_by() -> None:
    off, on, difference = measures_of("journal", "CPU", [Round([0.04], [0.05])], 3)
    assert (off.value, on.value) == pytest.approx((40, 50))
    assert (off.name, difference.name) == (
        "cycle CPU p50, journal off",
        "journal on beside off, CPU",
    )
    assert difference.value == pytest.approx(25)
    assert difference.budget == "<= 3"
    assert difference.interval is not None


@pytest.mark.parametrize(
    ("interval", "verdict"), [((1, 2), "met"), ((2, 4), "open"), ((4, 5), "missed")]
)
def test_what_is_not_surely_within_its_budget_is_open(
    interval: tuple[float, float], verdict: str
) -> None:
    assert Measure("rise", sum(interval) / 2, "%", 3, None, interval).verdict == verdict
    opposite = {"met": "missed", "open": "open", "missed": "met"}
    assert Measure("rate", sum(interval) / 2, "1/s", None, 3, interval).verdict == opposite[verdict]
