"""Resource vectors: absent is zero, and what is left never falls below zero."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.quantities import BadQuantity
from bigfleet.model.resources import Resources

VECTORS = st.dictionaries(
    st.sampled_from(["cpu", "gpu", "memory", "pods"]), st.integers(0, 1000), max_size=4
).map(Resources.of)
NOTHING = Resources()


def vector(**texts: str) -> Resources:
    return Resources.parse(texts)


def test_an_absent_dimension_is_zero() -> None:
    assert vector(cpu="4")["memory"] == 0


def test_dimensions_that_come_in_any_order_are_kept_in_name_order() -> None:
    assert list(vector(pods="1", cpu="1", memory="1")) == ["cpu", "memory", "pods"]


def test_equal_amounts_are_equal_however_they_were_written() -> None:
    assert vector(memory="16Gi") == vector(memory=str(16 * 2**30))


def test_a_bad_amount_is_refused_where_a_person_wrote_it() -> None:
    with pytest.raises(BadQuantity):
        vector(cpu="4", memory="lots")


def test_a_bad_amount_of_a_provider_counts_as_none() -> None:
    lenient = Resources.parse_leniently({"cpu": "4", "memory": "lots", "pods": "-3"})
    assert lenient.positive() == vector(cpu="4")


def test_sums_and_maxima_go_dimension_by_dimension() -> None:
    one, other = vector(cpu="2", memory="1Gi"), vector(cpu="1", gpu="8")
    assert one.plus(other) == vector(cpu="3", memory="1Gi", gpu="8")
    assert one.most(other) == vector(cpu="2", memory="1Gi", gpu="8")


def test_subtraction_stops_at_zero_and_names_the_dimensions_of_both() -> None:
    left = vector(cpu="2").less(vector(cpu="5", gpu="1"))
    assert dict(left.amounts) == {"cpu": 0, "gpu": 0}
    assert left.positive() == NOTHING


def test_covering_ignores_unwanted_dimensions() -> None:
    assert vector(cpu="4", gpu="8").covers(vector(cpu="4"))


def test_a_missing_dimension_covers_only_zero() -> None:
    assert vector(cpu="4").covers(vector(cpu="1", gpu="0"))
    assert not vector(cpu="4").covers(vector(cpu="1", gpu="1"))


def test_nothing_wanted_is_always_covered() -> None:
    assert NOTHING.covers(NOTHING)


def test_a_vector_of_zeros_is_zero_and_so_is_an_empty_one() -> None:
    assert NOTHING.is_zero()
    assert vector(cpu="0", gpu="0").is_zero()
    assert not vector(cpu="0", gpu="1").is_zero()


@pytest.mark.parametrize("count", [0, -1], ids=["none", "less than none"])
def test_no_copies_of_a_vector_are_no_vector(count: int) -> None:
    assert vector(cpu="4").times(count) == NOTHING


def test_copies_of_a_vector_multiply_every_dimension() -> None:
    assert vector(cpu="4", gpu="1").times(3) == vector(cpu="12", gpu="3")


def test_texts_are_canonical_and_in_name_order() -> None:
    texts = vector(memory="1024Mi", cpu="1500m", gpu="8").texts()
    assert list(texts.items()) == [("cpu", "1500m"), ("gpu", "8"), ("memory", "1Gi")]


@given(VECTORS, VECTORS)
def test_what_is_left_and_what_was_taken_cover_the_whole(whole: Resources, part: Resources) -> None:
    assert whole.less(part).plus(part).covers(whole)


@given(VECTORS, VECTORS)
def test_nothing_is_left_exactly_when_the_wanted_is_covered(
    have: Resources, want: Resources
) -> None:
    assert want.less(have).is_zero() == have.covers(want)


@given(VECTORS, VECTORS)
def test_the_larger_of_two_covers_both_and_is_the_least_that_does(
    one: Resources, other: Resources
) -> None:
    most = one.most(other)
    assert most.covers(one)
    assert most.covers(other)
    assert one.plus(other).covers(most)


@given(VECTORS, st.integers(1, 5))
def test_copies_are_repeated_sums(unit: Resources, count: int) -> None:
    total = NOTHING
    for _ in range(count):
        total = total.plus(unit)
    assert unit.times(count) == total


@given(VECTORS)
def test_a_vector_reads_back_from_its_texts(amounts: Resources) -> None:
    assert Resources.parse(amounts.texts()) == amounts
