"""What rests after a transfer, under which name and for how long.

A rest is a row, so that it outlives a fail-over; only declined offers are kept in memory, because
asking a donor once too often costs nothing. Names are part of the store's format. A fingerprint or
a shape comes last in a name, since it may hold anything.
"""

import math
from collections.abc import Iterable

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing.shortages import shape_text
from bigfleet.coordinator.tables import CooldownRow, TransferRow
from bigfleet.model.coordination import TransferTier
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources

_RECEIVER = "receiver"
#: Numbers that shards are told are of 32 bits.
MOST_TOLD = 2**31 - 1


def nanoseconds(seconds: float) -> int:
    return round(seconds * SECOND)


def whole_seconds(seconds: float) -> int:
    """As shards are told: rather longer than shorter, and no more than their message holds."""
    return min(math.ceil(seconds), MOST_TOLD)


def seconds_left(until: Instant, at: Instant) -> int:
    """Whole seconds, as people are told; 0: it is over."""
    return max(0, math.ceil((until - at) / SECOND))


# -- names ---------------------------------------------------------------------------------------


def receiver_scope(shard: str, fingerprint: str) -> str:
    return f"{_RECEIVER} {shard} {fingerprint}"


def return_scope(holder: str, home: str) -> str:
    return f"return {holder} {home}"


def direction_scope(
    giver: str, receiver: str, provider: str, requirements: Iterable[Requirement]
) -> str:
    return f"{direction_start(giver, receiver, provider)}{shape_text(requirements)}"


def direction_start(giver: str, receiver: str, provider: str) -> str:
    """What the names of all shapes that went this way begin with."""
    return f"direction {giver} {receiver} {provider} "


def progress_scope(shard: str, fingerprint: str) -> str:
    return f"progress {shard} {fingerprint}"


def stop_scope(shard: str, fingerprint: str) -> str:
    return f"stop {shard} {fingerprint}"


def declined_name(tier: TransferTier, provider: str, fingerprint: str) -> str:
    return f"{tier.label} {provider} {fingerprint}"


def is_of_receiver(row: CooldownRow) -> bool:
    return row.scope.startswith(f"{_RECEIVER} ")


# -- beginning to rest ---------------------------------------------------------------------------


def rest_receiver(book: Book, draft: Draft, row: TransferRow) -> None:
    """At the end of a transfer, however it ended."""
    rules, moved = book.settings.rebalance, row.transfer
    returns = moved.tier is TransferTier.RETURN
    draft.cooldowns.put(
        CooldownRow(
            return_scope(moved.from_shard, moved.to_shard)
            if returns
            else receiver_scope(moved.to_shard, moved.fingerprint),
            until=draft.at + nanoseconds(rules.cooldown),
            until_cycle=cycle_of(book, moved.to_shard) + rules.cooldown_cycles,
            shard=moved.to_shard,
            requirements=row.requirements,
            min_unit=row.min_unit,
            reason=f"transfer {moved.id} ended",
        )
    )


def lock_direction(book: Book, draft: Draft, row: TransferRow) -> None:
    """At the grant; what goes home has its minimum stay instead, and no shape that is known."""
    moved = row.transfer
    if moved.tier is TransferTier.RETURN:
        return
    draft.cooldowns.put(
        CooldownRow(
            direction_scope(moved.from_shard, moved.to_shard, row.provider, row.requirements),
            until=draft.at + nanoseconds(book.settings.rebalance.direction_lock),
            shard=moved.to_shard,
            reason=f"transfer {moved.id} went this way",
        )
    )


def note_progress(book: Book, draft: Draft, row: TransferRow) -> None:
    """Machines arrived for a shortfall: how large it was before, for the judgement of the next."""
    moved = row.transfer
    if moved.tier is TransferTier.RETURN:
        return
    draft.cooldowns.put(
        CooldownRow(
            progress_scope(moved.to_shard, moved.fingerprint),
            until=draft.at + nanoseconds(book.settings.rebalance.stall_rest),
            count=row.stalls,
            deficit=row.deficit,
            shard=moved.to_shard,
            reason=f"transfer {moved.id} brought {len(moved.machine_ids)} machines",
        )
    )


def rest_declined(book: Book, row: TransferRow, at: Instant) -> None:
    moved = row.transfer
    name = declined_name(moved.tier, row.provider, moved.fingerprint)
    rest = nanoseconds(book.settings.rebalance.decline_rest)
    book.memory(moved.from_shard).declined[name] = at + rest


# -- how long still ------------------------------------------------------------------------------


def cycle_of(book: Book, shard: str) -> int:
    """The shard's newest cycle; 0: it has not spoken to this leader."""
    memory = book.shards.get(shard)
    if memory is None:
        return 0
    told = [each.cycle for each in (memory.sync, memory.report) if each is not None]
    return max(told, default=0)


def cycles_left(book: Book, row: CooldownRow) -> int:
    """Cycles of its shard until the rest is over.

    A shard that starts again counts from the beginning: then the rest lasts as long from there.
    """
    whole = book.settings.rebalance.cooldown_cycles
    left = row.until_cycle - cycle_of(book, row.shard)
    if left > whole:
        left = whole - cycle_of(book, row.shard)
    return max(0, left)


def is_over(book: Book, row: CooldownRow, at: Instant) -> bool:
    return at >= row.until and cycles_left(book, row) == 0


def is_smaller(now: Resources, before: Resources) -> bool:
    """Whether a deficit has shrunk in some dimension."""
    return any(now[name] < amount for name, amount in before.amounts)
