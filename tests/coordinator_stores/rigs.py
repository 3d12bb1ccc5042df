"""Stores to test: one of each kind, made as often as a test likes over the same rows."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

from bigfleet.coordinator.stores.contract import Leader, RowChange, Rows, Store, StoreDown
from bigfleet.coordinator.stores.etcd import PAGE_ROWS, EtcdStore
from bigfleet.coordinator.stores.restore import restore_into_etcd, restore_into_file
from bigfleet.coordinator.stores.rows import term_bytes
from bigfleet.coordinator.stores.sqlite import SqliteStore
from bigfleet.edge.clock import Clock, next_turn
from bigfleet.edge.driver import RealClock
from bigfleet.wire.etcd.client import EtcdClient

#: Long enough for a machine that does much else; a wait ends with its event.
PATIENCE = 60.0
#: A lease that does not run out in a test, however slow the machine.
LONG_TTL = 120.0
#: The shortest lease a quick etcd grants.
SHORT_TTL = 1.0
#: Elects within a tenth of a second, and so grants leases of a second.
QUICK = ("--heartbeat-interval=10", "--election-timeout=100")
_NUMBERS = count()


def leader(name: str) -> Leader:
    return Leader(name, f"{name}.example:7790")


class Rig(Protocol):
    """A place where rows lie."""

    def store(self, name: str = "a") -> Store:
        """Not open yet."""
        ...

    async def restore(self, rows: Rows) -> None: ...


@dataclass(frozen=True, slots=True)
class FileRig:
    data_dir: Path

    def store(self, name: str = "a") -> SqliteStore:
        return SqliteStore(self.data_dir, leader(name), RealClock())

    async def restore(self, rows: Rows) -> None:
        await restore_into_file(self.data_dir, rows)


@dataclass(frozen=True, slots=True)
class EtcdRig:
    endpoints: Sequence[str]
    prefix: str
    ttl_seconds: float = LONG_TTL
    page_rows: int = PAGE_ROWS

    def store(
        self, name: str = "a", client: EtcdClient | None = None, clock: Clock | None = None
    ) -> EtcdStore:
        return EtcdStore(
            client or EtcdClient(self.endpoints),
            self.prefix,
            leader(name),
            clock or RealClock(),
            self.ttl_seconds,
            self.page_rows,
        )

    async def restore(self, rows: Rows) -> None:
        client = EtcdClient(self.endpoints)
        try:
            await restore_into_etcd(client, self.prefix, rows)
        finally:
            await client.close()


def fresh_prefix() -> str:
    return f"/test/{next(_NUMBERS)}"


@asynccontextmanager
async def opened(*stores: Store) -> AsyncIterator[None]:
    """Open within; closed after."""
    try:
        for store in stores:
            await store.open()
        yield
    finally:
        for store in stores:
            await store.close()


@asynccontextmanager
async def leading(store: Store) -> AsyncIterator[int]:
    """Open, and leading in the term it gives."""
    async with opened(store):
        yield (await store.campaign()).term


def put(**rows: bytes | str) -> list[RowChange]:
    """By name with `__` for a slash; text for what reads better so."""
    return [RowChange(name.replace("__", "/"), as_bytes(value)) for name, value in rows.items()]


def dropped(*names: str) -> list[RowChange]:
    return [RowChange(name, None) for name in names]


def as_bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value


async def rows_of(store: Store) -> Mapping[str, bytes]:
    """Without the term: that differs from reign to reign."""
    rows = dict((await store.load()).rows)
    rows.pop("term")
    return rows


async def rows_when_reached(store: Store) -> Mapping[str, bytes]:
    """Of a store that may need a moment to find its way back."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await rows_of(store)
            except StoreDown:
                await next_turn()


def state(term: int, **rows: str) -> Rows:
    """To restore."""
    return {"term": term_bytes(term), **{c.key: as_bytes(c.value or b"") for c in put(**rows)}}


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await next_turn()


def numbered(first: str, numbers: Iterator[int] | range) -> list[RowChange]:
    return [RowChange(f"{first}/{number:06}", b'{"n":%d}' % number) for number in numbers]
