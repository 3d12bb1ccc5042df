"""What the coordinator asks of every kind of store.

Law: only the leader can commit. A commit is guarded by the reign it was made under; it happens
whole or not at all. When the outcome is unknown, the store raises `StoreUnclear` and the leader
reads everything again before it goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bigfleet.model.errors import StartRefused

#: A row's name: path components, percent-encoded, joined by `/`; its value is canonical JSON.
Rows = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row of a transaction; None deletes it."""

    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Leadership:
    """The time one replica leads."""

    #: Only grows, over every reign of every replica and over restores.
    term: int


@dataclass(frozen=True, slots=True)
class LoadedRows:
    rows: Rows
    #: Of the store; grows with every commit.
    revision: int


@dataclass(frozen=True, slots=True)
class Leader:
    """Who leads, as far as this replica knows."""

    replica_id: str
    address: str


@dataclass(frozen=True, slots=True)
class LatestHeard:
    """The newest term and revision a replica has heard of, from any leader; 0: none yet."""

    term: int = 0
    revision: int = 0


class StoreDown(Exception):
    """The store does not answer, and nothing was changed. Says what to do."""


class StoreUnclear(Exception):
    """A commit may or may not have happened."""


class Deposed(Exception):
    """This replica does not lead any more; nothing was changed."""


class StoreRefused(StartRefused):
    """The store cannot be used at all: locked, damaged, of another version. Says what to do."""


class Store(Protocol):
    #: `sqlite` or `etcd`.
    backend: str
    #: Rows a transaction may hold; None: any number.
    most_changes: int | None

    async def open(self) -> None:
        """Once, before anything else; raises StoreRefused or StoreDown."""
        ...

    async def campaign(self) -> Leadership:
        """Returns when this replica leads, with its term already durable; may wait for ever.

        Cancelling it gives up. Raises StoreDown where the store is out of reach: call again later;
        StoreRefused where the stored rows cannot be used by any leader.
        """
        ...

    async def load(self) -> LoadedRows:
        """Every row, as of one moment not before the reign began. Raises Deposed or StoreDown."""
        ...

    async def commit(self, changes: Sequence[RowChange]) -> int:
        """The revision after it. Raises Deposed, StoreDown, or StoreUnclear."""
        ...

    def still_leads(self) -> bool:
        """By its own clock, no call: False from the moment the lease may have run out."""
        ...

    async def until_deposed(self) -> str:
        """Returns why, when the reign is over."""
        ...

    async def resign(self) -> None:
        """Ends the reign so that another replica can lead at once; never raises."""
        ...

    def leader(self) -> Leader | None:
        """Who leads, as last heard; None: no leader is known."""
        ...

    def heard(self) -> LatestHeard: ...

    def trouble(self) -> str:
        """Why the store cannot be reached, as a sentence; empty: it can."""
        ...

    async def close(self) -> None: ...
