"""Quantities of pods, added up exactly and rounded once, as the Kubernetes scheduler does it.

Three containers of 0.4m CPU are 2m together, not 3m: each amount is kept in billionths, the finest
a Kubernetes quantity has, and only the sum is rounded up to what is counted (ADR-0002).
"""

import re
from collections.abc import Iterable, Mapping

from bigfleet.kube.objects import Quantity
from bigfleet.model.quantities import BadQuantity, quantity_text
from bigfleet.model.resources import Resources
from bigfleet.model.syntax import shown
from bigfleet.model.text_caches import cached_by_text

#: Billionths of a unit, by resource name.
Amounts = dict[str, int]

NANO = 10**9
_MILLI = 10**6
_PATTERN = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE])i|([numkMGTPE])|[eE]([+-]?[0-9]{1,3}))?"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}


@cached_by_text(65_536)
def nanos_of(said: Quantity) -> int:
    """Raises BadQuantity for text outside the grammar, and for what is below zero."""
    text = str(said)
    match = _PATTERN.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise BadQuantity(
            f"{shown(text)} is not a Kubernetes quantity; write it like 2, 500m or 16Gi"
        )
    whole, part = match[2] or "", match[3] or ""
    exponent = 9 - len(part)
    factor = 1
    if match[4]:
        factor = 1 << _BINARY[match[4]]
    elif match[5]:
        exponent += _DECIMAL[match[5]]
    elif match[6]:
        exponent += int(match[6])
    amount = int(whole + part) * factor
    if match[1] == "-" and amount:
        raise BadQuantity(f"{shown(text)} is negative; a quantity is zero or more")
    if exponent >= 0:
        return int(amount * 10**exponent)
    return int(-(-amount // 10**-exponent))


def amounts_of(said: Mapping[str, Quantity]) -> Amounts:
    try:
        return {name: nanos_of(quantity) for name, quantity in said.items()}
    except BadQuantity:
        for name, quantity in said.items():
            _named(name, quantity)
        raise


def added(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    total: Amounts = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount
    return total


def largest(first: Mapping[str, int], second: Mapping[str, int]) -> Amounts:
    """The larger of both, dimension by dimension."""
    result = dict(first)
    for name, amount in second.items():
        result[name] = max(amount, result.get(name, 0))
    return result


def texts_of(amounts: Mapping[str, int]) -> dict[str, str]:
    """What is counted, in the canonical form, by name in order; finer amounts round up."""
    return {name: _text(name, amounts[name]) for name in sorted(amounts)}


def resources_of(amounts: Mapping[str, int]) -> Resources:
    """What is counted, as a vector; finer amounts round up."""
    return Resources.of({name: _counted(name, amount) for name, amount in amounts.items()})


def _text(name: str, amount: int) -> str:
    return quantity_text(name, _counted(name, amount))


def _counted(name: str, amount: int) -> int:
    return -(-amount // (_MILLI if name == "cpu" else NANO))


def _named(name: str, quantity: Quantity) -> None:
    try:
        nanos_of(quantity)
    except BadQuantity as problem:
        raise BadQuantity(f"{name}: {problem}") from None
