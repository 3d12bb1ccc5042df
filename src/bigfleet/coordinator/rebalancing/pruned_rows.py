"""What is over is forgotten, so that rows stay few however long the fleet lives.

A transfer is kept for an hour after its end: people look back, and the donor's hourly rate is
counted from it. A cancelled one is kept as long as its donor still says that it has not acted on
it. The row of a machine that is home again goes when its stay is over and its owner says that
nothing would change.
"""

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing.rests import is_over, nanoseconds
from bigfleet.coordinator.tables import CooldownRow, OverrideRow, TransferRow
from bigfleet.model.machines import Instant

KEPT_SECONDS = 3600.0


def prune(book: Book, draft: Draft, most_rows: int) -> None:
    """At most so many rows at once; the rest waits for the next sweep."""
    ended = [
        row
        for row in draft.transfers.values()
        if not row.transfer.state.open
        and draft.at - row.transfer.updated_at > nanoseconds(KEPT_SECONDS)
    ]
    for transfer in ended:
        if draft.size < most_rows and not _is_marked(book, transfer):
            draft.transfers.delete(transfer.transfer.id)
    for rest in [row for row in draft.cooldowns.values() if _is_over(book, row, draft.at)]:
        if draft.size < most_rows:
            draft.cooldowns.delete(rest.scope)
    _prune_overrides(book, draft, most_rows)


def _is_over(book: Book, row: CooldownRow, at: Instant) -> bool:
    """A shard that is gone has no cycles to count."""
    return is_over(book, row, at) or at - row.until > nanoseconds(KEPT_SECONDS)


def _is_marked(book: Book, row: TransferRow) -> bool:
    memory = book.shards.get(row.transfer.from_shard)
    held = memory.sync.held_overrides if memory is not None and memory.sync is not None else ()
    return any(not each.shard and each.transfer == row.transfer.id for each in held)


def _prune_overrides(book: Book, draft: Draft, most_rows: int) -> None:
    stay = nanoseconds(book.settings.rebalance.min_stay)
    home_again = [
        row
        for row in draft.overrides.values()
        if row.shard == row.home and draft.at - row.moved_at > stay
    ]
    named: dict[str, set[str] | None] = {}
    for row in home_again:
        if draft.size >= most_rows:
            return
        if row.shard not in named:
            named[row.shard] = _named_by_owner(book, draft, row)
        held = named[row.shard]
        if held is not None and row.machine not in held:
            draft.overrides.delete(row.machine)
            draft.new_revision()
            text = f"{row.machine} is at home: it follows its domain again"
            draft.note("override", row.machine, text)


def _named_by_owner(book: Book, draft: Draft, row: OverrideRow) -> set[str] | None:
    """Machines whose rows matter to their owner; None: it has not said so of the newest view."""
    shard, memory = book.shard(row.shard), book.shards.get(row.shard)
    if shard is None or memory is None or memory.sync is None:
        return None
    if not book.is_syncing(row.shard, draft.at):
        return None
    if memory.sync.ownership_revision < book.revision_for(shard):
        return None
    return {each.machine for each in memory.sync.held_overrides}
