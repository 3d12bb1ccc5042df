"""Statements from decisions and their ends: the same for a living shard and for its journal.

What is known when an action is decided waits until its end is told. An end that went well makes
one statement; one that failed, and an action that was held back, makes none. A machine that its own
cluster had lost is given back: nothing was taken, and no statement is made.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.encoding import machine_at
from bigfleet.engine.engine_input import EngineInput
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.need_facts import machine_name
from bigfleet.explain.victims import cheapest_held, next_best_victim
from bigfleet.model.action_outcomes import outcome_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Assigned, Instant, Machine, MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import precedence_of_fingerprint
from bigfleet.model.reasons import dollars_text
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.model.statements import NextBest, NextBestKind, Statement, statement_id
from bigfleet.model.thrash import TraceAction
from bigfleet.thrash.chains import Chains

TAKEN = (ActionKind.PREEMPT, ActionKind.RECLAIM)
#: Needs of one cycle whose next best choice is looked for: each takes a look at every machine.
MOST_NEEDS_A_CYCLE = 32
#: Actions under way that are remembered: two hours of 2 % of 50,000 machines a minute.
MOST_OPEN = 120_000
#: As for thrash: what a Need lost longer ago is not why it preempts now.
CHAIN_SECONDS = 1800.0
_HOUR = 3600.0
_BOUND = (MachineState.CONFIGURED, MachineState.DRAINING)
_NOT_LOOKED_FOR = NextBest(
    text=f"not looked for: more than {MOST_NEEDS_A_CYCLE} Needs preempted in that cycle"
)
_NO_CHOICE = NextBest(NextBestKind.NONE, text="none: no Need of its cluster claimed it any more")
_UNDECIDED = (
    "no recorded cycle decided it: the coordinator asked for the machine for another shard, or the"
    " cycle is missing in the record"
)


class StatementBook:
    """Pure: told of cycles and of ends, in the order in which a journal has them."""

    def __init__(self, open_drafts: Iterable[Statement] = ()) -> None:
        """`open_drafts`: of an earlier start, whose ends are still to come."""
        #: Decided and not ended, by cycle and machine; the oldest are forgotten first.
        self._open = {(draft.cycle, draft.machine): draft for draft in open_drafts}
        self._chains = Chains(CHAIN_SECONDS)
        self._epoch = -1
        self._pruned_at: Instant = 0
        #: The newest input: what is known of a machine that no recorded cycle took.
        self._last: EngineInput | None = None

    def __len__(self) -> int:
        return len(self._open)

    def see(
        self,
        epoch: int,
        given: EngineInput,
        actions: Iterable[ActionView],
        decide: Callable[[], Decision],
    ) -> list[Statement]:
        """A cycle; the statements it opens. `decide` is asked only where a machine is preempted."""
        if epoch != self._epoch:
            # A shard that starts anew remembers nothing of who lost what.
            self._epoch, self._chains = epoch, Chains(CHAIN_SECONDS)
        self._last = given
        begun = [each for each in actions if begins(each)]
        opened = self._drafts(epoch, given, begun, decide) if begun else []
        for draft in opened:
            self._open[draft.cycle, draft.machine] = draft
        while len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]
        return opened

    def waits_for(self, ended: ActionView) -> bool:
        """Whether the cycle that decided the action was seen, and its end was not."""
        return (ended.cycle, ended.machine) in self._open

    def end(self, epoch: int, ended: ActionView) -> Statement | None:
        """How an action ended; None: it makes no statement."""
        if ended.kind not in TAKEN or not ended.cycle:
            return None
        draft = self._open.pop((ended.cycle, ended.machine), None)
        outcome = outcome_of(ended.outcome)
        if outcome is None or not outcome.succeeded:
            return None
        if draft is None or draft.kind is not ended.kind:
            return self._undecided(epoch, ended)
        drained = max(0, ended.at - draft.decided_at) / SECOND
        price = draft.price_per_hour
        return replace(
            draft,
            completed_at=ended.at,
            drain_seconds=drained,
            drain_value=None if price is None else price * drained / _HOUR,
            grace_seconds=ended.grace_seconds,
        )

    # -- within ----------------------------------------------------------------------------------

    def _drafts(
        self,
        epoch: int,
        given: EngineInput,
        begun: list[ActionView],
        decide: Callable[[], Decision],
    ) -> list[Statement]:
        name, drafts = f"{epoch}:{given.cycle}", []
        preempts = any(view.kind is ActionKind.PREEMPT for view in begun)
        decided = DecidedCycle(given, decide(), name) if preempts else None
        choices: dict[int, NextBest] = {}
        for view in begun:
            row = given.snapshot.row_of(view.machine)
            if row < 0:
                continue
            draft = _draft(epoch, name, view, machine_at(given.snapshot, row).machine)
            if decided is not None and view.kind is ActionKind.PREEMPT:
                draft = self._preempted(draft, view, decided, row, choices)
            drafts.append(draft)
        if given.at - self._pruned_at >= 60 * SECOND or given.at < self._pruned_at:
            self._pruned_at = given.at
            self._chains.prune(given.at)
        return drafts

    def _preempted(
        self,
        draft: Statement,
        view: ActionView,
        decided: DecidedCycle,
        row: int,
        choices: dict[int, NextBest],
    ) -> Statement:
        holder, need = decided.holder(row), decided.preemptor(row)
        if holder >= 0:
            draft = replace(draft, from_need=decided.outcome.key(holder))
        draft = replace(draft, from_priority=decided.victim_priority(row))
        if need >= 0:
            draft = replace(draft, next_best=_chosen_after(decided, need, draft, choices))
        return replace(draft, chain=self._chain(draft, view))

    def _chain(self, draft: Statement, view: ActionView) -> tuple[str, ...]:
        action = TraceAction(
            view.cycle,
            view.index,
            view.kind,
            view.machine,
            draft.decided_at,
            *draft.from_need,
            preemptor=view.need,
        )
        chains = self._chains.extend(action)
        longest = max(chains, key=len) if chains else ()
        return tuple(
            statement_id(f"{draft.epoch}:{each.cycle}", each.machine) for each in longest[:-1]
        )

    def _undecided(self, epoch: int, ended: ActionView) -> Statement:
        """With what is known of the machine, where it was still seen with its cluster."""
        made = Statement(
            statement_id(f"{epoch}:{ended.cycle}", ended.machine),
            ended.kind,
            ended.machine,
            NeedKey(ended.cluster, "", ""),
            epoch=epoch,
            cycle=ended.cycle,
            to_priority=ended.preemptor_priority if ended.kind is ActionKind.PREEMPT else None,
            completed_at=ended.at,
            grace_seconds=ended.grace_seconds,
            unknown=_UNDECIDED,
        )
        last = self._last
        row = -1 if last is None else last.snapshot.row_of(ended.machine)
        if last is None or row < 0:
            return made
        machine = machine_at(last.snapshot, row).machine
        if machine.state not in _BOUND or machine.cluster != ended.cluster:
            return made
        return replace(_with_stamp(made, machine.assigned), price_per_hour=machine.price_per_hour)


def begins(view: ActionView) -> bool:
    return view.kind in TAKEN and view.disposition is Disposition.ENQUEUED


def takes_machines(decision: Decision) -> bool:
    """Whether a decision has an action that could make a statement."""
    kinds = decision.outcome.action_columns.kind
    return bool(np.isin(kinds, [int(kind) for kind in TAKEN]).any())


def _draft(epoch: int, cycle: str, view: ActionView, machine: Machine) -> Statement:
    preempts = view.kind is ActionKind.PREEMPT
    made = Statement(
        statement_id(cycle, view.machine),
        view.kind,
        view.machine,
        NeedKey(view.cluster, machine.assigned.need_fingerprint, machine.assigned.group),
        view.need if preempts else None,
        epoch,
        view.cycle,
        view.index,
        to_priority=_priority(view) if preempts else None,
        decided_at=view.at,
        price_per_hour=machine.price_per_hour,
        grace_seconds=view.grace_seconds,
        next_best=NextBest() if preempts else _NO_CHOICE,
    )
    return _with_stamp(made, machine.assigned)


def _with_stamp(made: Statement, stamp: Assigned) -> Statement:
    return replace(
        made,
        from_need=NeedKey(made.from_need.cluster, stamp.need_fingerprint, stamp.group),
        from_priority=stamp.priority,
        interruption_penalty=stamp.interruption_penalty,
        reclamation_penalty=stamp.reclamation_penalty,
    )


def _priority(view: ActionView) -> int:
    precedence = precedence_of_fingerprint(view.need.fingerprint) if view.need else None
    return view.preemptor_priority if precedence is None else precedence[0]


# -- the next best choice --------------------------------------------------------------------------


def _chosen_after(
    cycle: DecidedCycle, need: int, draft: Statement, choices: dict[int, NextBest]
) -> NextBest:
    """The same for all victims of a Need but for the difference of their penalties."""
    if need not in choices:
        if len(choices) >= MOST_NEEDS_A_CYCLE:
            return _NOT_LOOKED_FOR
        choices[need] = _next_best(cycle, need)
    found = choices[need]
    if found.extra_dollars is None or draft.declared is None:
        return found
    more = found.extra_dollars - draft.declared
    return replace(found, extra_dollars=more if math.isfinite(more) else None)


def _next_best(cycle: DecidedCycle, need: int) -> NextBest:
    """Of another victim, `extra_dollars` are all that are declared for it."""
    victim = next_best_victim(cycle, need)
    if victim is not None:
        text = f"{machine_name(victim.machine)} of cluster {victim.cluster}"
        text += f", priority {victim.priority}, would have made way"
        declared = victim.assigned.declared_dollars
        return NextBest(
            NextBestKind.OTHER_VICTIM, machine_name(victim.machine), text, extra_dollars=declared
        )
    held = cheapest_held(cycle, need)
    if held is None:
        return NextBest(NextBestKind.NONE, text="none: no other machine fits")
    machine, why = held
    price = machine.price_per_hour
    offering = "/".join((machine.instance_type, machine.zone, machine.capacity_type.label))
    text = f"{offering} at {dollars_text(price)}/h, billed, once it is not held by {why}"
    return NextBest(NextBestKind.BUY, offering, text, extra_dollars_per_hour=price)
