"""Evictions for another shard: machines of lower priority are drained, then offered.

Each is preempted like a victim of this shard's own: its operator is asked first, pauses hold it up,
and its grace is by the gap in priority. While they drain and until they are released they are
reserved for the transfer. When none of them drains any more, those that are free are named.
"""

from collections.abc import Mapping

import msgspec

from bigfleet.engine.donation import victim_priority
from bigfleet.engine.kernels.victims import grace_seconds
from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.coordination import TransferState
from bigfleet.model.coordinator_calls import Done, NotYet, Obeyed, Refused
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.shard.coordination.context import CoordinationContext, offered, transfer_name
from bigfleet.shard.coordination.offers import Offers
from bigfleet.shard.coordination.transfers import TransferInstruction
from bigfleet.shard.effects import COORDINATION

DRAIN_STATES = (TransferState.DRAINING,)
#: Keys in state.db.
PREFIX = "drain/"
S = MachineState


class Evicting(msgspec.Struct, frozen=True):
    machines: tuple[str, ...]


class Evictions:
    def __init__(self, context: CoordinationContext, offers: Offers) -> None:
        self._context = context
        self._drains = context.drains
        self._offers = offers
        #: By transfer, until none of its machines drains any more.
        self._open: dict[str, Evicting] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open_transfers(self) -> tuple[str, ...]:
        return tuple(self._open)

    def load(self, rows: Mapping[str, bytes]) -> None:
        """Of an earlier life; the drains themselves are remembered where all drains are."""
        for key, row in rows.items():
            if not key.startswith(PREFIX):
                continue
            try:
                self._open[key.removeprefix(PREFIX)] = msgspec.json.decode(row, type=Evicting)
            except msgspec.MsgspecError:
                # The drains go on; the coordinator gives the transfer up when its time is over.
                self._context.effects.persist(COORDINATION, key, None)

    def begin(self, order: TransferInstruction, at: Instant) -> Obeyed:
        instruction, transfer, context = order.instruction, order.transfer, self._context
        if transfer.from_shard != context.shard_id:
            return Refused(f"transfer {transfer.id} is from {transfer.from_shard}")
        answer = self._offers.of(transfer.id)
        if transfer.id in self._open or (answer is not None and answer.reply.drained):
            return Done("begun before")
        if why := context.checks.why_nothing_moves():
            return NotYet(why)
        actions, refusals = self._actions(order)
        for action in actions:
            if context.pauses.is_paused(ActionKind.PREEMPT, action.cluster):
                return NotYet(f"Preempts of {action.cluster} are paused")
            if reason := context.checks.why_backed_off(action, at):
                return NotYet(reason.text)
        begun = [action for action in actions if self._begin(action, order, at)]
        if not begun:
            return Refused("nothing is drained: " + "; ".join(refusals or ["all of them moved"]))
        self._keep(transfer.id, Evicting(tuple(a.machine for a in begun)))
        context.decision_loop.reserve(
            offered(a.machine, transfer.id, transfer.fingerprint, self._until(a, at)) for a in begun
        )
        text = f"{len(begun)} machines drain for transfer {transfer_name(transfer.id)}"
        context.effects.log("info", "transfer_draining", text, transfer=transfer.id)
        return Done(f"{len(begun)} of {len(instruction.machine_ids)} machines drain")

    def tick(self, at: Instant) -> None:
        """Offer what has become free, once nothing of a transfer drains any more."""
        # Before every provider has been listed it is not known what became of a drain.
        if not self._open or not self._context.reconciler.listed_once():
            return
        for transfer, evicting in list(self._open.items()):
            if any(self._drains.intent(machine) is not None for machine in evicting.machines):
                continue
            self._drop(transfer)
            self._offer(transfer, evicting, at)

    def end(self, transfer: str, why: str, at: Instant) -> None:
        """The transfer is off: what its provider does not drain yet stays where it is."""
        evicting = self._open.get(transfer)
        if evicting is None:
            return
        self._drop(transfer)
        text = f"transfer {transfer_name(transfer)} is off: {why}"
        for machine in evicting.machines:
            self._drains.call_off(machine, text, at)

    # -- within ----------------------------------------------------------------------------------

    def _actions(self, order: TransferInstruction) -> tuple[list[Action], list[str]]:
        """What may be drained as it is now, and why the others may not."""
        context, priority = self._context, order.instruction.preemptor_priority
        decision = context.decision_loop.decision
        actions: list[Action] = []
        refusals: list[str] = []
        for name in order.instruction.machine_ids:
            if why := context.why_not_at_rest(name, S.CONFIGURED, order.transfer.id):
                refusals.append(why)
                continue
            machine = context.machines.truth(name)
            stamped = machine.assigned.priority
            lower = victim_priority(decision, name, stamped) if decision else stamped
            if lower >= priority:
                refusals.append(f"{name} serves priority {lower} by now, {priority} is not higher")
                continue
            grace = int(grace_seconds(priority - lower))
            rule = Rule.INVERSION
            actions.append(Action(ActionKind.PREEMPT, name, machine.cluster, rule, grace, priority))
        return actions, refusals

    def _begin(self, action: Action, order: TransferInstruction, at: Instant) -> bool:
        transfer = order.transfer
        reason = (
            f"priority {action.preemptor_priority} of {transfer.to_shard} goes first"
            f" (transfer {transfer_name(transfer.id)})"
        )
        view = ActionView(
            self._context.decision_loop.number,
            0,
            action.kind,
            action.machine,
            action.cluster,
            reason=reason,
            grace_seconds=action.grace_seconds,
            preemptor_priority=action.preemptor_priority,
            disposition=Disposition.ENQUEUED,
            at=at,
        )
        self._context.tell(action.machine, at, f"to be drained: {reason}")
        self._drains.begin(action, view, at)
        self._context.effects.counts.add("actions_total", kind=action.kind.label)
        return self._drains.intent(action.machine) is not None

    def _until(self, action: Action, at: Instant) -> Instant:
        margin = self._context.settings.now.drain.reservation_margin
        seconds = action.grace_seconds + margin
        return at + round(seconds * SECOND)

    def _offer(self, transfer: str, evicting: Evicting, at: Instant) -> None:
        context = self._context
        reasons = {m: context.why_not_free(m, S.IDLE, transfer) for m in evicting.machines}
        free = [machine for machine, why in reasons.items() if not why]
        why_none = "; ".join(why for why in reasons.values() if why)
        self._offers.drained(transfer, free, f"none became free: {why_none}", at)
        text = f"{len(free)} of {len(evicting.machines)} machines were freed for"
        for machine in free:
            context.tell(machine, at, f"free for transfer {transfer_name(transfer)}")
        context.effects.log(
            "info", "transfer_drained", f"{text} {transfer_name(transfer)}", transfer=transfer
        )

    def _keep(self, transfer: str, evicting: Evicting) -> None:
        self._open[transfer] = evicting
        row = msgspec.json.encode(evicting)
        self._context.effects.persist(COORDINATION, PREFIX + transfer, row)

    def _drop(self, transfer: str) -> None:
        del self._open[transfer]
        self._context.effects.persist(COORDINATION, PREFIX + transfer, None)
