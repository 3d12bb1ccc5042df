"""Every step of a transfer after its beginning, as shards and people take it.

OFFERED -> (DRAINING) -> RELEASING -> GRANTED -> DONE, or CANCELLED before the grant. Each step is a
row written before a shard hears of it, so the next leader goes on from there. A return names its
machines from the start: the donor answers with those of them that are still free.
"""

from collections.abc import Iterable
from dataclasses import replace

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.rebalancing import endings, layers
from bigfleet.coordinator.rebalancing.grants import grant_if_possible, kind_of
from bigfleet.coordinator.rebalancing.quotas import slots_of
from bigfleet.coordinator.rebalancing.rests import nanoseconds
from bigfleet.coordinator.rebalancing.scene import Scene
from bigfleet.coordinator.rebalancing.transfer_start import pass_on, still_short
from bigfleet.coordinator.tables import InstructionRow, TransferRow
from bigfleet.model.coordination import (
    OfferReply,
    OfferRequest,
    Transfer,
    TransferState,
    TransferTier,
    drain_id,
    release_id,
    transfer_of,
)
from bigfleet.model.coordinator_calls import CoordinatorInstruction, InstructionKind
from bigfleet.model.ownership import MachineOverride
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.reasons import Reason

#: How long a donor may drain: the longest grace is 10 min, and a provider has 10 min more.
DRAIN_SECONDS = 1800.0
#: How long both sides are told of a transfer that has ended.
TOLD_SECONDS = 120.0
#: How long both sides are asked to hurry after each step.
EAGER_SECONDS = 10.0
#: In which a donor that is asked for machines answers, if it can at all.
ANSWER_SECONDS = 1.0
#: Rows that transfers may take of the transaction that removes a shard.
_MOST_DROPPED = 60

#: States that the next message of a shard may end.
_STEPPING = (TransferState.OFFERED, TransferState.RELEASING, TransferState.GRANTED)


# -- what a shard is told ------------------------------------------------------------------------


def offers_for(book: Book, draft: Draft, shard: str) -> tuple[OfferRequest, ...]:
    """What it is asked for; the same again until it has answered."""
    if draft.numbers.merging:
        return ()
    asked = [row for row in draft.transfers.values() if _is_asked(row, shard)]
    keep_machines, keep_per_mille = layers.margin_told(book.settings.rebalance)
    return tuple(
        OfferRequest(
            row.transfer.id,
            row.transfer.tier,
            row.requirements,
            row.min_unit,
            row.deficit,
            row.transfer.priority,
            row.most,
            row.provider,
            book.settings.rebalance.offer_ttl,
            keep_machines,
            keep_per_mille,
        )
        for row in sorted(asked, key=_by_age)
    )


def transfers_for(
    book: Book, draft: Draft, shard: str, held: Iterable[MachineOverride]
) -> tuple[Transfer, ...]:
    """Transfers it takes part in, and those whose end it has not acted on yet.

    A mark of an unknown transfer is of one that has ended: whether it moved the machine is
    in the override rows of the view, and without such a row the machine is as it was.
    """
    if draft.numbers.merging:
        return ()
    marks = dict.fromkeys(each.transfer for each in held if not each.shard and each.transfer)
    since = draft.at - nanoseconds(TOLD_SECONDS)
    found = [
        row.transfer
        for row in draft.transfers.values()
        if (shard in _sides(row) and (row.transfer.state.open or row.transfer.updated_at >= since))
        or row.transfer.id in marks
    ]
    forgotten = [
        Transfer(
            mark, TransferTier.IDLE, shard, "", TransferState.CANCELLED, reason="ended long ago"
        )
        for mark in marks
        if draft.transfers.get(mark) is None
    ]
    return (*sorted(found, key=lambda moved: (moved.created_at, moved.id)), *forgotten)


def wants_sync(book: Book, draft: Draft, shard: str) -> bool:
    """Whether the shard should not wait for its interval: a step of its transfers is due.

    Not for long: who cannot take the step now is not asked five times a second until it can.
    """
    since = draft.at - nanoseconds(EAGER_SECONDS)
    return any(
        row.transfer.state in _STEPPING
        and row.transfer.updated_at >= since
        and shard in _sides(row)
        for row in draft.transfers.values()
    )


def was_just_asked(draft: Draft, shard: str) -> bool:
    """Whether it has an offer to answer, which takes a donor no time worth mentioning."""
    since = draft.at - nanoseconds(ANSWER_SECONDS)
    return any(
        _is_asked(row, shard) and row.transfer.updated_at >= since
        for row in draft.transfers.values()
    )


# -- what a shard says ---------------------------------------------------------------------------


