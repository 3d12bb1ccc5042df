"""Why an instruction may leave its queue: it is done, given up, or called off with its cause."""

from collections import Counter

from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership.handovers import ASSIGN, UNASSIGN, holding, pair_of
from bigfleet.coordinator.membership.instructions import TRIES
from bigfleet.coordinator.tables import InstructionRow
from bigfleet.model.coordination import TransferState, transfer_of
from bigfleet.model.coordinator_calls import AckOutcome

Heard = Counter[tuple[str, str, AckOutcome]]


def why_dropped(row: InstructionRow, draft: Draft, heard: Heard) -> str:
    """Empty: there is no reason."""
    told = row.instruction
    if heard[row.shard, told.id, AckOutcome.ACCEPTED]:
        return "done"
    if heard[row.shard, told.id, AckOutcome.FAILED] >= TRIES and row.attempts == TRIES - 1:
        return "failed"
    shard = draft.shards.get(row.shard)
    if shard is None or shard.removed:
        return "its shard is removed"
    merging = draft.seq.table.get()
    if merging is not None and merging.merging:
        return "from before a restore"
    if told.kind in (ASSIGN, UNASSIGN):
        return _why_overtaken(row, draft)
    return _why_called_off(row, draft)


def _why_overtaken(row: InstructionRow, draft: Draft) -> str:
    """What was asked of the shard is the opposite of what it is to do by now."""
    now = holding(draft, pair_of(row.instruction))
    holds = now is not None and row.shard in now.holders
    if row.instruction.kind is UNASSIGN:
        return "" if holds else "it is to have the domain after all"
    return "it is to give the domain up" if holds or now is None else ""


def _why_called_off(row: InstructionRow, draft: Draft) -> str:
    transfer, step = transfer_of(row.instruction.id)
    moved = draft.transfers.get(transfer)
    if moved is None or not moved.transfer.state.open:
        return "the transfer is over"
    if step == "drain" and moved.transfer.state is not TransferState.DRAINING:
        return "the transfer has moved on"
    return ""
