"""What becomes of each action of a decision, before anything is done about it.

The steps come in one order, and an action is stopped by the first that has something against it;
only actions that reach a step use up what it gives out:

1. already under way (DEDUPED)           6. reclaim and preempt caps (CAPPED)
2. paused (SUPPRESSED)                   7. breaker or back-off (DEFERRED)
3. dry-run (DRY_RUN)                     8. actions a cycle (DEFERRED, and decide again at once)
4. the machine has moved (INAPPLICABLE)  9. verifier (VETOED)
5. thrash hold (HELD)                   10. room in the queue (DROPPED)

What is left is ENQUEUED. The budget of step 8 and the room of step 10 go to the most urgent first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

from bigfleet.edge.counts import Counts
from bigfleet.model.actions import Action, ActionKind, most_urgent
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.pauses import Pause
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import Disposition, DrainStage, DrainView
from bigfleet.shard.effects import Effects
from bigfleet.shard.rails.caps import CappedVictim, PreemptWindow, ReclaimWindow
from bigfleet.shard.rails.pauses import why_paused

_STATE_WANTED = {
    ActionKind.BOOTSTRAP: MachineState.IDLE,
    ActionKind.DELETE: MachineState.IDLE,
    ActionKind.PROVISION: MachineState.SPECULATIVE,
    ActionKind.RECLAIM: MachineState.CONFIGURED,
    ActionKind.PREEMPT: MachineState.CONFIGURED,
}
#: What asks the provider for something new; drains are let through an open breaker.
_STOPPED_BY_BREAKER = frozenset({ActionKind.PROVISION, ActionKind.BOOTSTRAP, ActionKind.DELETE})


class LiveShard(Protocol):
    """What the rails ask about the live shard (`ActionChecks`); each answers in constant time."""

    def is_pending(self, machine: str) -> bool:
        """Whether an action of the execution pool has this machine."""

    def drain_of(self, machine: str) -> DrainView | None:
        """The open drain of a machine, or None."""

    def why_suppressed(self, kind: ActionKind, cluster: str) -> Pause | None:
        """The pause that covers such an action, or None."""

    def state_of(self, machine: str) -> MachineState | None:
        """As its provider has it; None: unknown, which passes."""

    def configured_of(self, cluster: str) -> int:
        """Configured machines of a cluster, as the decision saw them."""

    def provider_of(self, machine: str) -> str: ...

    def breaker_open(self, provider: str) -> bool: ...

    def is_owned(self, machine: str) -> bool:
        """Whether the machine, as it is now, is this shard's to act on."""

    def promised(self, machine: str) -> str:
        """What a machine was promised to since the decision began, as a word; empty: nothing."""

    def why_backed_off(self, action: Action, at: Instant) -> Reason | None:
        """Whether the target (cluster, machine, offering) rests, or a drain cannot begin now."""

    def why_held(self, action: Action, at: Instant) -> Reason | None:
        """Whether machines of its (cluster, profile) went back and forth lately."""

    def vetoes(self, actions: Sequence[Action], at: Instant) -> Mapping[int, Reason]:
        """Of the verifier: positions in what it is given, with what it has against them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be changed while the shard runs, as it is in this cycle."""

    dry_run: bool = False
    reclaim_cap_fraction: float = 0.0
    reclaim_cap_window_seconds: float = 10.0
    #: 0: no limit.
    preempt_cap_per_minute: int = 0
    #: 0: no limit.
    max_actions: int = 0
    #: Actions the queue still takes.
    room: int = 0


class Ruling(NamedTuple):
    action: Action
    disposition: Disposition
    #: What was against it; None: nothing, it is enqueued.
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Disposed:
    #: One for each action, in order of emission.
    rulings: tuple[Ruling, ...]
    #: Something was left out by the budget alone: decide again at once.
    more_to_do: bool = False

    def enqueued(self) -> Iterable[tuple[int, Action]]:
        """With their index in order of emission."""
        return (
            (index, ruling.action)
            for index, ruling in enumerate(self.rulings)
            if ruling.disposition is Disposition.ENQUEUED
        )


