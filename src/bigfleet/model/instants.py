"""RFC 3339 times as whole nanoseconds since the Unix epoch, and back."""

import re
from datetime import UTC, datetime, timedelta

from bigfleet.model.machines import Instant

_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: What fits a signed 64-bit column, with room left to add a hold or a grace.
EARLIEST, LATEST = -(2**62), 2**62


def instant_of(text: str) -> Instant | None:
    """The instant `text` names, None if it is not an RFC 3339 time we can hold."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    day, clock, fraction, offset = match.groups()
    zone = "+00:00" if offset in "Zz" else offset
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone}")
    except ValueError:
        return None
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    instant = seconds * 1_000_000_000 + int((fraction or "0").ljust(9, "0"))
    return instant if EARLIEST <= instant <= LATEST else None


def instant_text(instant: Instant) -> str:
    """The canonical text: UTC, as many digits of a second as there are."""
    seconds, nanos = divmod(instant, 1_000_000_000)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + fraction + "Z"
