"""Offers: what this shard would give to a shortfall of another one.

A request is answered once, and the same answer is given until its transfer has moved on; what is
offered is reserved for it, so that no Need here takes it meanwhile. A donor keeps a margin of what
it offers from: lending the last free machine only moves the shortfall.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from bigfleet.engine.donation import is_claimed
from bigfleet.model.backoffs import nanos
from bigfleet.model.coordination import OfferReply, OfferRequest, Transfer, TransferTier
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.ownership import OwnershipView
from bigfleet.model.resources import Resources
from bigfleet.shard.coordination.context import (
    CoordinationContext,
    is_offered_to,
    offered,
    offered_to,
    transfer_name,
)
from bigfleet.shard.coordination.surveys import STATE_OF_TIER
from bigfleet.shard.coordination.transfers import Transfers
from bigfleet.shard.effects import COORDINATION

#: Machines looked at one by one for an offer: nearly all that the survey found are as it saw them.
LOOKED_AT = 1000
#: Keys of answers in state.db.
PREFIX = "offer/"


class AnsweredOffer(msgspec.Struct, frozen=True):
    """An answer, with what is needed to give it again after a restart."""

    tier: TransferTier
    reply: OfferReply
    #: A transfer may come back for machines of another provider.
    provider_address: str = ""
    fingerprint: str = ""
    reserve_seconds: float = 60.0


class Offers:
    def __init__(self, context: CoordinationContext, transfers: Transfers) -> None:
        self._context = context
        self._transfers = transfers
        #: By transfer, until it has moved on.
        self._answers: dict[str, AnsweredOffer] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def load(self, rows: Mapping[str, bytes]) -> None:
        """Answers of an earlier life."""
        for key, row in rows.items():
            if key.startswith(PREFIX):
                try:
                    self._answers[key.removeprefix(PREFIX)] = msgspec.json.decode(
                        row, type=AnsweredOffer
                    )
                except msgspec.MsgspecError:
                    # Asked again it is answered again; what it reserved ends by itself.
                    self._context.effects.persist(COORDINATION, key, None)

    # -- asking ----------------------------------------------------------------------------------

    def of(self, transfer: str) -> AnsweredOffer | None:
        return self._answers.get(transfer)

    def is_answered(self, request: OfferRequest) -> bool:
        answer = self._answers.get(request.transfer)
        return answer is not None and (answer.tier, answer.provider_address) == (
            request.tier,
            request.provider_address,
        )

    def replies(self) -> tuple[OfferReply, ...]:
        """For the next sync; of what drains by now, only its end is told."""
        return tuple(
            self._current(answer)
            for transfer, answer in self._answers.items()
            if answer.reply.drained or not self._transfers.is_draining(transfer)
        )

    # -- events ----------------------------------------------------------------------------------

    def answer(
        self,
        request: OfferRequest,
        transfer: Transfer | None,
        candidates: Sequence[str],
        at: Instant,
    ) -> None:
        """`candidates`: what the survey found, in the order they are given; a return names
        its machines itself.
        """
        if self.is_answered(request):
            return
        self.forget(request.transfer)
        fingerprint = transfer.fingerprint if transfer else ""
        if request.tier is TransferTier.RETURN:
            candidates = transfer.machine_ids if transfer else ()
        reply = self._resolved(request, candidates)
        self._keep(
            AnsweredOffer(
                request.tier,
                reply,
                request.provider_address,
                fingerprint,
                request.reserve_seconds,
            )
        )
        name = transfer_name(request.transfer)
        if reply.declined_reason:
            text = f"nothing is offered to {name}: {reply.declined_reason}"
            self._context.effects.log("info", "offer_declined", text, transfer=request.transfer)
            return
        if request.tier is not TransferTier.DRAIN:
            until = at + nanos(request.reserve_seconds)
            self._context.decision_loop.reserve(
                offered(machine, request.transfer, fingerprint, until)
                for machine in reply.machine_ids
            )
        kind = "could be drained for" if request.tier is TransferTier.DRAIN else "offered to"
        for machine in reply.machine_ids:
            self._context.tell(machine, at, f"{kind} transfer {name}")
        text = f"{len(reply.machine_ids)} machines are offered to {name} ({request.tier.label})"
        self._context.effects.log("info", "offer_made", text, transfer=request.transfer)

    def drained(self, transfer: str, machines: Sequence[str], why_none: str, at: Instant) -> None:
        """The machines of a drain are free, or none of them will be."""
        covered = self._context.capacity(machines)
        declined = "" if machines else why_none
        regions = self._regions(machines)
        reply = OfferReply(transfer, tuple(machines), covered, declined, True, regions)
        nothing = AnsweredOffer(TransferTier.DRAIN, reply)
        answer = msgspec.structs.replace(self._answers.get(transfer, nothing), reply=reply)
        self._keep(answer)
        until = at + nanos(answer.reserve_seconds)
        self._context.decision_loop.reserve(
            offered(m, transfer, answer.fingerprint, until) for m in machines
        )

    def moved_on(self, transfer: str, wanted: Iterable[str]) -> None:
        """The answer was heard; what is wanted of it stays reserved."""
        if self._answers.pop(transfer, None) is not None:
            self._context.effects.persist(COORDINATION, PREFIX + transfer, None)
        kept = frozenset(wanted)
        free = [
            machine
            for machine, reservation in self._context.decision_loop.reservations.items()
            if machine not in kept and is_offered_to(reservation, transfer)
        ]
        if free:
            self._context.decision_loop.unreserve(free)

    def forget(self, transfer: str) -> None:
        """The transfer is over: nothing is reserved for it any more."""
        self.moved_on(transfer, ())

    def open_transfers(self) -> set[str]:
        """Transfers that were answered, or that something is reserved for."""
        held = self._context.decision_loop.reservations.values()
        return {*self._answers, *(name for each in held if (name := offered_to(each)))}

    # -- within ----------------------------------------------------------------------------------

    def _current(self, answer: AnsweredOffer) -> OfferReply:
        """What was reserved in vain for too long is not offered any more."""
        reply = answer.reply
        if reply.declined_reason or (answer.tier is TransferTier.DRAIN and not reply.drained):
            return reply
        held = self._context.decision_loop.reservations
        if all(is_offered_to(held.get(machine), reply.transfer) for machine in reply.machine_ids):
            return reply
        text = "what was offered is not kept any more: it waited too long, or is gone"
        return OfferReply(reply.transfer, declined_reason=text, drained=reply.drained)

    def _resolved(self, request: OfferRequest, candidates: Sequence[str]) -> OfferReply:
        context = self._context
        why = context.checks.why_nothing_moves()
        if not why and context.provider_at(request.provider_address) is None:
            why = f"this shard is not attached to {request.provider_address}"
        if not why and request.deficit.is_zero() and request.tier is not TransferTier.RETURN:
            why = "nothing is missing"
        chosen: list[str] = []
        if not why:
            chosen, why = self._chosen(request, candidates)
        if not chosen:
            return OfferReply(request.transfer, declined_reason=why)
        covered, regions = context.capacity(chosen), self._regions(chosen)
        return OfferReply(request.transfer, tuple(chosen), covered, regions=regions)

    def _regions(self, machines: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self._context.quotas.region_of, machines))

    def _chosen(self, request: OfferRequest, candidates: Iterable[str]) -> tuple[list[str], str]:
        """Machines as they are now, in the order given; or why there is none."""
        context, state = self._context, STATE_OF_TIER[request.tier]
        known = list(candidates)
        free, missing, returns = len(known), request.deficit, request.tier is TransferTier.RETURN
        chosen: list[str] = []
        why = f"no {state.label} machine that fits is free here"
        for machine in known[:LOOKED_AT]:
            if len(chosen) >= request.max_machines or (missing.is_zero() and not returns):
                break
            if gone := self._why_not(machine, request):
                free, why = free - 1, gone
                continue
            if len(chosen) >= free - _margin(request, free):
                why = f"the {free} that would fit are kept here as a margin"
                break
            offers = context.machines.truth(machine).effective_allocatable
            if not returns and not _adds(offers, missing):
                continue
            chosen.append(machine)
            missing = missing.less(offers)
        return chosen, why

    def _why_not(self, machine: str, request: OfferRequest) -> str:
        state = STATE_OF_TIER[request.tier]
        if request.tier is TransferTier.DRAIN:
            return self._context.why_not_at_rest(machine, state, request.transfer)
        return self._context.why_not_free(machine, state, request.transfer)

    def _keep(self, answer: AnsweredOffer) -> None:
        transfer = answer.reply.transfer
        self._answers[transfer] = answer
        self._context.effects.persist(COORDINATION, PREFIX + transfer, msgspec.json.encode(answer))


def _margin(request: OfferRequest, free: int) -> int:
    """Of what is bound, or has its home in another shard, none is kept."""
    if request.tier in (TransferTier.DRAIN, TransferTier.RETURN):
        return 0
    part = -(-free * request.keep_per_mille // 1000)
    return max(0, request.keep_machines, part)


def _adds(offers: Resources, missing: Resources) -> bool:
    """Whether a machine brings anything that is still missing."""
    return any(offers[name] > 0 for name, amount in missing.amounts if amount > 0)


#: Named at a time: a transfer takes far fewer.
MOST = 1000


class MachineReturns:
    """Machines of other homes that stand idle here, as long as they do.

    For how long they have, and when that is long enough, is for the coordinator to say: what is
    named and then taken by a Need is not named again, and is not offered if it is asked for
    meanwhile.
    """

    def __init__(self, context: CoordinationContext) -> None:
        self._context = context
        self._view: OwnershipView | None = None
        #: Machines of that view that are this shard's and have their home elsewhere, by id.
        self._guests: tuple[str, ...] = ()

    def returnable(self) -> tuple[str, ...]:
        found = (m for m in self._guests_now() if self._is_returnable(m))
        return tuple(m for m, _ in zip(found, range(MOST), strict=False))

    def _guests_now(self) -> tuple[str, ...]:
        """Looked up once a view: it may have a row for every machine that ever moved."""
        view, me = self._context.owned_machines.ownership.view, self._context.shard_id
        if view is not self._view:
            self._view = view
            rows = view.overrides.values() if view is not None else ()
            self._guests = tuple(
                sorted(r.machine for r in rows if r.shard == me and r.home not in ("", me))
            )
        return self._guests

    def _is_returnable(self, machine: str) -> bool:
        context = self._context
        if context.machines.state_of(machine) is not MachineState.IDLE:
            return False
        decision = context.decision_loop.decision
        reserved = machine in context.decision_loop.reservations
        busy = context.checks.under_way(machine) or reserved
        return decision is not None and not busy and not is_claimed(decision, machine)
