"""What shards are short of, and why no other shard helps: as people are shown it.

A sweep leaves its reason with each shortfall it looks at; the sentence is made here, for those that
are shown. All of it is soft: a new leader knows no shortfall before its shard has synced, and no
reason before its first sweep, and says so.
"""

from collections.abc import Iterator, Mapping
from heapq import nsmallest

from bigfleet.coordinator.book import Book, ShardMemory
from bigfleet.coordinator.rebalancing import layers
from bigfleet.model.coordination import (
    ShortfallDetail,
    ShortfallList,
    ShortfallView,
    TransferTier,
)
from bigfleet.model.reasons import Reason

#: Rows of one answer: forty milliseconds of the leader's time where shards are short of 20,000.
MOST_SHOWN = 1_000


def shortfalls(book: Book, shard: str, limit: int) -> ShortfallList:
    """Of one shard, or of all where it is empty; `limit` 0: as many as may be shown."""
    members = {row.id for row in book.tables.shards.rows.values() if not row.removed}
    asked = sorted(members & {shard} if shard else members)
    heard = {name: memory for name in asked if (memory := _heard(book, name)) is not None}
    most = min(limit, MOST_SHOWN) if limit > 0 else MOST_SHOWN
    rows = [(name, each) for name, memory in heard.items() for each in _details(memory)]
    opened = _open_transfers(book)
    return ShortfallList(
        tuple(
            _view(book, name, heard[name], each, opened.get((name, each.fingerprint), ""))
            for name, each in nsmallest(most, rows, key=_urgency)
        ),
        len(rows),
        tuple(name for name in asked if name not in heard),
    )


def _heard(book: Book, shard: str) -> ShardMemory | None:
    memory = book.shards.get(shard)
    return memory if memory is not None and memory.sync is not None else None


def _details(memory: ShardMemory) -> Iterator[ShortfallDetail]:
    return (row.shortfall for row in memory.shortages.by_fingerprint.values())


def _urgency(row: tuple[str, ShortfallDetail]) -> tuple[int, int, str, str]:
    """As a sweep goes through them."""
    shard, each = row
    return (-each.priority, -each.age_cycles, shard, each.fingerprint)


def _open_transfers(book: Book) -> Mapping[tuple[str, str], str]:
    """By receiver and fingerprint."""
    moving = (row.transfer for row in book.tables.transfers.rows.values())
    return {
        (moved.to_shard, moved.fingerprint): moved.id
        for moved in moving
        if moved.state.open and moved.tier is not TransferTier.RETURN
    }


def _view(
    book: Book, shard: str, memory: ShardMemory, each: ShortfallDetail, transfer: str
) -> ShortfallView:
    swept = memory.swept.get(each.fingerprint)
    reason = layers.is_open(transfer) if transfer else _reason_now(book, swept)
    return ShortfallView(
        shard,
        each.fingerprint,
        each.deficit,
        each.priority,
        each.age_cycles,
        reason.told,
        transfer,
        memory.swept_at if swept is not None else None,
    )


def _reason_now(book: Book, swept: Reason | None) -> Reason:
    """Of a shortfall for which no transfer is open; one may have ended since the sweep."""
    if swept is None:
        return Reason("rebalance.sweep", {"interval": book.settings.rebalance.interval})
    if swept.code != layers.OPEN:
        return swept
    transfer = swept.facts["transfer"]
    row = book.tables.transfers.get(transfer)
    state = row.transfer.state.label if row is not None else "over"
    return Reason(layers.OPEN, {"transfer": transfer, "state": state})
