"""Both sides of a what-if brought to rest, and how long the Needs wait for their machines.

A Need is covered from the moment all machines that are counted for it are Configured: a plan is not
a machine.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.model.latencies import Latencies
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.what_if import (
    ClusterSide,
    Move,
    NeedWait,
    Overlay,
    SettledSide,
    Settling,
    WhatIfAnswer,
    WhatIfSide,
)
from bigfleet.whatif.applying import Applied, applied
from bigfleet.whatif.comparing import MOST_LISTED, DecidedSide, compared, newly
from bigfleet.whatif.settling import QUIET_CYCLES, STEP, SettlingCycle, settling_cycles

_NOT_COVERED = -1


def settle(given: EngineInput, overlay: Overlay, cycle: str, latencies: Latencies) -> WhatIfAnswer:
    """Raises BadInput for an overlay that cannot be applied."""
    edited = applied(given, overlay)
    base = at_rest(given, latencies)
    changed = at_rest(edited.given, latencies) if overlay else base
    return settled_answer(base, changed, edited, overlay, cycle)


def settled_answer(
    base: "RestingSide", changed: "RestingSide", edited: Applied, overlay: Overlay, cycle: str
) -> WhatIfAnswer:
    answer = compared(base, changed, edited, overlay, cycle)
    short, _ = newly(base.first, changed.first)
    told = Settling(
        changed.latencies,
        len(short),
        int(np.count_nonzero(changed.waits.covered_at[short] != _NOT_COVERED)),
        tuple(changed.need_waits(cycle)),
    )
    return replace(answer, settling=told)


def at_rest(given: EngineInput, latencies: Latencies) -> "RestingSide":
    tally, waits = _Tally(), _Waits()
    first: DecidedSide | None = None
    last: SettlingCycle | None = None
    for last in settling_cycles(given, latencies):
        side = DecidedSide(last.given, last.decision)
        first = first or side
        waits.take(covered_rows(side), last.elapsed)
        if last.decision.action_count:
            tally.take(side)
    assert first is not None, "a loop has a cycle"
    assert last is not None, "a loop has a cycle"
    return RestingSide(last.given, last.decision, first, last, tally, waits, latencies)


def covered_rows(side: DecidedSide) -> Bools:
    """Of each row of the demand, whether it has all its machines, Configured."""
    outcome = side.decision.outcome
    holder, state = outcome.credit.holder, side.given.snapshot.columns.state
    is_ready = ~outcome.unsatisfied
    is_ready[holder[(holder >= 0) & (state != int(MachineState.CONFIGURED))]] = False
    found: Bools = is_ready[side.normal_of_row]
    return found


@dataclass(slots=True)
class _Waits:
    """Per row of the demand, which stays the same throughout."""

    #: Nanoseconds since the beginning; of those that lost their machines, since they have them
    #: again.
    covered_at: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    had_to_wait: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))

    def take(self, covered: Bools, elapsed: int) -> None:
        if not len(self.covered_at):
            self.covered_at = np.zeros(len(covered), np.int64)
            self.had_to_wait = np.zeros(len(covered), np.bool_)
        self.covered_at[covered & (self.covered_at == _NOT_COVERED)] = elapsed
        self.covered_at[~covered] = _NOT_COVERED
        self.had_to_wait |= ~covered

    def histogram(self) -> tuple[tuple[float, int], ...]:
        waited = self.covered_at[self.had_to_wait & (self.covered_at != _NOT_COVERED)]
        times, counts = np.unique(waited, return_counts=True)
        return tuple(zip((times / SECOND).tolist(), counts.tolist(), strict=True))


@dataclass(slots=True)
class _Tally:
    """What all cycles did."""

    actions: Counter[str] = field(default_factory=Counter)
    actions_of_cluster: dict[str, Counter[str]] = field(default_factory=dict)
    moves: Counter[tuple[str, str]] = field(default_factory=Counter)
    penalties: list[float] = field(default_factory=list)
    pinned: int = 0

    def take(self, side: DecidedSide) -> None:
        for name, each in side.actions_of_cluster().items():
            self.actions_of_cluster.setdefault(name, Counter()).update(each)
        self.actions.update(side.kinds(np.ones(side.decision.action_count, np.bool_)))
        for move in side.moves():
            self.moves[move.from_cluster, move.to_cluster] += move.machines
        penalties, pinned = side.declared()
        self.penalties.append(penalties)
        self.pinned += pinned


@dataclass(frozen=True)
class RestingSide(DecidedSide):
    """The last cycle, summed up with what all of them did."""

    first: DecidedSide
    last: SettlingCycle
    tally: _Tally
    waits: _Waits
    latencies: Latencies

    def summary(self) -> WhatIfSide:
        is_quiet = self.last.is_last
        seconds = self.last.elapsed / SECOND
        before_quiet = self.last.elapsed // STEP - (QUIET_CYCLES - 1)
        return replace(
            super().summary(),
            actions_by_kind=dict(self.tally.actions),
            declared_penalties=math.fsum(self.tally.penalties),
            pinned_victims=self.tally.pinned,
            settled=SettledSide(
                before_quiet if is_quiet else None,
                seconds,
                self.waits.histogram(),
                int(np.count_nonzero(self.waits.covered_at == _NOT_COVERED)),
            ),
        )

    def clusters(self) -> dict[str, ClusterSide]:
        acted = self.tally.actions_of_cluster
        return {
            name: replace(side, actions_by_kind=dict(acted.get(name, ())))
            for name, side in super().clusters().items()
        }

    def moves(self) -> tuple[Move, ...]:
        moves = [Move(a, b, count) for (a, b), count in self.tally.moves.items()]
        return tuple(sorted(moves, key=lambda m: (-m.machines, m.from_cluster, m.to_cluster)))

    def need_waits(self, cycle: str) -> Iterator[NeedWait]:
        """Those that wait still, then those that waited longest; at one time the first in order
        of precedence."""
        at, waited = self.waits.covered_at, np.flatnonzero(self.waits.had_to_wait)
        key = np.where(at[waited] == _NOT_COVERED, -(2**62), -at[waited])
        rows: Int64s = waited[np.argsort(key, kind="stable")][:MOST_LISTED]
        for row, change in zip(rows.tolist(), self.told(rows, cycle), strict=True):
            covered = None if at[row] == _NOT_COVERED else int(at[row]) / SECOND
            yield NeedWait(change.key, change.priority, covered, change.sentence)