def on_offer_reply(book: Book, draft: Draft, shard: str, reply: OfferReply) -> None:
    """An answer to something that is not asked any more changes nothing."""
    row = draft.transfers.get(reply.transfer)
    if row is None or row.transfer.from_shard != shard or draft.numbers.merging:
        return
    state = row.transfer.state
    if state is TransferState.OFFERED and not reply.drained:
        _on_offered(Scene(book, draft), row, reply)
    elif state is TransferState.DRAINING and (reply.drained or reply.declined_reason):
        _on_drained(Scene(book, draft), row, reply)


def _on_offered(scene: Scene, row: TransferRow, reply: OfferReply) -> None:
    book, draft, moved = scene.book, scene.draft, row.transfer
    if reply.declined_reason:
        pass_on(scene, row, f"declined: {reply.declined_reason}", "declined")
        return
    if reason := _why_called_off(scene, row):
        endings.cancelled(book, draft, row, reason.text)
        return
    machines, cut = _movable(scene, row, reply.machine_ids)
    if not machines:
        why = f"offers nothing that may move: {cut.text}" if cut else "offers nothing"
        pass_on(scene, row, why, "declined")
        return
    row = replace(row, quota=slots_of(book, draft, row, machines, reply))
    if moved.tier is TransferTier.DRAIN:
        _drain(draft, row, machines)
    else:
        _release(book, draft, row, machines)


def _on_drained(scene: Scene, row: TransferRow, reply: OfferReply) -> None:
    book, draft, moved = scene.book, scene.draft, row.transfer
    if reason := _why_called_off(scene, row):
        endings.cancelled(book, draft, row, reason.text)
        return
    named = [machine for machine in reply.machine_ids if machine in moved.machine_ids]
    machines, cut = _movable(scene, row, named)
    if machines and not reply.declined_reason:
        row = replace(row, quota=slots_of(book, draft, row, machines, reply))
        _release(book, draft, row, machines)
        return
    why = reply.declined_reason or (cut.text if cut else "nothing became free")
    text = f"{moved.from_shard} drained for nothing: {why}"
    endings.cancelled(book, draft, row, text, "failed")


def on_step_done(book: Book, draft: Draft, row: InstructionRow) -> None:
    """The instruction was accepted, and its row is gone."""
    transfer, step = transfer_of(row.instruction.id)
    moving = draft.transfers.get(transfer)
    if moving is None or not moving.transfer.state.open:
        return
    state = moving.transfer.state
    if draft.numbers.merging:
        endings.abandoned(draft, moving, "the store was restored", "restored")
    elif step == "release" and state is TransferState.RELEASING:
        grant_if_possible(book, draft, moving)
    elif step == "adopt" and state is TransferState.GRANTED:
        machines, receiver = len(moving.transfer.machine_ids), moving.transfer.to_shard
        endings.done(book, draft, moving, f"{receiver} has adopted {machines} machines")


def on_step_failed(book: Book, draft: Draft, row: InstructionRow, reason: str) -> None:
    """The instruction was given up, and its row is gone."""
    transfer, step = transfer_of(row.instruction.id)
    moving = draft.transfers.get(transfer)
    if moving is None or not moving.transfer.state.open:
        return
    text = f"{row.shard} could not {step}: {reason}"
    if moving.transfer.state is TransferState.GRANTED:
        # Ownership has moved in any case; what the receiver lists is its own from here on.
        endings.done(book, draft, moving, f"{text}; the machines are its own", "unconfirmed")
    else:
        endings.cancelled(book, draft, moving, text, "failed")


# -- what people do ------------------------------------------------------------------------------


def cancel(book: Book, draft: Draft, transfer_id: str, reason: str) -> Transfer:
    row = draft.transfers.get(transfer_id)
    if row is None:
        text = f"no transfer {transfer_id} is known; list them with their ends to see its name"
        raise Rejected(Code.NOT_FOUND, text)
    if row.transfer.state in (TransferState.GRANTED, TransferState.DONE):
        raise Rejected(
            Code.ABORTED,
            f"transfer {transfer_id} is {row.transfer.state.label}: its machines belong to "
            f"{row.transfer.to_shard} by now, and go home when they have been idle for long enough",
        )
    if row.transfer.state is TransferState.CANCELLED:
        return row.transfer
    return endings.cancelled(book, draft, row, reason or "called off").transfer


def transfers(book: Book, include_finished: bool, limit: int) -> list[Transfer]:
    """Newest first; `limit` 0: all of them."""
    found = [
        row.transfer
        for row in book.tables.transfers.rows.values()
        if include_finished or row.transfer.state.open
    ]
    found.sort(key=lambda moved: (-moved.created_at, moved.id))
    return found[:limit] if limit > 0 else found


