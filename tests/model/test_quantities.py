"""Quantities: what the Kubernetes scheduler would count, exactly, and one way to print it."""

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.quantities import (
    LARGEST,
    BadQuantity,
    exactly,
    is_binary,
    quantity_of,
    quantity_text,
    readable_text,
)

DIMENSIONS = st.sampled_from(
    ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "pods"]
)
AMOUNTS = st.integers(0, LARGEST) | st.builds(
    lambda base, zeros, shift: min(LARGEST, (base * 10**zeros) << shift),
    st.integers(0, 5000),
    st.integers(0, 12),
    st.integers(0, 40),
)
FACTORS = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal("1e3"),
    "M": Decimal("1e6"),
    "G": Decimal("1e9"),
    "T": Decimal("1e12"),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
}


@pytest.mark.parametrize(
    ("dimension", "text", "units"),
    [
        ("cpu", "2", 2000),
        ("cpu", "500m", 500),
        ("cpu", "0.1", 100),
        ("cpu", "1.5", 1500),
        ("cpu", "+4", 4000),
        ("cpu", "2k", 2_000_000),
        ("cpu", "1e3", 1_000_000),
        ("memory", "16Gi", 16 * 2**30),
        ("memory", "1.5Gi", 3 * 2**29),
        ("memory", "128974848", 128974848),
        ("memory", "129e6", 129_000_000),
        ("memory", "129M", 129_000_000),
        ("memory", "123Mi", 123 * 2**20),
        ("memory", "1E", 10**18),
        ("memory", "1Ei", 2**60),
        ("memory", "5.", 5),
        ("memory", ".5Ki", 512),
        ("memory", "1E2", 100),
        ("nvidia.com/gpu", "8", 8),
        ("pods", "0", 0),
        ("pods", "-0", 0),
    ],
    ids=str,
)
def test_a_quantity_is_a_whole_number_of_its_dimensions_unit(
    dimension: str, text: str, units: int
) -> None:
    assert quantity_of(dimension, text) == units


@pytest.mark.parametrize(
    ("dimension", "text", "units"),
    [
        ("cpu", "1n", 1),
        ("cpu", "100u", 1),
        ("cpu", "1.0001", 1001),
        ("memory", "100m", 1),
        ("memory", "1500m", 2),
        ("nvidia.com/gpu", "0.5", 1),
        ("memory", "1e-20", 1),
    ],
    ids=str,
)
def test_what_is_finer_than_the_unit_rounds_up_as_the_scheduler_does(
    dimension: str, text: str, units: int
) -> None:
    assert quantity_of(dimension, text) == units


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "-", "Gi", "1 Gi", " 1", "1\n", "1gi", "1K", "1GiB", "0x10", "1_000", "NaN"),
        *("inf", "1e", "1.5.0", "--1", "1mi", "1e+", "٣", "1e99999"),
    ],
    ids=repr,
)
def test_what_is_not_a_quantity_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(BadQuantity, match="is not a Kubernetes quantity; write it like 2, 500m"):
        quantity_of("memory", text)


@pytest.mark.parametrize("text", ["-1", "-1m", "-0.001", "-16Gi"], ids=repr)
def test_a_negative_quantity_is_refused(text: str) -> None:
    with pytest.raises(BadQuantity, match="is negative; a quantity is zero or more"):
        quantity_of("cpu", text)


@pytest.mark.parametrize(
    "text", ["1e61", "1e-61", "9" * 61, "4Ei", "9" * 5000, "1e" + "9" * 5000], ids=lambda t: t[:8]
)
def test_what_cannot_be_counted_is_refused_and_never_wraps_around(text: str) -> None:
    with pytest.raises(BadQuantity):
        quantity_of("memory", text)


def test_the_largest_quantity_is_still_counted_and_the_next_one_is_not() -> None:
    assert quantity_of("memory", str(LARGEST)) == LARGEST
    with pytest.raises(BadQuantity, match="is more memory than BigFleet can count"):
        quantity_of("memory", str(LARGEST + 1))


def test_two_of_the_largest_fit_one_column_of_64_bits() -> None:
    assert 2 * LARGEST < 2**63


@pytest.mark.parametrize(
    ("dimension", "units", "text"),
    [
        ("cpu", 500, "500m"),
        ("cpu", 2000, "2"),
        ("cpu", 1500, "1500m"),
        ("cpu", 2_000_000, "2k"),
        ("memory", 16 * 2**30, "16Gi"),
        ("memory", 3 * 2**29, "1536Mi"),
        ("memory", 129_000_000, "129000000"),
        ("ephemeral-storage", 2**40, "1Ti"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("nvidia.com/gpu", 24, "24"),
        ("nvidia.com/gpu", 3000, "3k"),
        ("cpu", 0, "0"),
        ("memory", 0, "0"),
    ],
    ids=str,
)
def test_a_quantity_prints_with_the_largest_suffix_that_stays_whole(
    dimension: str, units: int, text: str
) -> None:
    assert quantity_text(dimension, units) == text


def test_bytes_print_in_powers_of_two_and_everything_else_in_powers_of_ten() -> None:
    assert is_binary("memory")
    assert is_binary("ephemeral-storage")
    assert is_binary("hugepages-1Gi")
    assert not is_binary("cpu")
    assert not is_binary("nvidia.com/gpu")


@given(DIMENSIONS, AMOUNTS)
def test_what_is_printed_reads_back_as_the_same_amount(dimension: str, units: int) -> None:
    assert quantity_of(dimension, quantity_text(dimension, units)) == units


@given(DIMENSIONS, AMOUNTS)
def test_printing_is_canonical(dimension: str, units: int) -> None:
    text = quantity_text(dimension, units)
    assert quantity_text(dimension, quantity_of(dimension, text)) == text
    assert "." not in text


@given(
    st.sampled_from(["cpu", "memory"]),
    st.integers(0, 4000),
    st.integers(0, 999_999),
    st.sampled_from(sorted(FACTORS)),
)
def test_parsing_agrees_with_decimal_arithmetic(
    dimension: str, whole: int, fraction: int, suffix: str
) -> None:
    text = f"{whole}.{fraction:06d}"
    unit = Decimal("0.001") if dimension == "cpu" else Decimal(1)
    exact = Decimal(text) * FACTORS[suffix] / unit
    assert quantity_of(dimension, text + suffix) == int(exact.to_integral_value(ROUND_CEILING))


@pytest.mark.parametrize(
    ("text", "amount"),
    [("500m", Fraction(1, 2)), ("-1.5", Fraction(-3, 2)), ("2Ki", 2048), ("1e30", 10**30)],
)
def test_amounts_that_are_no_resources_are_exact_and_may_be_negative(
    text: str, amount: Fraction | int
) -> None:
    assert exactly(text) == amount


def test_what_is_not_a_quantity_is_not_another_amount_either() -> None:
    with pytest.raises(BadQuantity, match="write it like"):
        exactly("$5")


@pytest.mark.parametrize(
    ("dimension", "amount", "text"),
    [
        ("cpu", 1_093_500, "1093.5"),
        ("cpu", 8000, "8"),
        ("cpu", 1, "0.001"),
        ("memory", 64 << 30, "64Gi"),
        ("memory", (3 << 30) // 2, "1.5Gi"),
        ("memory", 1000, "1000"),
        ("nvidia.com/gpu", 12_000, "12000"),
        ("cpu", 0, "0"),
    ],
)
def test_people_read_quantities_as_they_write_them(dimension: str, amount: int, text: str) -> None:
    assert readable_text(dimension, amount) == text
