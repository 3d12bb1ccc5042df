"""Names of rows: those the coordinator writes, and the few a store keeps for itself.

Where rows lie in etcd: all below one prefix, which several fleets may share an etcd by.
"""

import re
from collections.abc import Iterable

import msgspec

from bigfleet.coordinator.keys import value_bytes
from bigfleet.coordinator.stores.contract import Change, Leader
from bigfleet.coordinator.tables import TermRow
from bigfleet.wire.etcd.records import KeyValue

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


def latest(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Each row once, as the last change leaves it; ValueError where a commit may not name it."""
    last = {change.key: change for change in changes}
    for key in last:
        if first_of(key) == TERM:
            raise ValueError(
                "the term is written by the replica that begins to lead, not by a commit"
            )
    return tuple(last.values())


class Keys:
    def __init__(self, prefix: str) -> None:
        self._prefix = f"{prefix.rstrip('/')}/".encode()
        #: Every key of ours is from `first` to before `end`.
        self.first = self._prefix
        self.end = self._prefix[:-1] + b"0"
        self.election = self.of(ELECTION)
        self.restoring = self.of(RESTORING)
        self.term = self.of(TERM)
        self._hidden = {self.of(name) for name in HIDDEN}

    def __str__(self) -> str:
        return self._prefix.decode()

    def of(self, row: str) -> bytes:
        return self._prefix + row.encode()

    def rows_of(self, found: Iterable[KeyValue]) -> Iterable[tuple[str, bytes]]:
        """Also returns names that are not ours: the caller reports them."""
        cut, hidden = len(self._prefix), self._hidden
        return (
            (kv.key[cut:].decode(errors="backslashreplace"), kv.value)
            for kv in found
            if kv.key not in hidden
        )


class _Candidate(msgspec.Struct):
    id: str
    address: str


def leader_bytes(leader: Leader) -> bytes:
    return msgspec.json.encode(_Candidate(leader.replica_id, leader.address))


def leader_of(content: bytes) -> Leader | None:
    """None: the key was not written by a coordinator."""
    try:
        found = msgspec.json.decode(content, type=_Candidate)
    except msgspec.MsgspecError:
        return None
    return Leader(found.id, found.address)
