"""What keeps machines from moving: each layer says why not, or nothing.

They stand between a shortfall and a transfer, between a donor and an offer, and between a machine
and a move. None of them is enough alone: ages and syncs keep out what passes by itself, rests keep
two transfers for one shortfall apart, the direction and the stay keep what moved from moving back,
the margin and the rate keep a donor from becoming the next one that is short.
"""

import math
from collections.abc import Iterable

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership.pauses import rebalance_paused
from bigfleet.coordinator.rebalancing.rests import (
    MOST_TOLD,
    cycles_left,
    declined_name,
    direction_scope,
    direction_start,
    is_smaller,
    nanoseconds,
    progress_scope,
    receiver_scope,
    return_scope,
    seconds_left,
    stop_scope,
)
from bigfleet.coordinator.rebalancing.scene import Scene
from bigfleet.coordinator.rebalancing.shortages import NO_SHORTAGES, MachineShape, Shortages
from bigfleet.coordinator.settings import RebalanceSettings
from bigfleet.coordinator.tables import CooldownRow, OverrideRow, TransferRow
from bigfleet.model.coordination import ShortfallDetail, TransferTier
from bigfleet.model.reasons import Reason
from bigfleet.model.requirements import Requirement

PREFIX = "rebalance."
OPEN = f"{PREFIX}open"


def layer_of(reason: Reason) -> str:
    """As the gauge `rebalance_blocked` calls it."""
    return reason.code.removeprefix(PREFIX)


def why_not_rebalancing(book: Book, draft: Draft) -> Reason | None:
    if draft.numbers.merging:
        why = "it is not known yet who holds what since the restore"
    elif not book.settings.rebalance.enabled:
        why = "rebalance.enabled is off"
    elif rebalance_paused(book, draft.at):
        why = "it is paused"
    else:
        return None
    return Reason("rebalance.off", {"why": why})


# -- the shortfall and its shard -----------------------------------------------------------------


def why_not_receiving(scene: Scene, shard: str) -> Reason | None:
    why = scene.why_out(shard)
    return Reason("rebalance.receiver", {"shard": shard, "why": why}) if why else None


def why_not_alone(scene: Scene, shard: str, fingerprint: str) -> Reason | None:
    """One transfer at a time: the next one is for what this one leaves."""
    transfer = scene.open_for.get((shard, fingerprint))
    return is_open(transfer) if transfer is not None else None


def is_open(transfer: str) -> Reason:
    return Reason(OPEN, {"transfer": transfer})


def why_not_rested(scene: Scene, shard: str, fingerprint: str) -> Reason | None:
    return _why_resting(scene, scene.draft.cooldowns.get(receiver_scope(shard, fingerprint)))


def why_not_progressing(scene: Scene, shard: str, fingerprint: str) -> Reason | None:
    row = scene.draft.cooldowns.get(stop_scope(shard, fingerprint))
    return is_stopped(scene, row) if row is not None and row.until > scene.at else None


def is_stopped(scene: Scene, row: CooldownRow) -> Reason:
    left = seconds_left(row.until, scene.at)
    return Reason("rebalance.progress", {"count": row.count, "left": left})


def stalls_of(scene: Scene, shard: str, shortfall: ShortfallDetail) -> int:
    """How many transfers for it, one after another, have not made it smaller."""
    row = scene.draft.cooldowns.get(progress_scope(shard, shortfall.fingerprint))
    if row is None or row.until <= scene.at or is_smaller(shortfall.deficit, row.deficit):
        return 0
    return row.count + 1


def why_not_drained(scene: Scene, shortfall: ShortfallDetail) -> Reason | None:
    """Whether machines in use may be drained for it."""
    rules = scene.rules
    if not rules.drain:
        return Reason("rebalance.drain")
    if shortfall.age_cycles <= rules.drain_age_cycles:
        facts = {"age": shortfall.age_cycles, "cycles": rules.drain_age_cycles}
        return Reason("rebalance.drain", facts)
    if scene.drained >= rules.max_drain_per_sweep:
        return Reason("rebalance.drain", {"budget": rules.max_drain_per_sweep})
    return None


