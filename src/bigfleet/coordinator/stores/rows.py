"""Names of rows: those the coordinator writes, and the few a store keeps for itself."""

import re
from collections.abc import Iterable

import msgspec

from bigfleet.coordinator.keys import value_bytes
from bigfleet.coordinator.stores.contract import RowChange
from bigfleet.coordinator.tables import TermRow

#: The highest term there was. Loaded like any row, written only when a replica begins to lead.
TERM = "term"
#: Who leads, where that is not the one process there is.
ELECTION = "election"
#: Stands while a state is being put in.
RESTORING = "restoring"
#: How many transactions there were, where the store does not count them itself.
REVISION = "revision"
#: No rows of the coordinator: never loaded.
HIDDEN = frozenset({ELECTION, RESTORING, REVISION})

_FIRST = re.compile(r"(?!sqlite_)[a-z][a-z0-9_]*\Z")


def term_bytes(term: int) -> bytes:
    return value_bytes(TermRow(term))


def term_of(content: bytes | None) -> int:
    """0: there was no leader yet. Raises ValueError where it is not a term row."""
    return msgspec.json.decode(content, type=TermRow).term if content is not None else 0


def first_of(key: str) -> str:
    """The first path component; ValueError: no row is named so."""
    first = key.partition("/")[0]
    if not _FIRST.match(first) or first in HIDDEN:
        raise ValueError(f"no row of the coordinator may be named {key!r}")
    return first


def latest(changes: Iterable[RowChange]) -> tuple[RowChange, ...]:
    """Each row once, as the last change leaves it; ValueError where a commit may not name it."""
    last = {change.key: change for change in changes}
    for key in last:
        if first_of(key) == TERM:
            raise ValueError(
                "the term is written by the replica that begins to lead, not by a commit"
            )
    return tuple(last.values())
