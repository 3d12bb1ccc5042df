"""Where rows lie in etcd: all below one prefix, which several fleets may share an etcd by."""

from collections.abc import Iterable

import msgspec

from bigfleet.coordinator.stores.contract import Leader
from bigfleet.coordinator.stores.rows import ELECTION, HIDDEN, RESTORING, TERM
from bigfleet.wire.etcd.records import KeyValue


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
