"""SyncShard: what a shard says of itself, and everything it is to know.

One call is one transaction. The view of ownership is added once it is committed, so that no shard
hears of a row that might still be lost.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import bindings, instructions, pauses, registry, snapshot_merge
from bigfleet.coordinator.membership.checks import require, require_shard
from bigfleet.coordinator.membership.reports import attach
from bigfleet.coordinator.rebalancing import quotas, shortages, transfers
from bigfleet.coordinator.tables import ShardRow
from bigfleet.model.coordination import (
    OfferingBackoff,
    SyncReply,
    SyncRequest,
    Transfer,
    TransferState,
)
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import MachineOverride
from bigfleet.model.provider_calls import Code, Rejected

#: While something moves.
SOON_MILLIS = 200
#: For one that has just been given something to do, and for one that has been asked something.
AT_ONCE_MILLIS, ANSWER_MILLIS = 20, 50
#: While the coordinator collects what every shard holds.
MERGING_MILLIS = 1000
#: Of the time nothing has happened: who waits for long is asked seldom.
_PATIENCE = 4


def on_sync(book: Book, draft: Draft, request: SyncRequest) -> SyncReply:
    """Raises Rejected."""
    require(shard_id=request.shard_id)
    if draft.shards.get(request.shard_id) is None:
        text = f"shard_id {request.shard_id} has not reported yet: call ReportShard first"
        raise Rejected(Code.NOT_FOUND, text)
    row = require_shard(draft, request.shard_id)
    _same_life(row, request)
    if request.ownership_revision > draft.numbers.revision:
        snapshot_merge.begin(book, draft, request)
    row = _attached(book, draft, row, request)
    misbound = bindings.bind(book, draft, request)
    _remember(book, row.id, request, draft.at)
    reply = SyncReply(
        book.term,
        quotas=quotas.grants(book, draft, request),
        pauses=pauses.pauses_for(book, row.id, draft.at),
        misbound=misbound,
        providers=registry.registered(book),
        backoffs=_backoffs(book, row, draft.at),
    )
    if draft.numbers.merging:
        snapshot_merge.on_sync_while_merging(book, draft, request)
        return replace(reply, next_sync_millis=MERGING_MILLIS, merging=True)
    instructions.take_up_early(book, draft, row.id)
    for offered in request.offer_replies:
        transfers.on_offer_reply(book, draft, row.id, offered)
    told = transfers.transfers_for(book, draft, row.id, request.held_overrides)
    return replace(
        reply,
        offers=transfers.offers_for(book, draft, row.id),
        transfers=_decided(draft, told, request.held_overrides),
        next_sync_millis=_next_sync_millis(book, draft, request),
    )


def finish_sync(book: Book, request: SyncRequest, reply: SyncReply) -> SyncReply:
    """With the view, where the shard has not the newest one; call it after the commit."""
    row = book.shard(request.shard_id)
    if row is None or book.merging or request.ownership_revision >= book.revision_for(row):
        return reply
    return replace(reply, ownership=book.view_for(row))


def _same_life(row: ShardRow, request: SyncRequest) -> None:
    if request.epoch < row.epoch:
        raise Rejected(
            Code.ABORTED,
            f"shard_epoch {request.epoch} of {row.id} is over: its epoch is now {row.epoch}; look"
            " for a second process with this shard id and stop the older one",
        )
    if request.epoch > row.epoch:
        raise Rejected(
            Code.ABORTED,
            f"shard_epoch {request.epoch} of {row.id} has not reported yet, {row.epoch} has: call"
            " ReportShard first",
        )


def _attached(book: Book, draft: Draft, row: ShardRow, request: SyncRequest) -> ShardRow:
    if not row.syncs:
        row = draft.shards.put(replace(row, syncs=True))
    addresses = {entry.address for entry in request.providers}
    report = book.memory(row.id).report
    if report is not None:
        addresses.add(report.summary.provider_address)
    return attach(draft, row, addresses)


def _remember(book: Book, shard: str, request: SyncRequest, at: Instant) -> None:
    """Not what an older call says that was under way for long."""
    memory = book.memory(shard)
    known = memory.sync
    memory.synced_at = at
    if known is not None and (known.epoch, known.cycle) > (request.epoch, request.cycle):
        return
    memory.sync = request
    # A shortfall lasts when another cycle finds it again, not when the same one is told twice.
    same = known is not None and (known.epoch, known.cycle) == (request.epoch, request.cycle)
    before = memory.streaks
    memory.streaks = Counter(
        {
            each.fingerprint: max(1, before[each.fingerprint] + (0 if same else 1))
            for each in request.shortfalls
        }
    )
    rules = book.settings.rebalance
    memory.is_short_of(shortages.judged(request.shortfalls, memory.streaks, rules))


def _backoffs(book: Book, row: ShardRow, at: Instant) -> tuple[OfferingBackoff, ...]:
    """What other shards with the same providers have found to be sold out: the longest of each."""
    found: dict[tuple[str, str], OfferingBackoff] = {}
    mine = set(row.providers)
    for other in book.tables.shards.rows.values():
        known = book.shards.get(other.id)
        if other.id == row.id or known is None or known.sync is None or other.removed:
            continue
        if not known.sync.backoffs or mine.isdisjoint(other.providers):
            continue
        for each in known.sync.backoffs:
            name = (each.offering, each.kind)
            if each.until > at and (name not in found or found[name].until < each.until):
                found[name] = each
    return tuple(found[name] for name in sorted(found))


def _decided(
    draft: Draft, told: Iterable[Transfer], held: Iterable[MachineOverride]
) -> tuple[Transfer, ...]:
    """A mark goes when a view shows the row that its transfer wrote. Where that row is gone before
    the donor saw it, overwritten by a later move or deleted, the transfer is over for it all the
    same: its newest view alone says whose the machine is.
    """
    stuck = {
        mark.transfer
        for mark in held
        if not mark.shard
        and ((row := draft.overrides.get(mark.machine)) is None or row.transfer != mark.transfer)
    }
    return tuple(
        replace(each, state=TransferState.CANCELLED)
        if each.state is TransferState.DONE and each.id in stuck
        else each
        for each in told
    )


def _next_sync_millis(book: Book, draft: Draft, request: SyncRequest) -> int:
    """Soon while something moves; the longer nothing does, the later."""
    shard = request.shard_id
    newest, memory = instructions.newest(draft, shard), book.memory(shard)
    untold = newest is not None and newest.sequence > memory.told_up_to
    if newest is not None and untold and newest.created_at == draft.at:
        # Queued by what this very call says: it goes out with the next report, and that is all.
        return AT_ONCE_MILLIS
    if transfers.was_just_asked(draft, shard):
        return ANSWER_MILLIS
    if transfers.wants_sync(book, draft, shard) or not bindings.is_bound(draft, request):
        return SOON_MILLIS
    if newest is None:
        return 0
    if untold:
        return SOON_MILLIS
    idle = draft.at - memory.stirred_at
    millis = max(SOON_MILLIS, idle // _PATIENCE // (SECOND // 1000))
    interval_millis = round(book.settings.stale_after * 1000 / 3)
    return millis if millis < interval_millis else 0
