"""Releases: machines leave this shard for a transfer, all of them or none.

From the moment a release is done the machines are not this shard's, on disk before the coordinator
hears of it: only the view that grants them to a shard, or the end of the transfer without a grant,
says whose they are.
"""

from bigfleet.model.coordination import TransferState, TransferTier
from bigfleet.model.coordinator_calls import Done, NotYet, Obeyed, Refused
from bigfleet.model.machines import Instant, MachineState
from bigfleet.shard.coordination.context import CoordinationContext, transfer_name
from bigfleet.shard.coordination.offers import Offers
from bigfleet.shard.coordination.transfers import TransferInstruction, Transfers

S = MachineState
#: States in which a release is due, or was done: the coordinator may not have heard of it yet.
RELEASE_STATES = (TransferState.RELEASING, TransferState.GRANTED, TransferState.DONE)


class Releases:
    def __init__(self, context: CoordinationContext, transfers: Transfers, offers: Offers) -> None:
        self._context = context
        self._owned_machines = context.owned_machines
        self._transfers = transfers
        self._offers = offers

    def release(self, borne: TransferInstruction, at: Instant) -> Obeyed:
        instruction, transfer = borne.instruction, borne.transfer
        context = self._context
        if transfer.from_shard != context.shard_id:
            return Refused(f"transfer {transfer.id} is from {transfer.from_shard}")
        marks = self._owned_machines.ownership.released
        left = [m for m in instruction.machine_ids if marks.get(m) != transfer.id]
        if not left:
            return Done("released before")
        if transfer.state is not TransferState.RELEASING:
            mine = [m for m in left if context.owns(m)]
            if mine:
                return Refused(
                    f"transfer {transfer.id} is {transfer.state.label}, but {mine[0]} is here"
                )
            return Done("released before")
        if self._owned_machines.ownership.everything:
            return Refused("this shard owns everything it is told of, by its own setting")
        if why := context.checks.why_nothing_moves():
            return NotYet(why)
        state = S.SPECULATIVE if transfer.tier is TransferTier.SPECULATIVE else S.IDLE
        for machine in left:
            if why := context.why_not_free(machine, state, transfer.id):
                return Refused(f"nothing is released: {why}")
        self._let_go(left, borne, at)
        return Done(f"{len(left)} machines released to {transfer.to_shard}")

    def end_cancelled(self, at: Instant) -> None:
        """Of transfers that are off, what was released is this shard's again."""
        held = set(self._owned_machines.ownership.released.values())
        for transfer in self._transfers:
            if transfer.state is not TransferState.CANCELLED or transfer.id not in held:
                continue
            marks = self._owned_machines.ownership.released
            machines = sorted(m for m, name in marks.items() if name == transfer.id)
            self._owned_machines.readopt(transfer.id, at)
            text = f"transfer {transfer_name(transfer.id)} is off ({transfer.reason}); taken back"
            for machine in machines:
                self._context.tell(machine, at, text)
            self._context.effects.log(
                "info", "transfer_cancelled", f"{len(machines)} machines: {text}"
            )

    def _let_go(self, machines: list[str], borne: TransferInstruction, at: Instant) -> None:
        transfer, context = borne.transfer, self._context
        text = (
            f"released to {transfer.to_shard} by transfer {transfer_name(transfer.id)}"
            f" ({transfer.tier.label}): {transfer.reason or 'the coordinator asked for it'}"
        )
        for machine in machines:
            context.tell(machine, at, text)
        self._offers.forget(transfer.id)
        context.decision_loop.unreserve(machines)
        context.quotas.release(transfer, machines)
        self._owned_machines.release(machines, transfer.id, at)
        context.effects.log(
            "info", "transfer_released", f"{len(machines)} machines {text}", transfer=transfer.id
        )
