"""What a store keeps, and the promise it makes: a commit that returns has happened for good.

A store knows rows, not rules. It is called from one thread at a time and never from two.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from bigfleet.model.errors import StartRefused
from bigfleet.model.machines import Instant
from bigfleet.provider.ledger.fences import KeptMark, MarkKey
from bigfleet.provider.ledger.transitions import Kind


class StoreDamaged(StartRefused):
    """The file cannot be trusted; the text says what to do about it."""


class StoreInUse(StartRefused):
    """Another process has the file."""


class StoreFailed(Exception):
    """A commit did not happen; nothing of it is kept."""


class MachineRow(NamedTuple):
    """A tuple, because a fleet's worth of them is made at every start."""

    id: str
    slot: int
    revision: int
    #: The serialised record, and what we remember beside it.
    record: bytes
    standing: bytes


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One accepted operation; without an outcome it is still owed."""

    operation_id: str
    machine_id: str
    kind: Kind
    shard_id: str = ""
    cluster_id: str = ""
    grace_seconds: int = 0
    #: None: not kept.
    blob: bytes | None = field(default=None, repr=False)
    accepted_at: Instant = 0
    #: 0: still waiting for a free place.
    started_at: Instant = 0
    #: The queue's until started, then the work's.
    deadline: Instant = 0
    attempt: int = 1
    note: str = ""
    #: Empty while it runs, then `succeeded`, `failed` or `dropped`.
    outcome: str = ""
    reason: str = ""
    finished_at: Instant = 0

    def finished(self, outcome: str, reason: str, now: Instant) -> "JournalRow":
        """The blob goes with the end of the work."""
        return replace(self, outcome=outcome, reason=reason, finished_at=now, blob=None)


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything one transaction writes."""

    revision: int
    counter: int
    machines: tuple[MachineRow, ...] = ()
    #: Slots that no machine uses any more.
    freed_slots: tuple[int, ...] = ()
    marks: tuple[KeptMark, ...] = ()
    dropped_marks: tuple[MarkKey, ...] = ()
    journal: tuple[JournalRow, ...] = ()
    #: Finished journal rows older than this are forgotten; 0: none.
    forget_before: Instant = 0
    #: How many rows the journal may have then, of any age; 0: any number.
    keep_rows: int = 0


@dataclass(frozen=True, slots=True)
class LoadedState:
    incarnation: str
    revision: int = 0
    counter: int = 0
    machines: tuple[MachineRow, ...] = ()
    marks: tuple[KeptMark, ...] = ()
    #: Operations without an outcome, oldest first.
    pending: tuple[JournalRow, ...] = ()


class Store(Protocol):
    #: Whether a commit waits for a disk and must leave the event loop.
    blocking: bool

    def load(self) -> LoadedState:
        """Opens the store; StoreDamaged or StoreInUse refuse the start."""
        ...

    def commit(self, batch: Batch) -> None:
        """All of it or nothing; StoreFailed if nothing."""
        ...

    def journal(
        self, limit: int = 1000, machine_id: str = "", *, running: bool = False
    ) -> list[JournalRow]:
        """Operations, newest first: of one machine, or without an outcome, where asked for.

        Where the store is blocking, this may be called from any thread beside a commit.
        """
        ...

    def erase(self) -> None:
        """After it, what commits have overwritten so far cannot be read any more."""
        ...

    def backup(self, target: Path) -> None: ...

    def close(self) -> None: ...