def dispose(
    actions: Sequence[Action],
    asked: LiveShard,
    limits: Limits,
    window: ReclaimWindow,
    preempted: PreemptWindow,
    at: Instant,
) -> Disposed:
    """Remembers in `window` and `preempted` the drains that are enqueued, and nothing else."""
    rulings = [_before_counting(action, asked, limits.dry_run, at) for action in actions]
    _hold_over_cap(rulings, asked, limits, window, at)
    _hold_over_preempt_cap(rulings, asked, limits, preempted, at)
    _hold(rulings, Disposition.DEFERRED, _deferrals(rulings, asked, at))
    budget = limits.max_actions
    over_budget = Reason("rail.max-actions", {"budget": budget})
    beyond = _less_urgent(rulings, budget, over_budget) if budget else {}
    _hold(rulings, Disposition.DEFERRED, beyond)
    _hold(rulings, Disposition.VETOED, _vetoes(rulings, asked, at))
    full = Reason("rail.queue-full", {"room": limits.room})
    _hold(rulings, Disposition.DROPPED, _less_urgent(rulings, limits.room, full))
    window.started(_clusters_of(rulings, ActionKind.RECLAIM), at)
    preempted.started(_clusters_of(rulings, ActionKind.PREEMPT), at)
    return Disposed(tuple(rulings), more_to_do=bool(beyond))


def _clusters_of(rulings: list[Ruling], kind: ActionKind) -> Iterable[str]:
    return (
        ruling.action.cluster
        for ruling in rulings
        if ruling.action.kind is kind and _passing(ruling)
    )


def _passing(ruling: Ruling) -> bool:
    return ruling.disposition is Disposition.ENQUEUED


def _hold(rulings: list[Ruling], disposition: Disposition, reasons: Mapping[int, Reason]) -> None:
    for index, reason in reasons.items():
        rulings[index] = Ruling(rulings[index].action, disposition, reason)


def _left(rulings: list[Ruling]) -> list[int]:
    return [index for index, ruling in enumerate(rulings) if _passing(ruling)]


def _before_counting(action: Action, asked: LiveShard, dry_run: bool, at: Instant) -> Ruling:
    """The steps that look at one action alone."""
    if reason := _why_under_way(action, asked):
        return Ruling(action, Disposition.DEDUPED, reason)
    if pause := asked.why_suppressed(action.kind, action.cluster):
        return Ruling(action, Disposition.SUPPRESSED, why_paused(pause))
    if dry_run:
        return Ruling(action, Disposition.DRY_RUN, _DRY_RUN)
    if reason := _why_inapplicable(action, asked):
        return Ruling(action, Disposition.INAPPLICABLE, reason)
    if reason := asked.why_held(action, at):
        return Ruling(action, Disposition.HELD, reason)
    return Ruling(action, Disposition.ENQUEUED)


_DRY_RUN = Reason("rail.dry-run")


def _why_under_way(action: Action, asked: LiveShard) -> Reason | None:
    if asked.is_pending(action.machine):
        return Reason("rail.pending", {"machine": action.machine, "pending": "action"})
    drain = asked.drain_of(action.machine)
    if drain is None:
        return None
    # A Reclaim that has not reached the provider gives way to a Preempt of the same machine.
    hurried = action.kind is ActionKind.PREEMPT and drain.kind is ActionKind.RECLAIM
    if hurried and drain.stage is not DrainStage.PROVIDER:
        return None
    return Reason("rail.pending", {"machine": action.machine, "pending": drain.kind.label})


def _why_inapplicable(action: Action, asked: LiveShard) -> Reason | None:
    state, wanted = asked.state_of(action.machine), _STATE_WANTED[action.kind]
    promised = asked.promised(action.machine)
    if not promised and (state is None or state is wanted):
        if asked.is_owned(action.machine):
            return None
        return Reason("rail.unowned", {"machine": action.machine})
    facts = {
        "machine": action.machine,
        "kind": action.kind.label,
        "state": promised or (state.label if state else ""),
        "wanted": wanted.label,
    }
    return Reason("rail.raced", facts)


def _hold_over_cap(
    rulings: list[Ruling], asked: LiveShard, limits: Limits, window: ReclaimWindow, at: Instant
) -> None:
    over = window.over_cap(
        (
            (index, ruling.action.cluster)
            for index, ruling in enumerate(rulings)
            if ruling.action.kind is ActionKind.RECLAIM and _passing(ruling)
        ),
        limits.reclaim_cap_fraction,
        limits.reclaim_cap_window_seconds,
        asked.configured_of,
        at,
    )
    _hold_capped(rulings, asked, over, "rail.reclaim-cap")


