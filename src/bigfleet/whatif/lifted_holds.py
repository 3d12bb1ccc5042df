"""Pauses and rails that hold back what a cycle decides for a Need, and which of them to lift.

They are no input of the engine: it decides as if there were none. So no run is needed to know what
lifting one does: the actions that only this one holds back are carried out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.explain.need_reasons import remedy_of_pause, remedy_of_rail
from bigfleet.explain.need_states import is_held
from bigfleet.model.actions import ActionKind
from bigfleet.model.counterfactuals import MOST_LOSERS, ToldChange, ToldLoser
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, scope_text
from bigfleet.model.reasons import ToldReason
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.whatif.losers import price_of_machines

PAUSE, RAIL = "pause", "rail"
_THEN = "what comes after a pause among the rails is asked once it is lifted"


@dataclass(frozen=True, slots=True)
class RecordedRails:
    """What stood between the decisions of a cycle and its machines."""

    shard: str = ""
    #: In force when its actions were looked at.
    pauses: tuple[Pause, ...] = ()
    #: With what became of them.
    actions: tuple[ActionView, ...] = ()


class Hold(NamedTuple):
    kind: str
    #: A pause's id, or the code of a rail.
    name: str
    #: What is lifted, in words.
    text: str
    remedy: str


class _Step(NamedTuple):
    """Something that must be done for the Need."""

    kind: ActionKind
    #: Whose machine it is, or is to be.
    cluster: str
    machine: str


class Lifting:
    def __init__(self, decision: Decision, rows: Int64s, rails: RecordedRails) -> None:
        """`rows`: of the Needs that are meant."""
        self._decision = decision
        self._rows = rows
        held = _held_actions(rails.actions, decision, rows)
        #: What each step waits for; all of it must be lifted.
        self._waits = [
            (step, held_by)
            for step in _steps(decision, rows)
            if (held_by := frozenset(_holds_of(step, rails, held)))
        ]
        names = {hold: None for _, held_by in self._waits for hold in sorted(held_by)}
        #: Every hold, pauses first.
        self.holds: tuple[Hold, ...] = tuple(sorted(names, key=lambda hold: hold.kind != PAUSE))

    @property
    def notes(self) -> tuple[str, ...]:
        said = [_THEN] if any(hold.kind == PAUSE for hold in self.holds) else []
        if len(self.holds) > 1:
            texts = "; ".join(hold.text for hold in self.holds)
            count = len(self.holds)
            said.append(f"{count} holds stand in its way, and all must be lifted: {texts}")
        return tuple(said)

    @property
    def beside(self) -> tuple[str, ...]:
        """Of a Need that is short as well: no change helps before these are lifted."""
        return tuple(
            f"held back as well: {hold.text} would be needed too; {hold.remedy}"
            for hold in self.holds
        )

    def changes(self, depth: int, include_tried: bool) -> tuple[ToldChange, ...]:
        """Of a Need that is covered by what the cycle decides."""
        alone = list(combinations(self.holds, 1))
        found: list[tuple[Hold, ...]] = [each for each in alone if self._releases(each)]
        if not found and depth > 1:
            found += [each for each in combinations(self.holds, 2) if self._releases(each)]
        told = [self._change(each) for each in found]
        if include_tried:
            told += [self._change(each) for each in alone if each not in found]
        return tuple(told)

    def _releases(self, lifted: Sequence[Hold]) -> bool:
        return all(held_by <= set(lifted) for _, held_by in self._waits)

    def _change(self, lifted: Sequence[Hold]) -> ToldChange:
        """Its price is that of the actions it sets free: without it they are not carried out."""
        free = [step for step, held_by in self._waits if held_by <= set(lifted)]
        bought, taken = (self._rows_of(free, k) for k in (ActionKind.PROVISION, ActionKind.PREEMPT))
        price = price_of_machines(self._decision.outcome.scene.snapshot, bought, taken)
        losers = self._losers(taken)
        return ToldChange(
            change=", and ".join(hold.text for hold in lifted),
            kinds=tuple(hold.kind for hold in lifted),
            amounts=(1,) * len(lifted),
            satisfied=self._releases(lifted),
            delta_hourly_cost=price.dollars_per_hour,
            declared_penalties=price.penalty_dollars,
            pinned_victims=price.pinned_victims,
            preempts=len(taken),
            losers=losers[:MOST_LOSERS],
            loser_count=len(losers),
            command="; ".join(hold.remedy for hold in lifted),
        )

    def _rows_of(self, steps: Sequence[_Step], kind: ActionKind) -> Int64s:
        snapshot = self._decision.outcome.scene.snapshot
        return np.array([snapshot.row_of(s.machine) for s in steps if s.kind is kind], np.int64)

    def _losers(self, taken: Int64s) -> tuple[ToldLoser, ...]:
        """Needs that claim the machines that are preempted."""
        outcome = self._decision.outcome
        units = outcome.kinds.units[outcome.scene.supply.kind[taken]]
        holder = outcome.credit.holder[taken]
        lost = (
            (n, units[holder == n].sum(axis=0)) for n in np.unique(holder[holder >= 0]).tolist()
        )
        return tuple(
            ToldLoser(outcome.key(need), outcome.resources(amounts.tolist()))
            for need, amounts in lost
        )


def _steps(decision: Decision, rows: Int64s) -> Iterator[_Step]:
    """What must be done until the machines of these Needs are Configured."""
    outcome, snapshot = decision.outcome, decision.outcome.scene.snapshot
    names, ids = snapshot.tables.clusters.rows, snapshot.ids
    state, claimed = snapshot.columns.state, outcome.credit.holder
    for row in rows.tolist():
        key = outcome.key(row)
        for machine in np.flatnonzero(claimed == row).tolist():
            if state[machine] == MachineState.SPECULATIVE:
                yield _Step(ActionKind.PROVISION, key.cluster, ids[machine])
            if state[machine] not in (MachineState.CONFIGURED, MachineState.CONFIGURING):
                yield _Step(ActionKind.BOOTSTRAP, key.cluster, ids[machine])
        for victim in outcome.preempted.row[outcome.preempted.need == row].tolist():
            cluster = int(snapshot.columns.cluster[victim])
            yield _Step(ActionKind.PREEMPT, names[cluster] if cluster >= 0 else "", ids[victim])
            yield _Step(ActionKind.BOOTSTRAP, key.cluster, ids[victim])
        for reservation in decision.memory.reservations.values():
            if reservation.kind is ReservationKind.PREEMPTION and reservation.holder == key:
                yield _Step(ActionKind.BOOTSTRAP, key.cluster, reservation.machine)


def _held_actions(
    actions: Sequence[ActionView], decision: Decision, rows: Int64s
) -> dict[tuple[ActionKind, str], ActionView]:
    keys: set[NeedKey] = {decision.outcome.key(row) for row in rows.tolist()}
    return {
        (view.kind, view.machine): view
        for view in actions
        if view.need in keys and view.rail and _is_rail(view)
    }


def _is_rail(view: ActionView) -> bool:
    """Pauses are known by themselves."""
    return view.disposition is Disposition.DRY_RUN or is_held(view.disposition, view.rail)


def _holds_of(
    step: _Step, rails: RecordedRails, held: dict[tuple[ActionKind, str], ActionView]
) -> Iterator[Hold]:
    for pause in rails.pauses:
        if pause.scope.covers(rails.shard, step.cluster, step.kind):
            yield Hold(PAUSE, pause.pause_id, _pause_text(pause), remedy_of_pause(pause))
    if view := held.get((step.kind, step.machine)):
        reason = ToldReason(view.rail, view.outcome)
        remedy = remedy_of_rail(reason, step.cluster)
        yield Hold(RAIL, view.rail, f"{view.rail} lifted ({view.outcome})", remedy)


def _pause_text(pause: Pause) -> str:
    """`pause p1 lifted (Preempt of cluster shop, by ada: drill, until ...)`."""
    by = f", by {pause.who}" if pause.who else ""
    why = f": {pause.reason}" if pause.reason else ""
    ends = pause.expires_at
    until = "" if ends is None else f", until {instant_text(ends // SECOND * SECOND)}"
    return f"pause {pause.pause_id} lifted ({scope_text(pause.scope)}{by}{why}{until})"
