"""Begins transfers, and asks the next donor where one had nothing to give.

Idle machines first, then slots, then machines in use. A donor that declines or keeps silent is
passed over and the same transfer goes to the next one; when no donor is left, the next tier begins
at once, in its own transfer. Only when that is over too does the receiver rest: otherwise a fleet
with many shards would never come to the second tier.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bigfleet.coordinator.rebalancing import layers
from bigfleet.coordinator.rebalancing.donors import Donor, choose_donor
from bigfleet.coordinator.rebalancing.endings import cancelled
from bigfleet.coordinator.rebalancing.rests import nanoseconds, rest_declined, whole_seconds
from bigfleet.coordinator.rebalancing.scene import Scene
from bigfleet.coordinator.tables import TransferRow
from bigfleet.model.coordination import ShortfallDetail, Transfer, TransferState, TransferTier
from bigfleet.model.reasons import Reason, resources_text

TIERS = (TransferTier.IDLE, TransferTier.SPECULATIVE, TransferTier.DRAIN)


@dataclass(frozen=True, slots=True)
class TransferRequest:
    receiver: str
    shortfall: ShortfallDetail
    #: Transfers for it before, one after another, that did not help.
    stalls: int = 0


def open_transfer(
    scene: Scene, wanted: TransferRequest, tiers: Sequence[TransferTier] = TIERS
) -> TransferRow | Reason:
    """A transfer of the first tier that has a donor, or what speaks against it."""
    against: Reason | None = None
    for tier in tiers:
        if tier is TransferTier.DRAIN:
            reason = layers.why_not_drained(scene, wanted.shortfall)
            if reason is not None:
                return against or reason
        choice = choose_donor(scene, wanted.receiver, wanted.shortfall, tier)
        if choice.donor is not None:
            return _opened(scene, wanted, tier, _within_budget(scene, tier, choice.donor))
        against = against or choice.against
    return against or Reason("rebalance.donor")


def _within_budget(scene: Scene, tier: TransferTier, donor: Donor) -> Donor:
    if tier is not TransferTier.DRAIN:
        return donor
    return replace(donor, most=min(donor.most, scene.rules.max_drain_per_sweep - scene.drained))


def pass_on(scene: Scene, row: TransferRow, why: str, result: str) -> None:
    """The donor has nothing to give, or does not answer: ask the next one, or end it.

    Nothing of this donor's is lost: what it may have reserved is free again when its
    reservation ends, and an answer that comes later is not from the donor of the transfer.
    """
    book, draft, moved = scene.book, scene.draft, row.transfer
    rest_declined(book, row, scene.at)
    scene.closed(row)
    draft.note("transfer", moved.id, f"{moved.from_shard} {why}")
    wanted = _still_wanted(scene, row)
    if isinstance(wanted, Reason):
        cancelled(book, draft, row, f"{moved.from_shard} {why}, and {wanted.text}", result)
        return
    asked = (*row.asked, (moved.from_shard, row.provider))
    choice = choose_donor(scene, wanted.receiver, wanted.shortfall, moved.tier, asked)
    if choice.donor is not None:
        most = min(choice.donor.most, row.most)
        scene.opened(_offered(scene, row, wanted, replace(choice.donor, most=most), asked))
        return
    later = TIERS[TIERS.index(moved.tier) + 1 :]
    went_on = open_transfer(scene, wanted, later) if later else None
    goes_on = isinstance(went_on, TransferRow)
    if isinstance(went_on, TransferRow):
        after = f"{_declined_text(asked)}; transfer {went_on.transfer.id} goes on"
    else:
        after = _declined_text(asked)
    cancelled(book, draft, row, f"{moved.from_shard} {why}, {after}", result, goes_on=goes_on)


def still_short(scene: Scene, row: TransferRow) -> ShortfallDetail | Reason:
    """The shortfall as its shard last told it."""
    moved = row.transfer
    for shortfall in scene.shortfalls(moved.to_shard):
        if shortfall.fingerprint == moved.fingerprint:
            return shortfall
    memory = scene.book.shards.get(moved.to_shard)
    if memory is None or memory.sync is None:
        why = "has not been heard of yet"
    else:
        why = "is not short of it any more"
    return Reason("rebalance.receiver", {"shard": moved.to_shard, "why": why})


def _still_wanted(scene: Scene, row: TransferRow) -> TransferRequest | Reason:
    receiver = row.transfer.to_shard
    if row.transfer.tier is TransferTier.RETURN:
        return Reason("rebalance.donor")
    if reason := layers.why_not_rebalancing(scene.book, scene.draft):
        return reason
    if reason := layers.why_not_receiving(scene, receiver):
        return reason
    shortfall = still_short(scene, row)
    return (
        shortfall
        if isinstance(shortfall, Reason)
        else TransferRequest(receiver, shortfall, row.stalls)
    )


def _opened(scene: Scene, wanted: TransferRequest, tier: TransferTier, donor: Donor) -> TransferRow:
    draft, shortfall = scene.draft, wanted.shortfall
    transfer = Transfer(
        # With the term: after a restore numbers begin again, and shards remember what they did.
        id=f"{scene.book.term}-{draft.next_number()}",
        tier=tier,
        from_shard=donor.shard,
        to_shard=wanted.receiver,
        state=TransferState.OFFERED,
        fingerprint=shortfall.fingerprint,
        priority=shortfall.priority,
        created_at=scene.at,
        hold_seconds=whole_seconds(scene.rules.hold_ttl),
    )
    row = TransferRow(transfer, donor.provider, stalls=wanted.stalls)
    row = _offered(scene, row, wanted, donor, ())
    scene.opened(row)
    return row


def _offered(
    scene: Scene,
    row: TransferRow,
    wanted: TransferRequest,
    donor: Donor,
    asked: tuple[tuple[str, str], ...],
) -> TransferRow:
    shortfall = wanted.shortfall
    reason = _reason_text(wanted, row.transfer.tier, donor)
    if asked:
        reason = f"{reason}; {_declined_text(asked)}"
    row = replace(
        row,
        transfer=replace(row.transfer, from_shard=donor.shard, updated_at=scene.at, reason=reason),
        provider=donor.provider,
        requirements=shortfall.requirements,
        min_unit=shortfall.min_unit,
        deficit=shortfall.deficit,
        most=donor.most,
        due=scene.at + nanoseconds(scene.rules.offer_ttl),
        asked=asked,
    )
    scene.draft.transfers.put(row)
    scene.draft.note("transfer", row.transfer.id, f"{donor.shard} is asked: {reason}")
    return row


def _reason_text(wanted: TransferRequest, tier: TransferTier, donor: Donor) -> str:
    shortfall = wanted.shortfall
    short = resources_text(shortfall.deficit.positive().texts())
    which = {
        TransferTier.IDLE: "free machines",
        TransferTier.SPECULATIVE: "free machines and slots",
        TransferTier.DRAIN: "machines in use",
    }[tier]
    return (
        f"{wanted.receiver} is short of {short} for {shortfall.age_cycles} cycles at priority "
        f"{shortfall.priority}; {donor.shard} has {donor.matching} {which} that may match"
    )


def _declined_text(asked: Sequence[tuple[str, str]]) -> str:
    count = len({shard for shard, _ in asked})
    return f"{count} {'shard' if count == 1 else 'shards'} had nothing to give"
