"""Puts coordination together with the parts of the shard it has to do with. Nothing is decided."""

from bigfleet.engine.decision import Decision
from bigfleet.model.ownership import Ownership
from bigfleet.model.pauses import Pause
from bigfleet.shard.coordination.context import CoordinationContext
from bigfleet.shard.coordination.coordination import Coordination, CoordinationParts
from bigfleet.shard.coordination.evictions import DrainHandlers
from bigfleet.shard.coordination.registry import Registry
from bigfleet.shard.decision_loop import DecisionLoop
from bigfleet.shard.effects import COORDINATION
from bigfleet.shard.parts import Parts, ShardStart


def coordination_of(start: ShardStart, parts: Parts, deciding: DecisionLoop) -> Coordination:
    kept = start.stored.get(COORDINATION, {})
    owned_machines = parts.owned_machines

    def ownership() -> Ownership:
        return owned_machines.ownership

    def decision() -> Decision | None:
        return deciding.decision

    context = CoordinationContext(
        shard_id=start.settings.id,
        effects=parts.effects,
        machines=parts.machines,
        providers=parts.providers,
        ownership=ownership,
        decision=decision,
        options=deciding.options,
        reservations=lambda: deciding.memory.reservations,
        reserve=deciding.reserve,
        unreserve=deciding.unreserve,
        under_way=parts.under_way,
        pending=parts.execution.pending_machines,
        region_of=parts.quotas.region_of,
        why_not_now=lambda: why_nothing_moves(parts),
    )
    coordination_parts = CoordinationParts(
        owned_machines=owned_machines,
        quotas=parts.quotas,
        bindings=parts.bindings,
        pauses=parts.pauses,
        offerings=parts.offerings,
        registry=Registry(
            parts.effects, parts.providers, lambda: parts.settings.providers_from_registry
        ),
        epoch=start.epoch,
        cycle=lambda: deciding.number,
    )
    handlers = DrainHandlers(
        begin=parts.drains.begin,
        is_draining=lambda machine: parts.drains.intent(machine) is not None,
        call_off=parts.drains.call_off,
        is_paused=parts.is_paused,
        why_waiting=parts.why_backed_off,
        listed_once=parts.reconciler.listed_once,
        cycle=lambda: deciding.number,
        margin_seconds=lambda: parts.settings.drain.reservation_margin,
    )
    return Coordination(context, coordination_parts, handlers, kept)


def why_nothing_moves(parts: Parts) -> str:
    """Why this shard gives no machine to others now; empty: it does."""
    if parts.owned_machines.ownership.everything:
        return "this shard owns everything it is told of, by its own setting"
    if parts.settings.dry_run:
        return "dry-run: nothing is carried out"
    if problem := parts.store_trouble:
        return f"state.db cannot be written ({problem})"
    pause = next((each for each in parts.pauses.active() if _stops_moves(each, parts)), None)
    if pause is not None:
        return f"paused by {pause.who or 'somebody'}: {pause.reason or 'no reason given'}"
    return ""


def _stops_moves(pause: Pause, parts: Parts) -> bool:
    """A pause of everything here, or of moves between shards."""
    scope = pause.scope
    here = not scope.shard_ids or parts.settings.id in scope.shard_ids
    return here and not scope.cluster_ids and not scope.kinds