def drop_shard(book: Book, draft: Draft, shard: str) -> None:
    """It is being removed: nothing is moved to or from it any more.

    As many transfers as one transaction takes; sweeps end the others, and meanwhile none of them
    can be granted to a shard that is removed, or released by it.
    """
    for row in [each for each in draft.transfers.values() if shard in _sides(each)]:
        if draft.size >= _MOST_DROPPED:
            return
        if row.transfer.state.open and not _outlives(row, shard):
            endings.abandoned(draft, row, f"{shard} was removed", "removed")


def end_without(draft: Draft, row: TransferRow) -> bool:
    """Ends a transfer one side of which is gone; False: both are there."""
    for shard in _sides(row):
        known = draft.shards.get(shard)
        if (known is None or known.removed) and not _outlives(row, shard):
            endings.abandoned(draft, row, f"{shard} was removed", "removed")
            return True
    return False


def _outlives(row: TransferRow, shard: str) -> bool:
    """After the grant the donor is not needed any more."""
    return row.transfer.state is TransferState.GRANTED and row.transfer.to_shard != shard


def abandon_open(draft: Draft, why: str, most_rows: int | None = None) -> None:
    """Ends every transfer that is under way in rows that were restored from a snapshot.

    Since the snapshot a transfer may have been granted, and its machines moved on: asked again, the
    donor would acknowledge a release it did long ago, and the grant would make them two shards'.
    """
    for row in [each for each in draft.transfers.values() if each.transfer.state.open]:
        if most_rows is not None and draft.size >= most_rows:
            return
        endings.abandoned(draft, row, why, "restored")


# -- steps ---------------------------------------------------------------------------------------


def _why_called_off(scene: Scene, row: TransferRow) -> Reason | None:
    """Why machines that are there to be released are not wanted after all."""
    receiver = row.transfer.to_shard
    if reason := layers.why_not_rebalancing(scene.book, scene.draft):
        return reason
    memory = scene.book.shards.get(receiver)
    if row.transfer.tier is TransferTier.RETURN or memory is None or memory.sync is None:
        # A shard that has not spoken to a new leader yet is given the benefit of the doubt.
        return None
    short = still_short(scene, row)
    return short if isinstance(short, Reason) else None


def _movable(
    scene: Scene, row: TransferRow, machines: Iterable[str]
) -> tuple[tuple[str, ...], Reason | None]:
    """Those that may move, as many as may, and why the first other one may not."""
    kept: list[str] = []
    cut: Reason | None = None
    for machine in dict.fromkeys(machines):
        if reason := layers.why_not_movable(scene, row, machine):
            cut = cut or reason
        else:
            kept.append(machine)
    return tuple(kept[: row.most]), cut


def _drain(draft: Draft, row: TransferRow, machines: tuple[str, ...]) -> None:
    moved = row.transfer
    instruction = CoordinatorInstruction(
        drain_id(moved.id),
        InstructionKind.CROSS_SHARD_DRAIN,
        machine_ids=machines,
        preemptor_priority=moved.priority,
        from_shard=moved.from_shard,
        to_shard=moved.to_shard,
    )
    due = draft.at + nanoseconds(DRAIN_SECONDS)
    _step(draft, row, TransferState.DRAINING, machines, due, instruction)


def _release(book: Book, draft: Draft, row: TransferRow, machines: tuple[str, ...]) -> None:
    moved = row.transfer
    endings.pull_back(draft, row)
    instruction = CoordinatorInstruction(
        release_id(moved.id),
        kind_of(moved.tier),
        machine_ids=machines,
        from_shard=moved.from_shard,
        to_shard=moved.to_shard,
    )
    # As long as the donor keeps them apart: later it would refuse anyhow.
    due = draft.at + nanoseconds(book.settings.rebalance.offer_ttl)
    _step(draft, row, TransferState.RELEASING, machines, due, instruction)


def _step(
    draft: Draft,
    row: TransferRow,
    state: TransferState,
    machines: tuple[str, ...],
    due: int,
    instruction: CoordinatorInstruction,
) -> None:
    moved = replace(row.transfer, state=state, machine_ids=machines, updated_at=draft.at)
    draft.transfers.put(replace(row, transfer=moved, due=due))
    draft.instruct(moved.from_shard, instruction)
    text = f"{moved.from_shard} has {len(machines)} machines for {moved.to_shard}: {state.label}"
    draft.note("transfer", moved.id, text)


def _is_asked(row: TransferRow, shard: str) -> bool:
    moved = row.transfer
    return moved.state is TransferState.OFFERED and moved.from_shard == shard


def _sides(row: TransferRow) -> tuple[str, str]:
    return row.transfer.from_shard, row.transfer.to_shard


def _by_age(row: TransferRow) -> tuple[int, str]:
    return row.transfer.created_at, row.transfer.id
