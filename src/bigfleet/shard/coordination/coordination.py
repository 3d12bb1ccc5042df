"""A shard's half of coordination as one: what it tells in a sync, and what it does with the answer.

An answer is taken over only when `rows_of` it is on disk. What the coordinator orders is carried
out by `obey`, which says Done only of what is done. Without a coordinator nothing here happens, and
what was told last stays in force.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, assert_never

from bigfleet.model.coordination import (
    ProviderEntry,
    ShortfallDetail,
    SyncReply,
    SyncRequest,
    TransferState,
    TransferTier,
    transfer_of,
)
from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    InstructionKind,
    Obeyed,
    Refused,
)
from bigfleet.model.machines import Instant
from bigfleet.model.shard_views import CoordinatorLink
from bigfleet.shard.coordination.adoptions import ADOPT_STATES, Adoptions
from bigfleet.shard.coordination.bindings import KEY as MISBOUND
from bigfleet.shard.coordination.context import CoordinationContext
from bigfleet.shard.coordination.coordinator_pauses import KEY as PAUSES
from bigfleet.shard.coordination.coordinator_pauses import row_of as pauses_row
from bigfleet.shard.coordination.evictions import DRAIN_STATES, Evictions
from bigfleet.shard.coordination.offers import MachineReturns, Offers
from bigfleet.shard.coordination.owned_machines import KEY as OWNERSHIP
from bigfleet.shard.coordination.quotas import KEY as QUOTAS
from bigfleet.shard.coordination.registry import KEY as REGISTRY
from bigfleet.shard.coordination.registry import Registry
from bigfleet.shard.coordination.releases import RELEASE_STATES, Releases
from bigfleet.shard.coordination.surveys import Survey, is_surveyed, survey_of
from bigfleet.shard.coordination.transfers import TransferInstruction, Transfers
from bigfleet.shard.effects import COORDINATION

_ASKED = (TransferState.OFFERED, TransferState.DRAINING)

SMALL_ROWS = (MISBOUND, PAUSES, REGISTRY, QUOTAS)
Row = tuple[str, str, bytes]
#: Machine ids by transfer, as surveys found them.
Found = Mapping[str, Sequence[str]]


class CoordinatorClient(Protocol):
    """Talks to the coordinator."""

    def link(self) -> CoordinatorLink: ...


class Coordination:
    def __init__(
        self, context: CoordinationContext, epoch: int, stored: Mapping[str, bytes]
    ) -> None:
        """`epoch`: of this life. `stored`: rows of the table COORDINATION, of an earlier life."""
        self._context = context
        self._epoch = epoch
        self._registry = Registry(context.effects, context.providers, context.settings)
        #: None: this shard reports to no coordinator.
        self._client: CoordinatorClient | None = None
        self.transfers = Transfers()
        self._returns = MachineReturns(context)
        self._offers = Offers(context, self.transfers)
        self._evictions = Evictions(context, self._offers)
        self._releases = Releases(context, self.transfers, self._offers)
        self._adoptions = Adoptions(context, self.transfers)
        #: What is on disk of the small rows.
        self._written = {key: stored[key] for key in SMALL_ROWS if key in stored}
        self._offers.load(stored)
        self._evictions.load(stored)

    # -- the line to the coordinator -------------------------------------------------------------

    def attach(self, client: CoordinatorClient) -> None:
        """From here on the client reports to a coordinator."""
        self._client = client

    def link(self) -> CoordinatorLink | None:
        """None: this shard reports to no coordinator."""
        return self._client.link() if self._client is not None else None

    @property
    def term(self) -> int:
        """The highest term of a coordinator that was seen."""
        return self._client.link().term if self._client is not None else 0

    # -- asking ----------------------------------------------------------------------------------

    def request(
        self, at: Instant, merging: bool, shortfalls: Iterable[ShortfallDetail] = ()
    ) -> SyncRequest:
        """`merging`: the coordinator has lost its memory and asks for everything held here."""
        context, short = self._context, tuple(shortfalls)
        owned_machines = context.owned_machines
        return SyncRequest(
            shard_id=context.shard_id,
            epoch=self._epoch,
            cycle=context.decision_loop.number,
            ownership_revision=owned_machines.ownership.revision,
            cluster_ids=context.bindings.named(),
            providers=tuple(ProviderEntry(n, a) for n, a in sorted(context.providers.items())),
            shortfalls=short,
            quota_usage=context.quotas.usage(short, of_the_rest=merging),
            offer_replies=self._offers.replies(),
            returnable=self._returns.returnable(),
            held_overrides=owned_machines.held_overrides(),
            backoffs=context.offerings.found_out(at),
            held_pairs=owned_machines.held_pairs() if merging else (),
            tells_all=merging,
        )

    def sizes(self) -> dict[str, int]:
        """Of everything that could grow."""
        return {
            "transfers": len(self.transfers),
            "offers": len(self._offers),
            "evictions": len(self._evictions),
            "misbound": len(self._context.bindings),
            "released": len(self._context.owned_machines.ownership.released),
            "in_transit": len(self._context.quotas.in_transit),
        }

    # -- an answer -------------------------------------------------------------------------------

    def rows_of(self, reply: SyncReply, sent: SyncRequest) -> list[Row]:
        """What must be on disk before `take`; may take its time for a large view."""
        rows = {k: r for k, r in self._small_rows(reply, sent) if self._written.get(k) != r}
        if reply.ownership is not None:
            rows[OWNERSHIP] = self._context.owned_machines.row_of(reply.ownership, _addresses(sent))
        return [(COORDINATION, key, row) for key, row in rows.items()]

    def surveys(self, reply: SyncReply) -> list[Survey]:
        """What has to be looked up for the offers asked for, beside the event loop."""
        transfers = {each.id: each for each in reply.transfers}
        asked = (each for each in reply.offers if not self._offers.is_answered(each))
        found = (survey_of(each, transfers.get(each.transfer), self._context) for each in asked)
        return [each for each in found if each is not None]

    def take(
        self, reply: SyncReply, sent: SyncRequest, at: Instant, found: Found | None = None
    ) -> None:
        """`found`: by transfer, what the surveys came to; None: they are run here."""
        if found is None:
            found = {each.request.transfer: each.run() for each in self.surveys(reply)}
        context = self._context
        self._written.update(self._small_rows(reply, sent))
        self.transfers.take(reply.transfers)
        # Before the engine sees a machine that was granted, it is kept for the Need it is for.
        self._adoptions.expect(at)
        if reply.ownership is not None:
            context.owned_machines.take_view(reply.ownership, _addresses(sent), at)
        self._adoptions.on_view()
        self._releases.end_cancelled(at)
        self._take_quotas(reply, sent, at)
        context.pauses.on_coordinator(reply.pauses, at)
        context.bindings.take(reply.misbound, sent.cluster_ids)
        context.offerings.hear(reply.backoffs, at)
        self._registry.take(reply.providers)
        self._end_what_moved_on(reply, at)
        if context.decision_loop.decision is None:
            return
        for request in reply.offers:
            transfer, surveyed = self.transfers.get(request.transfer), request.transfer in found
            # What was not looked up before the first decision is asked for again.
            if surveyed or not is_surveyed(request, context):
                self._offers.answer(request, transfer, found.get(request.transfer, ()), at)

    # -- instructions ----------------------------------------------------------------------------

    def obey(self, instruction: CoordinatorInstruction, at: Instant) -> Obeyed:
        owned_machines = self._context.owned_machines
        match instruction.kind:
            case InstructionKind.ASSIGN_DOMAIN:
                return owned_machines.assign(instruction, at)
            case InstructionKind.UNASSIGN_DOMAIN:
                return owned_machines.unassign(instruction, at)
            case InstructionKind.CROSS_SHARD_DRAIN:
                return self._step(instruction, "drain", DRAIN_STATES, self._evictions.begin, at)
            case InstructionKind.TRANSFER_OWNERSHIP | InstructionKind.REASSIGN_SPECULATIVE:
                if transfer_of(instruction.id)[1] == "adopt":
                    adopt = self._adoptions.adopt
                    return self._step(instruction, "adopt", ADOPT_STATES, adopt, at)
                release = self._releases.release
                return self._step(instruction, "release", RELEASE_STATES, release, at)
            case InstructionKind.UNKNOWN:
                return Refused("this version of the shard does not know the kind of instruction")
            case _:
                assert_never(instruction.kind)

    # -- time ------------------------------------------------------------------------------------

    def tick(self, at: Instant) -> None:
        """Once a second."""
        self._evictions.tick(at)
        self._context.quotas.refresh(at)

    def on_decision(self, at: Instant) -> None:
        """A cycle has ended."""
        self._context.quotas.refresh(at)

    # -- within ----------------------------------------------------------------------------------

    def _small_rows(self, reply: SyncReply, sent: SyncRequest) -> list[tuple[str, bytes]]:
        """Rows that are written whole whenever they change."""
        return [
            (MISBOUND, self._context.bindings.row_of(reply.misbound, sent.cluster_ids)),
            (PAUSES, pauses_row(reply.pauses)),
            (REGISTRY, self._registry.row_of(reply.providers)),
            (QUOTAS, self._context.quotas.row_of(reply.quotas, _regions(reply))),
        ]

    def _take_quotas(self, reply: SyncReply, sent: SyncRequest, at: Instant) -> None:
        quotas, owned_machines = self._context.quotas, self._context.owned_machines
        if not reply.merging:
            quotas.follow(reply.transfers, self._context.shard_id, owned_machines.mark)
        elif sent.tells_all:
            # Granted is what was told, and that was the rest.
            quotas.forget_released()
        quotas.take(reply.quotas, _regions(reply), at)

    def _step(
        self,
        instruction: CoordinatorInstruction,
        step: str,
        states: tuple[TransferState, ...],
        carry_out: Callable[[TransferInstruction, Instant], Obeyed],
        at: Instant,
    ) -> Obeyed:
        if transfer_of(instruction.id)[1] != step:
            return Refused(
                f"{instruction.id} is not a step of a transfer that {instruction.kind} does"
            )
        borne = self.transfers.borne(instruction, states)
        if not isinstance(borne, TransferInstruction):
            return borne
        slots = borne.transfer.tier is TransferTier.SPECULATIVE
        if slots != (instruction.kind is InstructionKind.REASSIGN_SPECULATIVE):
            tier = borne.transfer.tier.label
            return Refused(
                f"transfer {borne.transfer.id} is of tier {tier}, not {instruction.kind}"
            )
        return carry_out(borne, at)

    def _end_what_moved_on(self, reply: SyncReply, at: Instant) -> None:
        asked = {each.transfer for each in reply.offers}
        open_here = {*self._offers.open_transfers(), *self._evictions.open_transfers()}
        for name in sorted(open_here - asked):
            transfer = self.transfers.get(name)
            if transfer is not None and transfer.state in _ASKED:
                continue
            if transfer is not None and transfer.state is TransferState.RELEASING:
                self._offers.moved_on(name, transfer.machine_ids)
                continue
            why = transfer.reason if transfer is not None else "the coordinator knows it no more"
            self._evictions.end(name, why, at)
            self._offers.forget(name)


def _regions(reply: SyncReply) -> dict[str, str]:
    """By name of the provider, as the coordinator's registry has them."""
    return {each.name: each.region for each in reply.providers if each.region}


def _addresses(sent: SyncRequest) -> frozenset[str]:
    """Of the providers the answer was given for."""
    return frozenset(each.address for each in sent.providers)
