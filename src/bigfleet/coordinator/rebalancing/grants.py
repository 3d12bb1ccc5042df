"""The grant: the one transaction that makes machines another shard's.

Law: it happens only after the donor has said, durably, that it acts on them no more. In it are the
override rows, the slots of quota that go along, the rests, the instruction to the receiver and the
new revision of ownership; before it no shard may act on the machines, after it only the receiver.
"""

from dataclasses import replace

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing import quotas
from bigfleet.coordinator.rebalancing.rests import lock_direction
from bigfleet.coordinator.tables import OverrideRow, TransferRow
from bigfleet.model.coordination import TransferState, TransferTier, adopt_id
from bigfleet.model.coordinator_calls import CoordinatorInstruction, InstructionKind

#: Rows of one transaction, with some left for what else the call changes: etcd takes 128.
MOST_ROWS = 110
#: Rows of a grant beside those of its machines.
_OTHER_ROWS = 8


def grant_if_possible(book: Book, draft: Draft, row: TransferRow) -> None:
    """Now, or later where the receiver is silent or the transaction has become too large."""
    if row.released and not _is_still_released(book, row):
        return
    fits = not draft.size or draft.size + len(row.transfer.machine_ids) + _OTHER_ROWS <= MOST_ROWS
    if fits and book.is_syncing(row.transfer.to_shard, draft.at):
        _grant(book, draft, row)
    elif not row.released:
        draft.transfers.put(replace(row, released=True))
        text = f"released by {row.transfer.from_shard}; waits for {row.transfer.to_shard}"
        draft.note("transfer", row.transfer.id, text)


def _is_still_released(book: Book, row: TransferRow) -> bool:
    """Whether the donor says so: since it acknowledged the release it may have lost its disk, and
    then the machines are its own again by the view it was given.
    """
    memory = book.shards.get(row.transfer.from_shard)
    held = memory.sync.held_overrides if memory is not None and memory.sync is not None else ()
    marked = {e.machine for e in held if not e.shard and e.transfer == row.transfer.id}
    return marked.issuperset(row.transfer.machine_ids)


def _grant(book: Book, draft: Draft, row: TransferRow) -> None:
    moved = row.transfer
    for machine in moved.machine_ids:
        before = draft.overrides.get(machine)
        home = before.home if before is not None else moved.from_shard
        draft.overrides.put(
            OverrideRow(machine, moved.to_shard, home, moved.id, row.provider, draft.at)
        )
    quotas.move(draft, moved.from_shard, moved.to_shard, row.quota)
    lock_direction(book, draft, row)
    draft.instruct(
        moved.to_shard,
        CoordinatorInstruction(
            adopt_id(moved.id),
            kind_of(moved.tier),
            machine_ids=moved.machine_ids,
            from_shard=moved.from_shard,
            to_shard=moved.to_shard,
        ),
    )
    draft.new_revision()
    draft.transfers.put(
        replace(
            row,
            transfer=replace(moved, state=TransferState.GRANTED, updated_at=draft.at),
            due=None,
            released=False,
            granted_at=draft.at,
        )
    )
    text = f"{len(moved.machine_ids)} machines of {moved.from_shard} are {moved.to_shard}'s now"
    draft.note("transfer", moved.id, text)


def kind_of(tier: TransferTier) -> InstructionKind:
    """Of the instructions that release and adopt: slots go by another name than hosts."""
    if tier is TransferTier.SPECULATIVE:
        return InstructionKind.REASSIGN_SPECULATIVE
    return InstructionKind.TRANSFER_OWNERSHIP
