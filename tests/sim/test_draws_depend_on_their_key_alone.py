"""Chance is a keyed hash: no stream, no order, no hidden state."""

from statistics import mean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.provider.sim.world.distributions import Draws

KEYS = st.tuples(st.text(max_size=8), st.text(max_size=8), st.integers(0, 1000))


@given(st.integers(0, 2**32), st.permutations([("a", "m-1", 0), ("b", "m-1", 0), ("a", "m-2", 3)]))
def test_the_order_of_draws_changes_no_draw(seed: int, keys: list[tuple[str, str, int]]) -> None:
    in_order = {key: Draws(seed).uniform(*key) for key in sorted(keys)}
    draws = Draws(seed)
    assert {key: draws.uniform(*key) for key in keys} == in_order


@given(st.integers(0, 2**32), KEYS)
def test_a_draw_never_touches_the_ends_of_the_unit_interval(
    seed: int, key: tuple[str, str, int]
) -> None:
    assert 0.0 < Draws(seed).uniform(*key) < 1.0


@pytest.mark.parametrize(
    "other",
    [("create", "m-1", 1), ("create", "m-2", 0), ("drain", "m-1", 0)],
    ids=["another occurrence", "another machine", "another purpose"],
)
def test_any_other_key_draws_something_else(other: tuple[str, str, int]) -> None:
    assert Draws(1).uniform(*other) != Draws(1).uniform("create", "m-1", 0)


def test_another_seed_draws_something_else() -> None:
    assert Draws(1).uniform("create", "m-1") != Draws(2).uniform("create", "m-1")


def test_draws_are_spread_as_their_name_says() -> None:
    draws = Draws(1)
    normal = [draws.normal("z", str(n)) for n in range(4000)]
    exponential = [draws.exponential("e", str(n)) for n in range(4000)]
    assert (mean(normal), pstdev(normal)) == pytest.approx((0, 1), abs=0.05)
    assert mean(exponential) == pytest.approx(1, abs=0.05)


def test_something_that_cannot_happen_never_does() -> None:
    assert not any(Draws(1).chance(0.0, "fail", str(n)) for n in range(100))
    assert all(Draws(1).chance(1.0, "fail", str(n)) for n in range(100))
