"""How a transfer ends, and what ends with it.

A cancelled transfer takes its pending instructions with it in the same transaction. That is safe at
every moment before the grant, also while the release may be in the donor's hands:

- The donor has not released: the instruction is gone, or finds the transfer cancelled when it
  arrives late, and the donor goes on owning the machines.
- The donor has released, and its acknowledgement is on its way or lost: it keeps its mark, and with
  it acts on nothing, until it sees the transfer CANCELLED; then the machines are judged by its view
  again, which still names it. The receiver's view never named the receiver.
- The acknowledgement was processed first: then the transfer is GRANTED and cannot be cancelled, or
  it waits for its receiver, and the donor still acts on nothing.

Grant and cancellation are transactions on one row, so exactly one of them happens, and only the
grant writes override rows. Time alone decides nothing: what is overdue is cancelled by a
transaction, or goes on.
"""

from dataclasses import replace

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing.rests import note_progress, rest_receiver
from bigfleet.coordinator.tables import TransferRow
from bigfleet.model.coordination import TransferState, transfer_of


def done(book: Book, draft: Draft, row: TransferRow, why: str, result: str = "done") -> None:
    """The machines are the receiver's, even if it could not take them."""
    note_progress(book, draft, row)
    rest_receiver(book, draft, row)
    _end(draft, row, TransferState.DONE, why, result)


def cancelled(
    book: Book,
    draft: Draft,
    row: TransferRow,
    why: str,
    result: str = "cancelled",
    *,
    goes_on: bool = False,
) -> TransferRow:
    """Before the grant only. `goes_on`: another transfer for the same shortfall takes its place."""
    assert row.granted_at is None, f"transfer {row.transfer.id} is granted"
    if not goes_on:
        rest_receiver(book, draft, row)
    return _end(draft, row, TransferState.CANCELLED, why, result)


def abandoned(draft: Draft, row: TransferRow, why: str, result: str) -> TransferRow:
    """It cannot go on: one side is gone, or the store was restored and what has become of the
    transfer since then is unknown.
    """
    granted = row.transfer.state is TransferState.GRANTED
    state = TransferState.DONE if granted else TransferState.CANCELLED
    return _end(draft, row, state, why, result)


def _end(
    draft: Draft, row: TransferRow, state: TransferState, why: str, result: str
) -> TransferRow:
    moved = row.transfer
    pull_back(draft, row)
    told = f"{moved.reason}; {why}" if moved.reason else why
    ended = replace(
        row,
        transfer=replace(moved, state=state, updated_at=draft.at, reason=told),
        due=None,
        released=False,
    )
    draft.transfers.put(ended)
    draft.count("transfers_total", tier=moved.tier.label, result=result)
    draft.note(
        "transfer",
        moved.id,
        f"{moved.from_shard} to {moved.to_shard}, {len(moved.machine_ids)} machines: "
        f"{state.label}, {why}",
    )
    return ended


def pull_back(draft: Draft, row: TransferRow) -> None:
    """Withdraws the transfer's instructions from both shards."""
    moved = row.transfer
    for shard in {moved.from_shard, moved.to_shard}:
        for pending in draft.instructions.of_first(shard):
            if transfer_of(pending.instruction.id)[0] == moved.id:
                draft.drop_instruction(pending)
