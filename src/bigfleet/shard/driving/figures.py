"""The shard in figures, for pages that are looked at all the time.

What a cycle had never changes: it is counted once, in a thread, when it is first asked for.
Counters are read anew each time.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bigfleet.edge.counts import FAST, Counts, Histogram
from bigfleet.engine.availability import Availability, availability_of
from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.snapshot import Snapshot
from bigfleet.engine.spending import spending_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.figures import (
    AvailableCall,
    AvailableList,
    AvailableRow,
    ClassCounts,
    CostAxis,
    DurationCounts,
    MachineSort,
    ShardFigures,
    SpendingRow,
)
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.priority_classes import PRIORITY_CLASSES
from bigfleet.model.requirements import Requirement
from bigfleet.model.session_frames import Confidence
from bigfleet.shard.ledgers.summaries import measure_demand, measure_machines
from bigfleet.shard.state import ShardState

#: Rows of one answer.
MOST_AVAILABLE = 5_000
_STATES = {state.label: state for state in MachineState}
_CAPACITIES = {kind.label: kind for kind in CapacityType}


@dataclass(frozen=True, slots=True)
class CycleFigures:
    """Of one cycle."""

    cycle: int
    at: Instant
    machines: int
    sorts: tuple[MachineSort, ...] = ()
    spending: tuple[SpendingRow, ...] = ()
    classes: tuple[ClassCounts, ...] = ()
    demand_by_bucket: tuple[tuple[str, int], ...] = ()


class Figures:
    def __init__(self, state: ShardState) -> None:
        self._state = state
        self._known = CycleFigures(0, 0, 0)
        self._available: tuple[object, Availability] | None = None
        #: Held while a cycle is counted: others that ask wait for the same answer.
        self._counting = asyncio.Lock()

    async def now(self, axes: Sequence[CostAxis] = ()) -> ShardFigures:
        """Spending by these axes; none: by all."""
        found, state = await self._of_last_cycle(), self._state
        counts = state.effects.counts
        return ShardFigures(
            shard_id=state.settings.id,
            epoch=state.epoch,
            cycle=found.cycle,
            computed_at=found.at,
            machines=found.machines,
            sessions=len(state.parts.sessions),
            shortfalls=state.decision_loop.ledger.unsatisfied,
            sorts=found.sorts,
            spending=tuple(row for row in found.spending if not axes or row.axis in axes),
            classes=found.classes,
            demand_by_bucket=dict(found.demand_by_bucket),
            actions={k.label: int(counts.of("actions_total", kind=k.label)) for k in ActionKind},
            proposals_committed=_proposals(counts, "committed"),
            proposals_conflicting=_proposals(counts, "conflict"),
            edges=FAST,
            durations=tuple(durations_in(counts)),
        )

    async def of_past(self, given: EngineInput, axes: Sequence[CostAxis]) -> ShardFigures:
        """What the inputs of a cycle tell: machines and money."""
        sorts, spending = await asyncio.to_thread(_of_snapshot, given.snapshot)
        return ShardFigures(
            shard_id=self._state.settings.id,
            epoch=self._state.epoch,
            cycle=given.cycle,
            computed_at=given.at,
            machines=len(given.snapshot),
            sessions=0,
            shortfalls=0,
            sorts=sorts,
            spending=tuple(row for row in spending if not axes or row.axis in axes),
            classes=(),
            demand_by_bucket={},
            actions={},
            proposals_committed=0,
            proposals_conflicting=0,
            edges=(),
            durations=(),
        )

    async def available(self, call: AvailableCall) -> AvailableList:
        finished = self._state.decision_loop.finished
        if finished is None:
            return AvailableList(0, 0, ())
        silent = tuple(self._state.parts.reconciler.silent_providers())
        cycle, outcome = finished.given.cycle, finished.decision.outcome
        async with self._counting:
            known = self._available
            if known is None or known[0] != (cycle, silent):
                found = await asyncio.to_thread(availability_of, outcome, silent)
                known = self._available = ((cycle, silent), found)
        return await asyncio.to_thread(available_in, known[1], cycle, call)

    async def _of_last_cycle(self) -> CycleFigures:
        async with self._counting:
            finished = self._state.decision_loop.finished
            if finished is not None and finished.given.cycle != self._known.cycle:
                given = finished.given
                # Read before the thread starts: the judge has the states of the same cycle now.
                counts = Counts()
                self._state.parts.need_judge.measure(counts, given.at)
                self._known = await asyncio.to_thread(
                    counted, given.cycle, given.at, given.snapshot, finished.decision, counts
                )
            return self._known


def counted(
    cycle: int, at: Instant, snapshot: Snapshot, decision: Decision, counts: Counts
) -> CycleFigures:
    """`counts` has the Needs by state and class; it is filled with the rest."""
    measure_machines(counts, snapshot)
    measure_demand(counts, decision)
    return CycleFigures(
        cycle,
        at,
        len(snapshot),
        tuple(sorts_in(counts)),
        tuple(spending_of(snapshot)),
        tuple(classes_in(counts)),
        tuple(
            (dict(labels)["interruption_penalty_bucket"], int(value))
            for (name, labels), value in counts.gauges.items()
            if name == "demand_machines"
        ),
    )


def _of_snapshot(snapshot: Snapshot) -> tuple[tuple[MachineSort, ...], list[SpendingRow]]:
    counts = Counts()
    measure_machines(counts, snapshot)
    return tuple(sorts_in(counts)), spending_of(snapshot)


def sorts_in(counts: Counts) -> list[MachineSort]:
    found = []
    for (name, labels), value in counts.gauges.items():
        if name == "inventory_machines":
            told = dict(labels)
            state, kind = _STATES[told["state"]], _CAPACITIES[told["capacity_type"]]
            found.append(MachineSort(state, kind, told["interruption_penalty_bucket"], int(value)))
    return sorted(found, key=lambda each: (each.state, each.capacity_type, each.penalty_bucket))


def classes_in(counts: Counts) -> list[ClassCounts]:
    """The highest first; none where no Need was judged yet."""
    if not any(name == "needs" for name, _ in counts.gauges):
        return []
    return [
        ClassCounts(
            name,
            *(
                int(counts.of("needs", state=state.label, priority_class=name))
                for state in NeedState
            ),
        )
        for name in PRIORITY_CLASSES
    ]


def durations_in(counts: Counts) -> list[DurationCounts]:
    found = []
    for (name, labels), told in counts.histograms.items():
        if name in ("cycle_duration_seconds", "cycle_phase_duration_seconds"):
            found.append(_durations(dict(labels).get("phase", ""), told))
    return sorted(found, key=lambda each: each.phase)


def _durations(phase: str, told: Histogram) -> DurationCounts:
    return DurationCounts(phase, tuple(told.counts), told.total)


def _proposals(counts: Counts, outcome: str) -> int:
    return int(counts.of("phase1_occ_proposals_total", outcome=outcome))


def available_in(found: Availability, cycle: int, call: AvailableCall) -> AvailableList:
    """By cluster, then by fingerprint."""
    rows = range(len(found))
    meant = [row for row in rows if not call.cluster or found.cluster_name(row) == call.cluster]
    keys = {row: (found.cluster_name(row), found.profile_of(row).fingerprint) for row in meant}
    shown = sorted(meant, key=keys.__getitem__)[: min(call.limit or MOST_AVAILABLE, MOST_AVAILABLE)]
    confidence, cost = found.confidence, found.cost
    return AvailableList(
        cycle,
        len(meant),
        tuple(
            AvailableRow(
                *keys[row],
                found.profile_of(row).priority,
                tuple(map(_requirement_text, found.profile_of(row).requirements)),
                int(found.idle[row]),
                int(found.speculative[row]),
                Confidence(int(confidence[row])).name.capitalize(),
                float(cost[row]),
            )
            for row in shown
        ),
    )


def _requirement_text(wanted: Requirement) -> str:
    """`topology.kubernetes.io/zone In a, b`."""
    operator = "".join(word.capitalize() for word in wanted.operator.name.split("_"))
    return " ".join(filter(None, (wanted.key, operator, ", ".join(wanted.values))))
