"""Slots of a provider in a region: how many there may be, and which shard may use how many.

Law: allocations never add up to more than the total, unless the total was lowered under them. A
shard gets slots from the unallocated rest, most urgent first; what it leaves unused long is taken
back in two steps, because it may use its slots until it has heard that they are gone. Without a
record there is no limit. What is in use is never taken.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing.rests import nanoseconds
from bigfleet.coordinator.settings import QuotaSettings
from bigfleet.coordinator.tables import AllocationRow, QuotaRow, TransferRow
from bigfleet.model.coordination import (
    OfferReply,
    QuotaAllocation,
    QuotaGrant,
    QuotaUsage,
    SyncRequest,
)
from bigfleet.model.provider_calls import Code, Rejected

#: Provider name, region, slots.
Slots = tuple[str, str, int]

#: Rows one tick changes at most, so that it fits any store's transaction.
_MOST_ROWS = 100


# -- granting ------------------------------------------------------------------------------------


def grants(book: Book, draft: Draft, request: SyncRequest) -> tuple[QuotaGrant, ...]:
    """What the shard may use of everything it uses or could use."""
    used = {(usage.provider, usage.region): usage for usage in request.quota_usage}
    names = {entry.name for entry in request.providers} | {name for name, _ in used}
    limited = {(row.provider, row.region) for name in names for row in draft.quotas.of_first(name)}
    found = []
    for pair in sorted(limited | used.keys()):
        quota, usage = draft.quotas.get(*pair), used.get(pair, QuotaUsage(*pair))
        if draft.numbers.merging:
            found.append(_kept(draft, quota, request.shard_id, usage))
        elif quota is not None:
            found.append(_grant(book, draft, request, quota, usage))
        else:
            found.append(QuotaGrant(*pair, unlimited=True))
    return tuple(found)


def _kept(draft: Draft, quota: QuotaRow | None, shard: str, usage: QuotaUsage) -> QuotaGrant:
    """After a restore: what the shard has is what it was granted since, and it stays so."""
    if quota is not None:
        row = _row(draft, quota, shard)
        _put(draft, replace(row, allocated=usage.allocated, shrinks_to=None))
    unlimited = quota is None and usage.allocated == 0
    return QuotaGrant(usage.provider, usage.region, usage.allocated, unlimited)


def _grant(
    book: Book, draft: Draft, request: SyncRequest, quota: QuotaRow, usage: QuotaUsage
) -> QuotaGrant:
    row = _settled(draft, quota, _row(draft, quota, request.shard_id), usage)
    gained = 0
    if usage.wanted > 0 or usage.in_use > row.allocated:
        gained = _share(book, draft, quota, request.shard_id, usage)
    row = _put(draft, replace(row, allocated=row.allocated + gained))
    if gained:
        text = f"{request.shard_id} may use {row.allocated} of {quota.total} slots"
        draft.note("quota", f"{quota.provider}/{quota.region}", text)
    allocated = row.allocated if row.shrinks_to is None else row.shrinks_to
    return QuotaGrant(quota.provider, quota.region, allocated)


def _settled(draft: Draft, quota: QuotaRow, row: AllocationRow, usage: QuotaUsage) -> AllocationRow:
    """With what the shard is being told to do without: it has heard so, or wants it again."""
    if row.shrinks_to is None:
        return row
    if usage.allocated <= row.shrinks_to:
        # It may have begun to use more before it heard.
        left = min(row.allocated, max(row.shrinks_to, usage.in_use))
        return _put(draft, replace(row, allocated=left, shrinks_to=None))
    if usage.wanted > 0 and _allocated(draft, quota) <= quota.total:
        return _put(draft, replace(row, shrinks_to=None))
    return row


def _share(book: Book, draft: Draft, quota: QuotaRow, shard: str, usage: QuotaUsage) -> int:
    """What the shard gets of the rest, after the shards that come before it."""
    claims = list(_claims(draft, quota, shard, usage))
    for other, told in _usages(book, draft, quota):
        if other != shard:
            claims += _claims(draft, quota, other, told)
    rest = quota.total - _allocated(draft, quota)
    gained = 0
    for _, _, claimant, wanted in sorted(claims):
        given = min(wanted, max(0, rest))
        rest -= given
        if claimant == shard:
            gained += given
    return gained


def _claims(
    draft: Draft, quota: QuotaRow, shard: str, usage: QuotaUsage
) -> Iterator[tuple[int, int, str, int]]:
    """Slots a shard asks for: what it uses already comes before what any shard wants."""
    has = _row(draft, quota, shard).allocated
    if usage.in_use > has:
        yield 0, -usage.top_priority, shard, usage.in_use - has
    if usage.wanted > 0:
        # Said of what it had then; it may have got some of it since.
        asked = max(usage.allocated, usage.in_use) + usage.wanted - max(has, usage.in_use)
        if asked > 0:
            yield 1, -usage.top_priority, shard, asked


# -- taking back ---------------------------------------------------------------------------------


def tick(book: Book, draft: Draft) -> None:
    """Takes back what is not needed; a shard that is not heard of keeps what it has."""
    if draft.numbers.merging:
        return
    for quota in sorted(draft.quotas.values(), key=lambda row: (row.provider, row.region)):
        used = dict(_usages(book, draft, quota))
        for row in _rows(draft, quota):
            if draft.size < _MOST_ROWS and row.shard in used:
                _take_back(book, draft, row, used[row.shard])
        _squeeze(draft, quota, used)
    _drop_orphans(draft)


def _take_back(book: Book, draft: Draft, row: AllocationRow, usage: QuotaUsage) -> None:
    pair, surplus = (row.provider, row.region), book.memory(row.shard).surplus
    keeps = usage.in_use + _slack(book.settings.quota, usage.in_use)
    since, most = surplus.get(pair, (draft.at, 0))
    most = max(most, keeps)
    if row.shrinks_to is not None or usage.wanted > 0 or most >= row.allocated:
        surplus.pop(pair, None)
        return
    surplus[pair] = (since, most)
    if draft.at - since >= nanoseconds(book.settings.quota.takeback_after):
        _shrink(draft, row, most, f"{row.allocated - most} slots were not used for long")
        del surplus[pair]


def _squeeze(draft: Draft, quota: QuotaRow, used: dict[str, QuotaUsage]) -> None:
    """The total was lowered: the least urgent shard first loses what it does not use."""
    over = sum(_effective(row) for row in _rows(draft, quota)) - quota.total
    if over <= 0:
        return
    known = [row for row in _rows(draft, quota) if row.shard in used]
    # Two stable sorts: the least urgent first, among equals the last by name.
    known.sort(key=lambda row: row.shard, reverse=True)
    known.sort(key=lambda row: used[row.shard].top_priority)
    for row in known:
        cut = min(over, _effective(row) - used[row.shard].in_use)
        if cut > 0 and draft.size < _MOST_ROWS:
            _shrink(draft, row, _effective(row) - cut, f"the total is {quota.total} now")
            over -= cut


def _drop_orphans(draft: Draft) -> None:
    """Shares of quotas that are no more; many shards are more than one transaction takes."""
    for row in list(draft.allocations.values()):
        if draft.size >= _MOST_ROWS:
            return
        if draft.quotas.get(row.provider, row.region) is None:
            draft.allocations.delete(row.provider, row.region, row.shard)


def _shrink(draft: Draft, row: AllocationRow, to: int, why: str) -> None:
    draft.allocations.put(replace(row, shrinks_to=to))
    text = f"{row.shard} is to use at most {to} slots instead of {row.allocated}: {why}"
    draft.note("quota", f"{row.provider}/{row.region}", text)


def _slack(rules: QuotaSettings, in_use: int) -> int:
    return max(rules.slack_machines, math.ceil(in_use * rules.slack_fraction))


# -- moving with machines ------------------------------------------------------------------------


def move(draft: Draft, from_shard: str, to_shard: str, slots: Iterable[Slots]) -> None:
    """Allocation goes where its machines go; the sum stays as it is."""
    for provider, region, count in slots:
        quota = draft.quotas.get(provider, region)
        if quota is None:
            continue
        giver, taker = _row(draft, quota, from_shard), _row(draft, quota, to_shard)
        moved = min(count, giver.allocated)
        left = giver.allocated - moved
        shrinks = min(left, giver.shrinks_to) if giver.shrinks_to is not None else None
        _put(draft, replace(giver, allocated=left, shrinks_to=None if shrinks == left else shrinks))
        _put(draft, replace(taker, allocated=taker.allocated + moved))


def slots_of(
    book: Book, draft: Draft, row: TransferRow, machines: Sequence[str], reply: OfferReply
) -> tuple[Slots, ...]:
    """How many of the machines are of each quota, as far as their donor tells.

    One that does not name regions is taken at its largest allocation with that provider.
    """
    donor = row.transfer.from_shard
    name = _provider_name(book, draft, donor, row.provider)
    if not name or not draft.quotas.of_first(name):
        return ()
    if len(reply.regions) == len(reply.machine_ids):
        region_of = dict(zip(reply.machine_ids, reply.regions, strict=True))
        counts = Counter(region_of[machine] for machine in machines)
        return tuple((name, region, count) for region, count in sorted(counts.items()))
    held = [each for each in draft.allocations.of_first(name) if each.shard == donor]
    if not held:
        return ()
    largest = min(held, key=lambda each: (-each.allocated, each.region))
    return ((name, largest.region, len(machines)),)


def _provider_name(book: Book, draft: Draft, shard: str, address: str) -> str:
    memory = book.shards.get(shard)
    entries = memory.sync.providers if memory is not None and memory.sync is not None else ()
    names = [entry.name for entry in entries if entry.address == address]
    names += [row.name for row in draft.providers.values() if row.address == address]
    return min(names, default="")


def drop_shard(draft: Draft, shard: str) -> None:
    for row in [each for each in draft.allocations.values() if each.shard == shard]:
        draft.allocations.delete(row.provider, row.region, row.shard)


# -- what people do ------------------------------------------------------------------------------


def set_quota(
    book: Book, draft: Draft, provider: str, region: str, total: int, *, force: bool = False
) -> QuotaAllocation:
    """Below what is in use only by force: nothing is bought then until so much was given back."""
    if not provider:
        raise Rejected(Code.INVALID_ARGUMENT, "a quota needs the name of a provider")
    if total < 0:
        text = f"a quota of {total} slots: give 0 or more, or delete the quota to have no limit"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    used = sum(_view(book, draft, QuotaRow(provider, region, total)).in_use.values())
    if used > total and not force:
        text = (
            f"{used} slots of {provider} {region} are in use, {used - total} more than {total}: "
            f"nothing could be bought until {used - total} are given back; --force sets it anyway"
        )
        raise Rejected(Code.ABORTED, text)
    draft.quotas.put(QuotaRow(provider, region, total))
    draft.note("quota", f"{provider}/{region}", f"there may be {total} slots in all")
    return _view(book, draft, QuotaRow(provider, region, total))


def delete_quota(book: Book, draft: Draft, provider: str, region: str) -> None:
    quota = draft.quotas.get(provider, region)
    if quota is None:
        text = f"there is no quota for provider {provider!r} in region {region!r}; list them"
        raise Rejected(Code.NOT_FOUND, text)
    draft.quotas.delete(provider, region)
    _drop_orphans(draft)
    draft.note("quota", f"{provider}/{region}", "there is no limit any more")


def quotas(book: Book) -> list[QuotaAllocation]:
    draft = Draft(book.tables, 0)
    rows = sorted(draft.quotas.values(), key=lambda row: (row.provider, row.region))
    return [_view(book, draft, row) for row in rows]


def _view(book: Book, draft: Draft, quota: QuotaRow) -> QuotaAllocation:
    shares = {row.shard: row.allocated for row in _rows(draft, quota)}
    in_use = {shard: usage.in_use for shard, usage in _told(book, draft, quota) if usage.in_use}
    return QuotaAllocation(quota.provider, quota.region, quota.total, shares, in_use)


# -- rows ----------------------------------------------------------------------------------------


def _rows(draft: Draft, quota: QuotaRow) -> list[AllocationRow]:
    rows = draft.allocations.of_first(quota.provider)
    return sorted((row for row in rows if row.region == quota.region), key=lambda row: row.shard)


def _row(draft: Draft, quota: QuotaRow, shard: str) -> AllocationRow:
    row = draft.allocations.get(quota.provider, quota.region, shard)
    return row if row is not None else AllocationRow(quota.provider, quota.region, shard, 0)


def _put(draft: Draft, row: AllocationRow) -> AllocationRow:
    if row.allocated == 0 and row.shrinks_to is None:
        draft.allocations.delete(row.provider, row.region, row.shard)
        return row
    return draft.allocations.put(row)


def _allocated(draft: Draft, quota: QuotaRow) -> int:
    return sum(row.allocated for row in _rows(draft, quota))


def _effective(row: AllocationRow) -> int:
    return row.allocated if row.shrinks_to is None else row.shrinks_to


def _usages(book: Book, draft: Draft, quota: QuotaRow) -> Iterator[tuple[str, QuotaUsage]]:
    """Of shards that have synced lately; one that does not name the pair uses nothing of it."""
    for shard, usage in _told(book, draft, quota):
        if book.is_syncing(shard, draft.at):
            yield shard, usage


def _told(book: Book, draft: Draft, quota: QuotaRow) -> Iterator[tuple[str, QuotaUsage]]:
    nothing = QuotaUsage(quota.provider, quota.region)
    for shard in draft.shards.values():
        memory = book.shards.get(shard.id)
        if shard.removed or memory is None or memory.sync is None:
            continue
        named = (
            usage
            for usage in memory.sync.quota_usage
            if usage.provider == quota.provider and usage.region == quota.region
        )
        yield shard.id, next(named, nothing)
