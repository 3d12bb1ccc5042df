"""Puts a whole state into an empty store, while no coordinator runs on it.

What is put in is all there is afterwards, its term included; a store that holds anything is refused
and left as it is.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from bigfleet.coordinator.stores.contract import Rows, StoreDown, StoreRefused
from bigfleet.coordinator.stores.etcd import MOST_CHANGES
from bigfleet.coordinator.stores.etcd_keys import Keys
from bigfleet.coordinator.stores.rows import TERM, first_of, term_of
from bigfleet.coordinator.stores.sqlite import unusable
from bigfleet.coordinator.stores.sqlite_file import FILE, make
from bigfleet.edge.files import DirLock
from bigfleet.edge.sqlite_files import FileRefused
from bigfleet.model.errors import StartRefused
from bigfleet.wire.etcd.client import EtcdClient
from bigfleet.wire.etcd.records import (
    Created,
    Delete,
    EtcdDown,
    EtcdRefused,
    EtcdUnclear,
    Operation,
    Put,
    Read,
    Transaction,
    TransactionOutcome,
)

#: Of one transaction: well below what etcd takes in a request, 1.5 MiB.
_MOST_BYTES = 1_000_000
_AGAIN = "nothing is lost: delete what lies there and restore again"


async def restore_into_file(data_dir: Path, rows: Rows) -> None:
    """Whole or not at all; raises StoreRefused or StoreDown."""
    _check(rows)
    await asyncio.to_thread(_make_file, data_dir, rows)


def _make_file(data_dir: Path, rows: Rows) -> None:
    path = data_dir / FILE
    try:
        lock = DirLock(data_dir, "coordinator")
    except StartRefused as refused:
        raise StoreRefused(str(refused)) from refused
    try:
        if path.exists():
            raise StoreRefused(
                f"{path} is there already, and a restore replaces nothing; move {path.name}, "
                f"{path.name}-wal and {path.name}-shm away, or name another --data-dir"
            )
        make(path, rows)
    except FileRefused as refused:
        kind = StoreDown if refused.passing else StoreRefused
        raise kind(unusable(path, str(refused))) from refused
    finally:
        lock.release()


async def restore_into_etcd(client: EtcdClient, prefix: str, rows: Rows) -> None:
    """Row by row, and usable when the last has arrived; raises StoreRefused or StoreDown.

    While it runs, and where it is broken off, no coordinator begins to lead there.
    """
    _check(rows)
    keys = Keys(prefix)
    try:
        begun = await _begin(client, keys)
        guard = Created(keys.restoring, begun.revision)
        for batch in _batches(keys, rows):
            _must_hold(await client.commit(Transaction((guard,), batch)), keys)
        _must_hold(await client.commit(Transaction((guard,), (Delete(keys.restoring),))), keys)
    except (EtcdDown, EtcdUnclear) as problem:
        raise StoreDown(f"etcd does not answer: {problem}. Below {keys} {_AGAIN}") from problem
    except EtcdRefused as problem:
        raise StoreDown(f"etcd refuses: {problem}. Below {keys} {_AGAIN}") from problem


async def _begin(client: EtcdClient, keys: Keys) -> TransactionOutcome:
    begun = await client.commit(
        Transaction(
            (Created(keys.first, 0, keys.end),),
            (Put(keys.restoring, b""),),
            (Read(keys.first, keys.end, limit=1), Read(keys.election)),
        )
    )
    if begun.held:
        return begun
    found, election = begun.pages
    leads = ", and a coordinator leads there: stop it first" if election.rows else ""
    raise StoreRefused(
        f"below {keys} lie {found.count} keys already{leads}; a restore replaces nothing. Delete "
        f"them with `etcdctl del --prefix {keys}`, or name another --etcd-prefix"
    )


def _batches(keys: Keys, rows: Rows) -> Iterator[tuple[Operation, ...]]:
    batch: list[Operation] = []
    size = 0
    for name, value in rows.items():
        key = keys.of(name)
        if len(batch) == MOST_CHANGES or (batch and size + len(key) + len(value) > _MOST_BYTES):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(Put(key, value))
        size += len(key) + len(value)
    if batch:
        yield tuple(batch)


def _must_hold(outcome: TransactionOutcome, keys: Keys) -> None:
    if not outcome.held:
        raise StoreRefused(f"another process writes below {keys}; stop it. There {_AGAIN}")


def _check(rows: Rows) -> None:
    for key in rows:
        first_of(key)
    if term_of(rows.get(TERM)) < 1:
        raise ValueError("a state to restore has a term above 0")