# -- the donor -----------------------------------------------------------------------------------


def why_not_giving(scene: Scene, shard: str) -> Reason | None:
    why = scene.why_out(shard)
    return Reason("rebalance.donor", {"shard": shard, "why": why}) if why else None


def why_not_drained_for_another(scene: Scene, shard: str) -> Reason | None:
    """Victims are not reserved before they drain: asked twice, a donor would name them twice."""
    if shard not in scene.asked_to_drain:
        return None
    why = "is asked already to drain machines for another shard"
    return Reason("rebalance.donor", {"shard": shard, "why": why})


def why_not_asked_again(
    scene: Scene, shard: str, tier: TransferTier, provider: str, fingerprint: str
) -> Reason | None:
    memory = scene.book.shards.get(shard)
    until = memory.declined.get(declined_name(tier, provider, fingerprint), 0) if memory else 0
    if until <= scene.at:
        return None
    return Reason("rebalance.declined", {"shard": shard, "left": seconds_left(until, scene.at)})


def why_not_back(
    scene: Scene, giver: str, receiver: str, provider: str, requirements: Iterable[Requirement]
) -> Reason | None:
    """Nothing alike went the other way a moment ago."""
    scope = direction_scope(receiver, giver, provider, requirements)
    return _why_locked(scene, giver, receiver, scene.draft.cooldowns.get(scope))


def why_not_short_itself(scene: Scene, shard: str, shape: MachineShape) -> Reason | None:
    """A donor that asks for such machines, or has just done so, keeps its own."""
    for other in shortages(scene, shard).shapes:
        if scene.would_serve(shape, other):
            return Reason("rebalance.margin", {"shard": shard})
    for row, other in scene.resting.get(shard, ()):
        if scene.would_serve(shape, other):
            left = seconds_left(row.until, scene.at)
            return Reason("rebalance.margin", {"shard": shard, "left": left})
    return None


def why_not_spared(scene: Scene, shard: str, matching: int) -> Reason | None:
    """A donor keeps some for itself; it may know of fewer that match, and keep more."""
    rules = scene.rules
    part = math.ceil(matching * rules.donor_margin_fraction)
    margin = max(rules.donor_margin_machines, part)
    if matching > margin:
        return None
    facts = {"shard": shard, "matching": matching, "margin": min(margin, matching)}
    return Reason("rebalance.margin", facts)


def margin_told(rules: RebalanceSettings) -> tuple[int, int]:
    """What a donor is asked to keep, in machines and in thousandths: rather more than less."""
    # Without the dust of floats: 0.07 is 70, not 71.
    per_mille = math.ceil(round(rules.donor_margin_fraction * 1000, 6))
    return min(rules.donor_margin_machines, MOST_TOLD), per_mille


def machines_left_to_give(scene: Scene, shard: str) -> int:
    """Within the hour; any part of a machine counts as one, so that small shards can give."""
    summary = scene.summary(shard)
    machines = summary.total_machines if summary is not None else 0
    return math.ceil(machines * scene.rules.donor_rate) - scene.given[shard]


def why_not_more(scene: Scene, shard: str) -> Reason | None:
    left = machines_left_to_give(scene, shard)
    if left > 0:
        return None
    summary, given = scene.summary(shard), scene.given[shard]
    machines = summary.total_machines if summary is not None else 0
    facts = {"shard": shard, "given": given, "machines": machines, "most": given + left}
    return Reason("rebalance.rate", facts)


# -- the machine ---------------------------------------------------------------------------------


def why_not_movable(scene: Scene, row: TransferRow, machine: str) -> Reason | None:
    """Whether a machine the donor names may go."""
    moved = row.transfer
    transfer = scene.transfer_of.get(machine, moved.id)
    if transfer != moved.id:
        return Reason("rebalance.elsewhere", {"machine": machine, "transfer": transfer})
    override = scene.draft.overrides.get(machine)
    returns = moved.tier is TransferTier.RETURN
    if override is None:
        facts = {"machine": machine, "why": "has never been moved"}
        return Reason("rebalance.elsewhere", facts) if returns else None
    why = ""
    if override.shard != moved.from_shard:
        why = f"belongs to {override.shard or 'no shard'}"
    elif override.provider != row.provider:
        why = f"is of provider {override.provider}"
    elif returns and override.home != moved.to_shard:
        why = f"has its home at {override.home}"
    if why:
        return Reason("rebalance.elsewhere", {"machine": machine, "why": why})
    return why_not_stayed(scene, override)


