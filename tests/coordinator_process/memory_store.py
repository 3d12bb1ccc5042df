"""A store in memory, for several replicas: who holds the lease leads, and faults come at will."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from bigfleet.coordinator.keys import value_bytes
from bigfleet.coordinator.stores.contract import (
    Deposed,
    LatestHeard,
    Leader,
    Leadership,
    LoadedRows,
    RowChange,
    StoreDown,
    StoreUnclear,
)
from bigfleet.coordinator.tables import TermRow
from bigfleet.edge.clock import SECOND, Clock
from bigfleet.model.machines import Instant


class Fault(Enum):
    #: The store does not answer.
    DOWN = auto()
    #: It took the commit, and its answer got lost.
    UNCLEAR_TAKEN = auto()
    #: The commit got lost.
    UNCLEAR_LOST = auto()


@dataclass(slots=True)
class SharedRows:
    """What all replicas share."""

    rows: dict[str, bytes] = field(default_factory=dict)
    revision: int = 0
    term: int = 0
    leader: Leader | None = None
    #: Which reign holds the lease.
    holder: object = None
    vacant: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.vacant.set()

    def depose(self) -> None:
        """As when the lease runs out."""
        self.leader = self.holder = None
        self.vacant.set()


class MemoryStore:
    backend = "sqlite"
    most_changes: int | None = None

    def __init__(self, shared: SharedRows, me: Leader, clock: Clock) -> None:
        self._shared = shared
        self._me = me
        self._clock = clock
        self._mine: object = None
        self._over: asyncio.Future[str] | None = None
        #: Asked before every load and commit.
        self.fault: Fault | None = None
        #: A commit waits here while it is cleared.
        self.free = asyncio.Event()
        self.free.set()
        #: Until when the lease surely runs; None: for ever.
        self.lease_ends: Instant | None = None
        self.loads = self.commits = 0

    async def open(self) -> None:
        self._check()

    async def campaign(self) -> Leadership:
        self._check()
        while True:
            await self._shared.vacant.wait()
            if self._shared.holder is None:
                break
        self._shared.vacant.clear()
        self._mine = self._shared.holder = object()
        self._shared.leader = self._me
        self._shared.term += 1
        self._shared.rows["term"] = value_bytes(TermRow(self._shared.term))
        self._over = asyncio.get_running_loop().create_future()
        return Leadership(self._shared.term)

    async def load(self) -> LoadedRows:
        self.loads += 1
        self._check()
        self._check_leads()
        return LoadedRows(dict(self._shared.rows), self._shared.revision)

    async def commit(self, changes: Sequence[RowChange]) -> int:
        self.commits += 1
        await self.free.wait()
        fault = self.fault
        if fault is Fault.DOWN:
            raise StoreDown(self.trouble())
        self._check_leads()
        if fault is not Fault.UNCLEAR_LOST:
            for change in changes:
                self._shared.rows.pop(change.key, None)
                if change.value is not None:
                    self._shared.rows[change.key] = change.value
            self._shared.revision += 1
        if fault is not None:
            raise StoreUnclear("the answer got lost")
        return self._shared.revision

    def still_leads(self) -> bool:
        if self._mine is None or self._over is None or self._over.done():
            return False
        return self.lease_ends is None or self._clock.now() < self.lease_ends

    async def until_deposed(self) -> str:
        assert self._over is not None
        return await asyncio.shield(self._over)

    def lose(self) -> None:
        """The reign is over, and this replica has heard of it."""
        self._shared.depose()
        if self._over is not None and not self._over.done():
            self._over.set_result("the lease is gone")

    async def resign(self) -> None:
        if self._mine is not None and self._shared.holder is self._mine:
            self.lose()
        self._mine = None

    def leader(self) -> Leader | None:
        return self._shared.leader

    def heard(self) -> LatestHeard:
        return LatestHeard(self._shared.term, self._shared.revision)

    def trouble(self) -> str:
        return "the store does not answer" if self.fault is Fault.DOWN else ""

    async def close(self) -> None:
        await self.resign()

    def _check(self) -> None:
        if self.fault is Fault.DOWN:
            raise StoreDown(self.trouble())

    def _check_leads(self) -> None:
        if self._mine is None or self._shared.holder is not self._mine:
            raise Deposed("another replica leads")


def in_seconds(clock: Clock, seconds: float) -> Instant:
    return clock.now() + round(seconds * SECOND)