def _hold_over_preempt_cap(
    rulings: list[Ruling], asked: LiveShard, limits: Limits, window: PreemptWindow, at: Instant
) -> None:
    victims = [
        CappedVictim(
            index, ruling.action.cluster, ruling.action.need if ruling.action.whole_domain else None
        )
        for index, ruling in enumerate(rulings)
        if ruling.action.kind is ActionKind.PREEMPT and _passing(ruling)
    ]
    cap = limits.preempt_cap_per_minute
    over = window.over_cap(victims, cap, asked.configured_of, at)
    _hold_capped(rulings, asked, over, "rail.preempt-cap")


def _hold_capped(
    rulings: list[Ruling], asked: LiveShard, over: Mapping[int, int], code: str
) -> None:
    of_cluster: dict[str, Reason] = {}
    for index, cap in over.items():
        cluster = rulings[index].action.cluster
        if cluster not in of_cluster:
            facts = {"cluster": cluster, "cap": cap, "configured": asked.configured_of(cluster)}
            of_cluster[cluster] = Reason(code, facts)
        rulings[index] = Ruling(rulings[index].action, Disposition.CAPPED, of_cluster[cluster])


def _deferrals(rulings: list[Ruling], asked: LiveShard, at: Instant) -> dict[int, Reason]:
    found: dict[int, Reason] = {}
    for index, ruling in enumerate(rulings):
        if _passing(ruling) and (reason := _why_deferred(ruling.action, asked, at)):
            found[index] = reason
    return found


def _why_deferred(action: Action, asked: LiveShard, at: Instant) -> Reason | None:
    if action.kind in _STOPPED_BY_BREAKER:
        provider = asked.provider_of(action.machine)
        if asked.breaker_open(provider):
            return _why_broken(provider)
    return asked.why_backed_off(action, at)


@lru_cache(maxsize=256)
def _why_broken(provider: str) -> Reason:
    return Reason("rail.breaker", {"provider": provider})


def _less_urgent(rulings: list[Ruling], budget: int, reason: Reason) -> dict[int, Reason]:
    """What does not fit into the budget."""
    left = _left(rulings)
    if len(left) <= budget:
        return {}
    kept = set(most_urgent([ruling.action for ruling in rulings], left, budget))
    return {index: reason for index in left if index not in kept}


def _vetoes(rulings: list[Ruling], asked: LiveShard, at: Instant) -> dict[int, Reason]:
    left = _left(rulings)
    vetoed = asked.vetoes([rulings[index].action for index in left], at)
    return {left[position]: reason for position, reason in vetoed.items()}


#: Dispositions with a counter of their own, and whether it tells kinds apart.
_OWN_COUNTER = {
    Disposition.ENQUEUED: ("actions_total", True),
    Disposition.SUPPRESSED: ("actions_suppressed_total", True),
    Disposition.DRY_RUN: ("actions_dryrun_total", True),
    Disposition.DEFERRED: ("actions_deferred_total", False),
    Disposition.DROPPED: ("actions_dropped_total", False),
    Disposition.DEDUPED: ("actions_deduped_total", False),
}
_CAPPED = {
    ActionKind.RECLAIM: "reclaims_capped_total",
    ActionKind.PREEMPT: "preempts_capped_total",
}


def record(disposed: Disposed, sentences: Sequence[str], cycle: int, effects: Effects) -> None:
    """Counts, a log line for each action of a dry-run, and a wake where only the budget stood in
    the way. `sentences`: why each action was decided, in the same order.
    """
    _count(disposed, effects.counts)
    for ruling, sentence in zip(disposed.rulings, sentences, strict=True):
        if ruling.disposition is Disposition.DRY_RUN:
            effects.log(
                "info",
                "dry_run",
                f"would {ruling.action.kind.name.lower()} {ruling.action.machine}",
                cycle=cycle,
                kind=ruling.action.kind.label,
                machine=ruling.action.machine,
                cluster=ruling.action.cluster,
                reason=sentence,
            )
    if disposed.more_to_do:
        effects.wake()


def _count(disposed: Disposed, counts: Counts) -> None:
    tally = Counter((ruling.action.kind, ruling.disposition) for ruling in disposed.rulings)
    for (kind, disposition), number in tally.items():
        label = kind.label
        counts.add(
            "action_dispositions_total", number, kind=label, disposition=disposition.name.lower()
        )
        name, by_kind = _OWN_COUNTER.get(disposition, ("", False))
        if disposition is Disposition.CAPPED:
            name = _CAPPED[kind]
        if name and by_kind:
            counts.add(name, number, kind=label)
        elif name:
            counts.add(name, number)