def why_not_stayed(scene: Scene, override: OverrideRow) -> Reason | None:
    until = override.moved_at + nanoseconds(scene.rules.min_stay)
    if until <= scene.at:
        return None
    left = seconds_left(until, scene.at)
    return Reason("rebalance.stay", {"machine": override.machine, "left": left})


def why_not_returned(scene: Scene, override: OverrideRow) -> Reason | None:
    """Whether an idle machine may go home, as far as it is about the machine."""
    if (transfer := scene.transfer_of.get(override.machine)) is not None:
        facts = {"machine": override.machine, "transfer": transfer}
        return Reason("rebalance.elsewhere", facts)
    return why_not_idle_long(scene, override) or why_not_stayed(scene, override)


def why_no_return(scene: Scene, holder: str, home: str, provider: str) -> Reason | None:
    """Whether anything may go home from there."""
    row = scene.shard(home)
    if row is not None and provider not in row.providers:
        why = f"is not attached to {provider}"
        return Reason("rebalance.receiver", {"shard": home, "why": why})
    return (
        why_not_receiving(scene, home)
        or why_not_giving(scene, holder)
        or why_not_alone(scene, home, holder)
        or _why_resting(scene, scene.draft.cooldowns.get(return_scope(holder, home)))
        or _why_any_lock(scene, holder, home, provider)
    )


def why_not_idle_long(scene: Scene, override: OverrideRow) -> Reason | None:
    memory = scene.book.shards.get(override.shard)
    since = memory.returnable_since.get(override.machine) if memory is not None else None
    hold = scene.rules.return_after
    if since is not None and scene.at - since >= nanoseconds(hold):
        return None
    idle = seconds_left(scene.at, since) if since is not None else 0
    return Reason("rebalance.idle", {"machine": override.machine, "idle": idle, "hold": hold})


# -- what they share -----------------------------------------------------------------------------


def shape_of(scene: Scene, shard: str, shortfall: ShortfallDetail) -> MachineShape:
    known = shortages(scene, shard).by_fingerprint.get(shortfall.fingerprint)
    if known is None or known.shortfall is not shortfall:
        return MachineShape.of(shortfall)
    return known.shape


def shortages(scene: Scene, shard: str) -> Shortages:
    """As its last sync told them."""
    memory = scene.book.shards.get(shard)
    return memory.shortages if memory is not None else NO_SHORTAGES


def _why_resting(scene: Scene, row: CooldownRow | None) -> Reason | None:
    if row is None:
        return None
    if row.until > scene.at:
        left = seconds_left(row.until, scene.at)
        return Reason("rebalance.cooldown", {"shard": row.shard, "left": left})
    if (cycles := cycles_left(scene.book, row)) > 0:
        return Reason("rebalance.cooldown", {"shard": row.shard, "cycles": cycles})
    return None


def _why_locked(scene: Scene, giver: str, receiver: str, row: CooldownRow | None) -> Reason | None:
    if row is None or row.until <= scene.at:
        return None
    left = seconds_left(row.until, scene.at)
    facts = {"shard": giver, "receiver": receiver, "left": left}
    return Reason("rebalance.direction", facts)


def _why_any_lock(scene: Scene, holder: str, home: str, provider: str) -> Reason | None:
    """What a returned machine is like is not known here, so every shape counts."""
    start = direction_start(home, holder, provider)
    locks = (r for r in scene.draft.cooldowns.values() if r.scope.startswith(start))
    reasons = (_why_locked(scene, holder, home, row) for row in locks)
    return next((reason for reason in reasons if reason is not None), None)
