"""Surveys: which machines an offer may be made of, looked up beside the event loop.

A survey is made with everything it needs frozen: the last decision, what is reserved and pending.
Running it costs what the fleet has; the few machines that are chosen of its answer are looked at
again as they are then.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bigfleet.engine.decision import Decision
from bigfleet.engine.donation import Wanted, spare_machines, victims_below
from bigfleet.model.coordination import OfferRequest, Transfer, TransferTier
from bigfleet.model.machines import MachineState
from bigfleet.model.options import EngineOptions
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.profiles import precedence_of_fingerprint
from bigfleet.shard.coordination.context import CoordinationContext, is_offered_to

STATE_OF_TIER: Mapping[TransferTier, MachineState] = {
    TransferTier.IDLE: MachineState.IDLE,
    TransferTier.SPECULATIVE: MachineState.SPECULATIVE,
    TransferTier.DRAIN: MachineState.CONFIGURED,
    TransferTier.RETURN: MachineState.IDLE,
}
#: Victims looked at for each one that is wanted: some will have moved since the decision.
_VICTIMS_LOOKED_AT = 8


@dataclass(frozen=True, slots=True)
class Survey:
    request: OfferRequest
    decision: Decision
    options: EngineOptions
    wanted: Wanted
    #: The provider's name here.
    provider: str
    #: By machine; empty where there is one provider: all machines are its own.
    provider_of: Mapping[str, str]
    taken: frozenset[str]

    def run(self) -> list[str]:
        """Machine ids, in the order in which they are given."""
        request = self.request
        if request.tier is TransferTier.DRAIN:
            most = _VICTIMS_LOOKED_AT * request.max_machines
            found = victims_below(
                self.decision, request.priority, self.wanted, self._asked, self.options, most
            )
            return [victim.machine for victim in found]
        state = STATE_OF_TIER[request.tier]
        return spare_machines(self.decision, state, self.wanted, self._asked)

    def _asked(self, machine: str) -> bool:
        if machine in self.taken:
            return False
        return not self.provider_of or self.provider_of.get(machine) == self.provider


def is_surveyed(request: OfferRequest, context: CoordinationContext) -> bool:
    """Whether it takes a survey to answer: a return names its machines, and of providers that are
    not this shard's there are none."""
    return request.tier is not TransferTier.RETURN and (
        context.provider_at(request.provider_address) is not None
    )


def survey_of(
    request: OfferRequest, transfer: Transfer | None, context: CoordinationContext
) -> Survey | None:
    """None: there is nothing to look up, or nothing was decided yet."""
    decision_loop, provider = context.decision_loop, context.provider_at(request.provider_address)
    decision = decision_loop.decision
    if decision is None or provider is None or not is_surveyed(request, context):
        return None
    taken = {
        machine
        for machine, reservation in decision_loop.reservations.items()
        if not is_offered_to(reservation, request.transfer)
    }
    taken.update(context.execution.pending_machines())
    return Survey(
        request,
        decision,
        decision_loop.options(),
        Wanted(request.requirements, request.min_unit, request.deficit, _penalty_of(transfer)),
        provider,
        context.machines.providers() if len(context.providers) > 1 else {},
        frozenset(taken),
    )


def _penalty_of(transfer: Transfer | None) -> float:
    """Dollars of one interruption, as the fingerprint of the shortfall declares it."""
    precedence = precedence_of_fingerprint(transfer.fingerprint) if transfer else None
    return upper_bound_dollars(precedence[1]) if precedence else 0.0
