"""What is asked of etcd and what it answers, as records of our own; its failures, by what is known.

Law: a failure says whether something may have happened. A caller that cannot tell asks again; it
never guesses.
"""

from dataclasses import dataclass
from typing import NamedTuple

from bigfleet.model.provider_calls import Code


class EtcdDown(Exception):
    """No endpoint took the call: nothing happened. Says why, endpoint by endpoint."""


class EtcdUnclear(Exception):
    """The call left us and no answer came: it may have happened, or may yet happen."""


class EtcdRefused(Exception):
    """etcd answered no: nothing happened."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code

    @property
    def compacted(self) -> bool:
        """What was asked for is older than what etcd keeps."""
        return self.code is Code.OUT_OF_RANGE


class KeyValue(NamedTuple):
    """A tuple: a new leader makes a hundred thousand of them before its first answer."""

    key: bytes
    value: bytes
    #: Revision of the key's creation; a key that was deleted and came back has a later one.
    created: int
    #: Revision of its last writing.
    written: int
    #: 0: it stays until it is deleted.
    lease: int


@dataclass(frozen=True, slots=True)
class Read:
    """One key, or every key from `key` to before `end`; in key order."""

    key: bytes
    end: bytes = b""
    #: 0: all of them.
    limit: int = 0
    #: As of this revision; 0: now.
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Put:
    key: bytes
    value: bytes
    lease: int = 0


@dataclass(frozen=True, slots=True)
class Delete:
    key: bytes


Operation = Read | Put | Delete


@dataclass(frozen=True, slots=True)
class Created:
    """Holds where the key was created at that revision; 0: where there is none.

    With an `end`, where it holds for every key from `key` to before `end`.
    """

    key: bytes
    revision: int
    end: bytes = b""


@dataclass(frozen=True, slots=True)
class Written:
    """Holds where the key was last written at that revision; 0: where there is none."""

    key: bytes
    revision: int


Guard = Created | Written


@dataclass(frozen=True, slots=True)
class Transaction:
    """`then` where every guard holds, else `otherwise`; whole, or not at all."""

    guards: tuple[Guard, ...]
    then: tuple[Operation, ...]
    otherwise: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class RangePage:
    rows: tuple[KeyValue, ...]
    #: Of the whole store when it was read; a Read of a revision gives the one of its asking.
    revision: int
    #: Rows beyond the limit are left.
    more: bool
    #: Rows there are, with those beyond the limit.
    count: int


@dataclass(frozen=True, slots=True)
class TransactionOutcome:
    #: Every guard did.
    held: bool
    #: Of the whole store after it.
    revision: int
    #: Answers to the reads that were done, in their order.
    pages: tuple[RangePage, ...]


@dataclass(frozen=True, slots=True)
class Lease:
    id: int
    #: What etcd granted; never less than what it takes itself to elect a leader.
    ttl_seconds: int


@dataclass(frozen=True, slots=True)
class KeyChange:
    """Of a watched key."""

    #: None: it is gone.
    now: KeyValue | None
    revision: int
