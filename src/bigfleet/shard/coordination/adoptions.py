"""Adoptions: machines another shard gave to a shortfall of this one.

They come by themselves: the view names this shard as their owner, and the next List brings them.
What is done here is to keep them for the shortfall they were asked for, from before the engine can
see them, and to acknowledge only when a List begun under that view has been taken over whole.
"""

from bigfleet.model.coordination import Transfer, TransferState
from bigfleet.model.coordinator_calls import Done, NotYet, Obeyed, Refused
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.options import SECOND
from bigfleet.shard.coordination.context import CoordinationContext, coming_in, transfer_name
from bigfleet.shard.coordination.transfers import TransferInstruction, Transfers

ADOPT_STATES = (TransferState.GRANTED, TransferState.DONE)
_FREE = (MachineState.IDLE, MachineState.SPECULATIVE)


class Adoptions:
    def __init__(self, context: CoordinationContext, transfers: Transfers) -> None:
        self._context = context
        self._owned_machines = context.owned_machines
        self._transfers = transfers
        #: Transfers whose machines were reserved: once is enough, they may be in use by now.
        self._expected: set[str] = set()
        #: By transfer, how many views had come when one gave its machines to this shard: a List
        #: since then will do, however many views follow.
        self._mark_of: dict[str, int] = {}

    def expect(self, at: Instant) -> None:
        """Reserve what is granted to this shard, before a view or a List shows it."""
        granted = {
            each.id: each
            for each in self._transfers
            if each.to_shard == self._context.shard_id and each.state is TransferState.GRANTED
        }
        for transfer in granted.values():
            if transfer.id not in self._expected and transfer.fingerprint:
                self._reserve(transfer, at)
        self._expected = set(granted)
        self._mark_of = {name: mark for name, mark in self._mark_of.items() if name in granted}

    def on_view(self) -> None:
        """A view was taken over."""
        for name in self._expected - self._mark_of.keys():
            transfer = self._transfers.get(name)
            if transfer is not None and all(map(self._is_given, transfer.machine_ids)):
                self._mark_of[name] = self._owned_machines.mark

    def adopt(self, borne: TransferInstruction, at: Instant) -> Obeyed:
        transfer, context = borne.transfer, self._context
        if transfer.to_shard != context.shard_id:
            return Refused(f"transfer {transfer.id} is to {transfer.to_shard}")
        if self._owned_machines.ownership.everything:
            return Refused("this shard owns everything it is told of, by its own setting")
        machines = borne.instruction.machine_ids
        waiting = [machine for machine in machines if not self._is_given(machine)]
        if waiting:
            return NotYet(f"the view does not give {waiting[0]} to this shard yet")
        came = [machine for machine in machines if machine in context.machines]
        # What is here came with such a List; what is not may come with one that is on its way.
        listed = self._owned_machines.listed_since_view(self._mark_of.get(transfer.id))
        if len(came) < len(machines) and not listed:
            return NotYet("no List begun under that view has been taken over yet")
        self._hold_longer(came, transfer, at)
        source = f"from {transfer.from_shard} by transfer {transfer_name(transfer.id)}"
        for machine in came:
            context.tell(machine, at, f"came {source} ({transfer.tier.label}): {transfer.reason}")
        text = f"{len(came)} of {len(machines)} machines came {source}"
        context.effects.log("info", "transfer_adopted", text, transfer=transfer.id)
        return Done(f"{len(came)} of {len(machines)} machines came")

    def _is_given(self, machine: str) -> bool:
        """By a row of the view, or, where that is gone again, by the rest of it."""
        view = self._owned_machines.ownership.view
        row = view.overrides.get(machine) if view is not None else None
        return row.shard == self._context.shard_id if row else self._context.owns(machine)

    def _reserve(self, transfer: Transfer, at: Instant) -> None:
        """Known machines that are in use already came with an earlier life of this shard."""
        machines = self._context.machines
        expected = [
            m for m in transfer.machine_ids if m not in machines or machines.state_of(m) in _FREE
        ]
        until = at + transfer.hold_seconds * SECOND
        self._context.decision_loop.reserve(
            coming_in(m, transfer.id, transfer.fingerprint, until) for m in expected
        )

    def _hold_longer(self, came: list[str], transfer: Transfer, at: Instant) -> None:
        """The time runs from the arrival; what a Need has taken meanwhile needs no keeping."""
        held = self._context.decision_loop.reservations
        kept = [m for m in came if m in held and held[m].kind is ReservationKind.TRANSFER_IN]
        until = at + transfer.hold_seconds * SECOND
        self._context.decision_loop.reserve(
            coming_in(m, transfer.id, transfer.fingerprint, until) for m in kept
        )
