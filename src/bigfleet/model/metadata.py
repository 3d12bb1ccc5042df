"""The shard's stamps as the provider stores and echoes them.

Configure is the only writer. Decoding is per key: an absent key leaves its field alone, an unknown
key is ignored, a malformed value is skipped and reported, so one bad stamp never hides the others.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from bigfleet.model.machines import Assigned

PREFIX = "bigfleet.lucy.sh/"
PRIORITY = PREFIX + "assigned-priority"
INTERRUPTION = PREFIX + "assigned-interruption-penalty-dollars"
RECLAMATION = PREFIX + "assigned-reclamation-penalty-dollars"
FINGERPRINT = PREFIX + "assigned-need-fingerprint"
GROUP = PREFIX + "assigned-group"

_INT32 = range(-(2**31), 2**31)
_DECIMAL = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]{1,10})")
_FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)", re.I)


def encode(assigned: Assigned) -> dict[str, str]:
    return {
        PRIORITY: str(assigned.priority),
        INTERRUPTION: dollars_text(assigned.interruption_penalty),
        RECLAMATION: dollars_text(assigned.reclamation_penalty),
        FINGERPRINT: assigned.need_fingerprint,
        GROUP: assigned.group,
    }


def decode(metadata: Mapping[str, str] | None, onto: Assigned) -> tuple[Assigned, list[str]]:
    """`onto` with every readable stamp applied, and one sentence per unreadable one."""
    problems: list[str] = []
    read: dict[str, Any] = {}
    for key, text in (metadata or {}).items():
        match key:
            case _ if key == PRIORITY:
                priority = _int32_of(text)
                if priority is None:
                    problems.append(f"{key}: {text!r} is not a 32-bit decimal number")
                else:
                    read["priority"] = priority
            case _ if key in (INTERRUPTION, RECLAMATION):
                dollars = _dollars_of(text)
                if dollars is None:
                    problems.append(f"{key}: {text!r} is not an amount of dollars")
                elif key == INTERRUPTION:
                    read["interruption_penalty"] = dollars
                else:
                    read["reclamation_penalty"] = dollars
            case _ if key == FINGERPRINT:
                read["need_fingerprint"] = text
            case _ if key == GROUP:
                read["group"] = text
    return replace(onto, **read), problems


def dollars_text(dollars: float) -> str:
    """The shortest text that reads back as the same number, written as Go's %g writes it.

    Other writers of these stamps are Go programs: below 0.0001 and from a million on the number
    has an exponent.
    """
    if math.isinf(dollars):
        return "+Inf" if dollars > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(dollars)).as_tuple()
    significant = "".join(map(str, digits)).rstrip("0") or "0"
    magnitude = len(digits) - 1 + int(exponent) if any(digits) else 0
    minus = "-" if sign else ""
    if -4 <= magnitude < 6:
        plain = f"{Decimal(repr(abs(dollars))):f}"
        return minus + (plain.rstrip("0").rstrip(".") if "." in plain else plain)
    fraction = f".{significant[1:]}" if len(significant) > 1 else ""
    return f"{minus}{significant[0]}{fraction}e{magnitude:+03d}"


def _int32_of(text: str) -> int | None:
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return None
    number = int(match["sign"] + match["digits"])
    return number if number in _INT32 else None


def _dollars_of(text: str) -> float | None:
    return float(text) if _FLOAT.fullmatch(text) else None
