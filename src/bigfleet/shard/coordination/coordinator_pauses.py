"""The coordinator's pauses through a restart: they hold until it says otherwise, reached or not."""

from collections.abc import Mapping

import msgspec

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseScope, PauseSource

KEY = "pauses"
#: How long everything rests where they cannot be read: the default of a pause.
_UNREADABLE = 4 * 3600 * SECOND


def row_of(pauses: tuple[Pause, ...]) -> bytes:
    return msgspec.json.encode(pauses)


def kept_pauses(stored: Mapping[str, bytes], at: Instant) -> tuple[Pause, ...]:
    """The coordinator's, of an earlier life. What cannot be read stops everything until the next
    sync: something was to be stopped."""
    row = stored.get(KEY)
    if row is None:
        return ()
    try:
        return msgspec.json.decode(row, type=tuple[Pause, ...])
    except msgspec.MsgspecError as problem:
        why = f"what was kept of the coordinator's pauses cannot be read: {problem}"
        until = at + _UNREADABLE
        source = PauseSource.COORDINATOR
        return (Pause("unreadable", source, PauseScope(), "bigfleet", why, at, until),)
