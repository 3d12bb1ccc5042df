"""Kubernetes quantities as exact integers, one unit per dimension.

The unit is the one the Kubernetes scheduler counts in: thousandths for `cpu`, whole units (bytes,
devices) for everything else; what is finer rounds up, as it does there (ADR-0002). Text is parsed
once, at the edge; every later sum and comparison is integer arithmetic.

Sums over a shard are kept in 64-bit columns and stop at `LARGEST`. What could take one there is
refused at the edge: no Need asks for 64 Pi of anything, and no machine has a Pi (U25).
"""

import math
import re
from collections.abc import Iterable
from fractions import Fraction

from bigfleet.model.syntax import cached_by_text, shown

#: Two such numbers can be added in a signed 64-bit column.
LARGEST = 2**62 - 1
#: The most one Need may ask for of a dimension.
LARGEST_OF_NEED = 2**56 - 1
#: The most one machine may offer of a dimension.
LARGEST_OF_MACHINE = 2**50 - 1

_PATTERN = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE])i|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,4}))?"
)
_DECIMAL_EXPONENT = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_EXPONENT = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_MILLI_DIMENSIONS = frozenset({"cpu"})
_BINARY_DIMENSIONS = frozenset({"memory", "ephemeral-storage", "storage"})


class BadQuantity(ValueError):
    """The text is not a quantity BigFleet can count; the message says why and what would do."""


class QuantityTooLarge(BadQuantity):
    """The text is a quantity, and more than BigFleet can count."""


@cached_by_text(65_536)
def quantity_of(dimension: str, text: str) -> int:
    """The whole number of units of `dimension` that `text` stands for."""
    return read_quantity(dimension, text)


def read_quantity(dimension: str, text: str) -> int:
    """The same, for callers that remember themselves what they have read, as long as they want."""
    negative, amount, exponent = _parts_of(text)
    if negative and amount:
        raise BadQuantity(f"{shown(text)} is negative; a quantity is zero or more")
    if dimension in _MILLI_DIMENSIONS:
        exponent += 3
    if exponent >= 0:
        amount *= 10**exponent
    else:
        amount = -(-amount // 10**-exponent)
    if amount > LARGEST:
        raise QuantityTooLarge(f"{shown(text)} is more {dimension} than BigFleet can count")
    return int(amount)


def why_too_much(dimension: str, amount: int, most: int) -> str | None:
    """A sentence if `amount` is above one of the ceilings, which are powers of two less one."""
    if amount <= most:
        return None
    limit = quantity_text(dimension, most + 1)
    whom = "machine" if most == LARGEST_OF_MACHINE else "Need"
    return f"{quantity_text(dimension, amount)} is too much for one {whom}; write less than {limit}"


def exactly(text: str) -> Fraction:
    """What `text` says, sign and all: for amounts that are no resources, such as dollars."""
    negative, amount, exponent = _parts_of(text)
    return (-amount if negative else amount) * Fraction(10) ** exponent


def _parts_of(text: str) -> tuple[bool, int, int]:
    """Whether it is negative, and the amount as a whole number times a power of ten."""
    match = _PATTERN.fullmatch(text)
    if match is None or not (match["whole"] or match["part"]):
        raise BadQuantity(
            f"{shown(text)} is not a Kubernetes quantity; write it like 2, 500m or 16Gi"
        )
    digits = (match["whole"] or "") + (match["part"] or "")
    exponent = -len(match["part"] or "")
    factor = 1
    if match["binary"]:
        factor = 1 << _BINARY_EXPONENT[match["binary"]]
    elif match["decimal"]:
        exponent += _DECIMAL_EXPONENT[match["decimal"]]
    elif match["exponent"]:
        exponent += int(match["exponent"])
    if abs(exponent) > 60 or len(digits) > 60:
        kind = QuantityTooLarge if exponent > 0 or len(digits) > 60 else BadQuantity
        raise kind(f"{shown(text)} is beyond the range of a Kubernetes quantity")
    return match["sign"] == "-", int(digits) * factor, exponent


def is_binary(dimension: str) -> bool:
    """Whether a dimension is written with binary suffixes (Ki, Mi, Gi)."""
    return dimension in _BINARY_DIMENSIONS or dimension.startswith("hugepages-")


def quantity_text(dimension: str, amount: int) -> str:
    """The canonical Kubernetes text of `amount` units: the largest suffix that stays whole."""
    if amount == 0:
        return "0"
    if is_binary(dimension):
        for suffix, exponent in reversed(_BINARY_EXPONENT.items()):
            if amount % (1 << exponent) == 0:
                return f"{amount >> exponent}{suffix}i"
        return str(amount)
    exponent = -3 if dimension in _MILLI_DIMENSIONS else 0
    while amount % 1000 == 0 and exponent < 18:
        amount //= 1000
        exponent += 3
    suffix = {-3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}[exponent]
    return f"{amount}{suffix}"


def readable_text(dimension: str, amount: int) -> str:
    """As people write it: `1093.5` cpu, `64Gi`; rounded to two decimals where it is not whole."""
    if dimension in _MILLI_DIMENSIONS:
        return _short(amount / 1000, 3)
    if not is_binary(dimension):
        return str(amount)
    for suffix, exponent in reversed(_BINARY_EXPONENT.items()):
        if amount >= 1 << exponent:
            return f"{_short(amount / (1 << exponent), 2)}{suffix}i"
    return str(amount)


def _short(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".")


def scaled_amounts(amounts: Iterable[tuple[str, int]], factor: float) -> dict[str, int]:
    """A Need's amounts times a factor, rounded up: half a pod needs a whole one."""
    return {name: min(math.ceil(n * factor), LARGEST_OF_NEED) for name, n in amounts}
