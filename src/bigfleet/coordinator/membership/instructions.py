"""What shards are told to do: the queue of each, and what becomes of their answers.

An instruction is a row until it is acknowledged, so no fail-over loses one; its term is stamped
when it is sent. That a shard gave up a domain counts once it is known to have the view that shows
it: an acknowledgement made on an older view might leave machines out that the shard still acts on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import domains
from bigfleet.coordinator.membership.handovers import (
    ASSIGN,
    FULL,
    UNASSIGN,
    pair_of,
    pair_text,
)
from bigfleet.coordinator.rebalancing import transfers
from bigfleet.coordinator.tables import InstructionRow, sequence_key
from bigfleet.model.backoffs import Backoff
from bigfleet.model.coordination import PendingInstruction
from bigfleet.model.coordinator_calls import AckOutcome, CoordinatorInstruction, InstructionAck
from bigfleet.model.machines import Instant

#: Per reply.
MOST = 64
#: Failures after which an instruction is given up.
TRIES = 5
#: Between two tries.
_RESTS = Backoff(1.0, 8.0)

_DOMAIN_KINDS = (ASSIGN, UNASSIGN)


# -- sending -------------------------------------------------------------------------------------


def deliveries(
    book: Book, draft: Draft, shard: str, at: Instant
) -> tuple[CoordinatorInstruction, ...]:
    """In the order of their numbers. Where more wait than fit, every reply brings others: some may
    wait for hours until a machine is free.
    """
    if draft.numbers.merging:
        return ()
    memory = book.memory(shard)
    fresh: list[InstructionRow] = []
    again: list[InstructionRow] = []
    for row in _deliverable(book, draft, shard, at):
        if row.sequence > memory.sent_up_to:
            fresh.append(row)
        elif len(again) <= MOST:
            again.append(row)
        if len(fresh) == MOST:
            break
    chosen = (fresh + again)[:MOST]
    if len(fresh) + len(again) <= MOST:
        memory.sent_up_to = max((row.sequence for row in chosen), default=0)
    else:
        memory.sent_up_to = chosen[-1].sequence
    chosen.sort(key=lambda row: row.sequence)
    if chosen and chosen[-1].sequence > memory.told_up_to:
        memory.told_up_to, memory.stirred_at = chosen[-1].sequence, at
    memory.retried.update(row.instruction.id for row in chosen if row.attempts)
    return tuple(replace(row.instruction, term=book.term) for row in chosen)


def _deliverable(book: Book, draft: Draft, shard: str, at: Instant) -> Iterator[InstructionRow]:
    syncing, early = book.is_syncing(shard, at), book.memory(shard).early
    for row in _queue(draft, shard):
        told = row.instruction
        fits = syncing or told.kind in _DOMAIN_KINDS
        if fits and row.not_before <= at and told.id not in early:
            yield row


def _queue(draft: Draft, shard: str) -> Iterator[InstructionRow]:
    """Of one shard; mostly in order, without a copy of what may be very long."""
    table, changed = draft.instructions.table, draft.instructions.changed
    for key, row in table.by_first.get(shard, {}).items():
        current = changed.get(key, row)
        if current is not None:
            yield current
    for key, new in list(changed.items()):
        if new is not None and key[0] == shard and key not in table.rows:
            yield new


def newest(draft: Draft, shard: str) -> InstructionRow | None:
    """The last that waits for the shard."""
    for key in reversed(draft.instructions.table.by_first.get(shard, {})):
        row = draft.instructions.get(*key)
        if row is not None:
            return row
    return max(_queue(draft, shard), key=lambda row: row.sequence, default=None)


def pending(book: Book, shard: str) -> list[PendingInstruction]:
    """Of one shard, or of all where it is empty."""
    table = book.tables.instructions
    rows = table.by_first.get(shard, {}) if shard else table.rows
    return [
        PendingInstruction(
            row.shard,
            replace(row.instruction, term=book.term),
            row.attempts,
            row.created_at,
            row.last_outcome,
            row.last_reason,
        )
        for row in sorted(rows.values(), key=lambda row: (row.shard, row.sequence))
    ]


# -- answers -------------------------------------------------------------------------------------


def on_acks(book: Book, draft: Draft, shard: str, acks: Iterable[InstructionAck]) -> None:
    """Acknowledgements come more than once; those of unknown instructions say nothing new."""
    if draft.numbers.merging:
        # What they would complete is made anew from what the shards hold.
        return
    for ack in acks:
        row = _find(draft, shard, ack.instruction_id)
        if row is None:
            continue
        book.memory(shard).stirred_at = draft.at
        match ack.outcome:
            case AckOutcome.ACCEPTED:
                _on_accepted(book, draft, row)
            case AckOutcome.FAILED:
                _on_failed(book, draft, row, ack)
            case AckOutcome.REJECTED_INVALID:
                _count(draft, row, ack)
                _give_up(book, draft, row, f"{shard} does not understand it: {ack.reason}")
            case AckOutcome.REJECTED_STALE:
                _count(draft, row, ack)
                draft.instructions.put(
                    replace(row, last_outcome=ack.outcome, last_reason=ack.reason)
                )
            case AckOutcome.UNSPECIFIED:
                continue


def take_up_early(book: Book, draft: Draft, shard: str) -> None:
    """What was acknowledged before it could count, as far as it counts now."""
    early = book.memory(shard).early
    if draft.numbers.merging:
        early.clear()
    for name in list(early):
        row = _find(draft, shard, name)
        early.discard(name)
        if row is not None:
            _on_accepted(book, draft, row)


def _on_accepted(book: Book, draft: Draft, row: InstructionRow) -> None:
    told = row.instruction
    if told.kind is UNASSIGN and (draft.size >= FULL or not _has_seen(book, draft, row)):
        book.memory(row.shard).early.add(told.id)
        return
    draft.drop_instruction(row)
    if told.kind is UNASSIGN:
        domains.on_unassigned(book, draft, row.shard, pair_of(told))
    elif told.kind not in _DOMAIN_KINDS:
        transfers.on_step_done(book, draft, row)


def _on_failed(book: Book, draft: Draft, row: InstructionRow, ack: InstructionAck) -> None:
    retried = book.memory(row.shard).retried
    if row.attempts and row.instruction.id not in retried:
        # The same failure again: it has not been sent since.
        return
    retried.discard(row.instruction.id)
    _count(draft, row, ack)
    attempts = row.attempts + 1
    if attempts >= TRIES:
        why = f"{row.shard} failed {TRIES} times, lastly because {ack.reason or 'of nothing named'}"
        _give_up(book, draft, row, why)
        return
    draft.instructions.put(
        replace(
            row,
            attempts=attempts,
            last_outcome=ack.outcome,
            last_reason=ack.reason,
            not_before=_RESTS.after(attempts, draft.at),
        )
    )


def _give_up(book: Book, draft: Draft, row: InstructionRow, why: str) -> None:
    draft.drop_instruction(row)
    told, then = row.instruction, ""
    if told.kind is UNASSIGN:
        then = (
            f"; {pair_text(pair_of(told))} belongs to no shard: ask for it again when the cause is"
            f" gone, or remove {row.shard}"
        )
    draft.note("instruction_dropped", told.id, f"{told.id} to {row.shard} is dropped: {why}{then}")
    if told.kind not in _DOMAIN_KINDS:
        transfers.on_step_failed(book, draft, row, why)


def _count(draft: Draft, row: InstructionRow, ack: InstructionAck) -> None:
    draft.count(
        "instruction_failures_total", kind=row.instruction.kind.value, outcome=ack.outcome.label
    )


def _has_seen(book: Book, draft: Draft, row: InstructionRow) -> bool:
    """Whether the shard is known to have a view that shows what the instruction is about.

    One that does not sync has no views: its acknowledgement is all there is.
    """
    shard = draft.shards.get(row.shard)
    if shard is None or not shard.syncs:
        return True
    sync = book.memory(row.shard).sync
    if sync is None or sync.epoch != shard.epoch:
        return False
    return sync.ownership_revision >= min(row.revision, book.revision_for(shard))


def _find(draft: Draft, shard: str, name: str) -> InstructionRow | None:
    head, _, _ = name.partition("/")
    number = head.removeprefix("dom-")
    if head.startswith("dom-") and number.isdecimal():
        row = draft.instructions.get(shard, sequence_key(int(number)))
        return row if row is not None and row.instruction.id == name else None
    return next((row for row in _queue(draft, shard) if row.instruction.id == name), None)
