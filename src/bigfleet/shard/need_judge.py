"""Judges every Need once per cycle: asks the parts of the shard what holds Needs back, and keeps
the verdict of the last cycle, from which the next one knows since when.

What is kept is as large as the demand, and a Need that is gone is gone from it with the next cycle.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from bigfleet.edge.counts import Counts, Histogram
from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.need_progress import NeedProgress, key_number
from bigfleet.engine.snapshot import Snapshot
from bigfleet.explain.failing_actions import FailingActions
from bigfleet.explain.need_states import (
    LEAST_PATIENCE_SECONDS,
    LEAST_SEEN,
    P95_TIMES,
    PAUSABLE,
    BrokenProvider,
    Holds,
    NeedStates,
    NodeFacts,
    Patience,
    is_held,
    judged,
)
from bigfleet.model.actions import ActionKind
from bigfleet.model.cluster_reports import ClusterReport
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause
from bigfleet.model.priority_classes import PRIORITY_CLASSES
from bigfleet.model.reasons import Reason
from bigfleet.shard.cluster_reports import ClusterReports
from bigfleet.shard.coordination.quotas import Quotas
from bigfleet.shard.effects import Effects
from bigfleet.shard.execution.phases import PHASE_OF_STATE
from bigfleet.shard.ledgers.shortfalls import class_numbers
from bigfleet.shard.machines import Machines
from bigfleet.shard.offerings.offerings import Offerings
from bigfleet.shard.rails.dispositions import Disposed
from bigfleet.shard.rails.pauses import Pauses
from bigfleet.shard.reconciling.reconciler import Reconciler
from bigfleet.shard.sessions.sessions import Sessions
from bigfleet.shard.settings import CurrentShardSettings

S = MachineState

_MOVING = (S.CREATING, S.CONFIGURING)


class JudgedParts(Protocol):
    settings: CurrentShardSettings
    effects: Effects
    machines: Machines
    sessions: Sessions
    pauses: Pauses
    offerings: Offerings
    failing: FailingActions
    cluster_reports: ClusterReports
    reconciler: Reconciler
    quotas: Quotas


class NeedJudge:
    def __init__(self, parts: JudgedParts) -> None:
        self._parts = parts
        self._last: NeedStates | None = None
        #: Both of the same cycle, and replaced together: a thread may read them.
        self._shown: tuple[NeedStates, Decision] | None = None
        #: Rows of the machines a report calls unusable, as long as neither report nor rows change.
        self._unusable: dict[str, tuple[ClusterReport, list[str], Int64s]] = {}

    @property
    def shown(self) -> tuple[NeedStates, Decision] | None:
        """Of the last cycle; None: there was none."""
        return self._shown

    def __len__(self) -> int:
        return len(self._last) if self._last is not None else 0

    def judge(
        self, decision: Decision, progress: NeedProgress, disposed: Disposed, at: Instant
    ) -> NeedStates:
        """The states of this cycle's Needs."""
        self._forget_failures(progress, at)
        holds = self._holds(decision, progress, disposed, at)
        self._last = judged(decision, progress, holds, self._last)
        self._shown = self._last, decision
        return self._last

    def measure(self, counts: Counts, at: Instant) -> None:
        """Set the gauges: Needs by state and class of priority, and the oldest of each state; in
        any thread."""
        if self._shown is None:
            return
        states, decision = self._shown
        classes = class_numbers(decision.outcome.needs.priority)
        number = (states.state.astype(np.int64) - 1) * len(PRIORITY_CLASSES) + classes
        found = np.bincount(number, minlength=len(NeedState) * len(PRIORITY_CLASSES)).tolist()
        for state in NeedState:
            of_state = states.since[states.state == state]
            oldest = (at - int(of_state.min())) / SECOND if len(of_state) else 0.0
            counts.set("needs_oldest_seconds", max(0.0, oldest), state=state.label)
            for place, name in enumerate(PRIORITY_CLASSES):
                needs = found[(state - 1) * len(PRIORITY_CLASSES) + place]
                counts.set("needs", needs, state=state.label, priority_class=name)

    # -- asking the parts ------------------------------------------------------------------------

    def _holds(
        self, decision: Decision, progress: NeedProgress, disposed: Disposed, at: Instant
    ) -> Holds:
        parts, scene = self._parts, decision.outcome.scene
        clusters, held = scene.cluster_names, bool(progress.held_by.any())
        return Holds(
            at=at,
            dry_run=parts.settings.now.dry_run,
            paused=self._paused(clusters, scene.snapshot.tables.clusters.rows),
            absent=self._absent(clusters),
            broken=self._broken(),
            rails=_rails(disposed),
            failing=parts.failing.lately(at),
            patience=self._patience(),
            coming_since=self._coming_since(scene.snapshot, progress),
            nodes=self._nodes(scene.snapshot),
            offerings=parts.offerings.views() if held else (),
            quotas=parts.quotas.limits() if held else (),
        )

    def _paused(
        self, asking: Iterable[str], serving: Iterable[str]
    ) -> Mapping[tuple[ActionKind, str], Pause]:
        pauses = self._parts.pauses
        if not pauses.active():
            return {}
        asked = ((kind, cluster) for cluster in {*asking, *serving} for kind in PAUSABLE)
        found = ((each, pauses.why_suppressed(*each)) for each in asked)
        return {each: pause for each, pause in found if pause is not None}

    def _absent(self, clusters: Iterable[str]) -> Mapping[str, Instant | None]:
        sessions = self._parts.sessions
        return {
            name: sessions.absent_since(name) for name in clusters if not sessions.is_open(name)
        }

    def _broken(self) -> Mapping[str, BrokenProvider]:
        reconciler = self._parts.reconciler
        return {
            name: BrokenProvider(reconciler.breaker_since(name), reconciler.status(name).last_error)
            for name in reconciler.silent_providers()
        }

    def _patience(self) -> Mapping[MachineState, Patience]:
        deadlines, histograms = self._parts.settings.now.deadlines, self._parts.effects.counts
        create = _patience_of(histograms, S.CREATING, deadlines.creating)
        configure = _patience_of(histograms, S.CONFIGURING, deadlines.configuring)
        return {
            S.SPECULATIVE: create,
            S.CREATING: create,
            S.IDLE: configure,
            S.CONFIGURING: configure,
            S.CONFIGURED: Patience(deadlines.join),
        }

    def _coming_since(self, snapshot: Snapshot, progress: NeedProgress) -> Int64s:
        """Of those that have begun to move; 0 of the others."""
        found = np.zeros(len(progress.coming), np.int64)
        moving = np.flatnonzero(np.isin(snapshot.columns.state[progress.coming], _MOVING))
        since, ids = self._parts.machines.since, snapshot.ids
        found[moving] = [since(ids[row]) for row in progress.coming[moving].tolist()]
        return found

    def _nodes(self, snapshot: Snapshot) -> NodeFacts:
        """Ids of machines that are another cluster's, or not Configured, do not count."""
        reports = list(self._parts.cluster_reports.fresh())
        self._unusable = {r.cluster_id: self._rows_of(r, snapshot) for r in reports}
        rows = [found for _, _, found in self._unusable.values() if len(found)]
        stuck = Counter[int]()
        for report in reports:
            for each in report.stuck:
                key = NeedKey(report.cluster_id, each.fingerprint, each.group)
                stuck[key_number(key)] += each.pods
        unusable = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        configured = snapshot.columns.state[unusable] == S.CONFIGURED
        return NodeFacts(
            unusable[configured], stuck, frozenset(report.cluster_id for report in reports)
        )

    def _rows_of(
        self, report: ClusterReport, snapshot: Snapshot
    ) -> tuple[ClusterReport, list[str], Int64s]:
        known = self._unusable.get(report.cluster_id)
        if known is not None and known[0] is report and known[1] is snapshot.ids:
            rows = known[2]
        else:
            found = (snapshot.row_of(machine) for machine in report.unusable_machines)
            rows = np.array([row for row in found if row >= 0], np.int64)
        number = snapshot.tables.clusters.find(report.cluster_id)
        return report, snapshot.ids, rows[snapshot.columns.cluster[rows] == number]

    def _forget_failures(self, progress: NeedProgress, at: Instant) -> None:
        failing = self._parts.failing
        if not len(failing):
            return
        keys = list(failing.keys())
        here = np.isin([key_number(key) for key in keys], progress.key)
        failing.forget([key for key, known in zip(keys, here, strict=True) if not known], at)


def _rails(disposed: Disposed) -> dict[int, Reason]:
    """By Need: the first of its actions that a rail held back for longer than a cycle."""
    found: dict[int, Reason] = {}
    for ruling in disposed.rulings:
        need, reason = ruling.action.need, ruling.reason
        if need is None or reason is None:
            continue
        if is_held(ruling.disposition, reason.code):
            found.setdefault(need, reason)
    return found


def _patience_of(counts: Counts, step: MachineState, deadline: float) -> Patience:
    histogram = counts.histograms.get((f"{PHASE_OF_STATE[step]}_phase_seconds", ()))
    if histogram is None or histogram.count < LEAST_SEEN:
        return Patience(deadline)
    p95 = quantile(histogram, 0.95)
    return Patience(min(deadline, max(LEAST_PATIENCE_SECONDS, P95_TIMES * p95)), p95)


def quantile(histogram: Histogram, share: float) -> float:
    """Not below the true one, and at most a bucket above it."""
    left = share * histogram.count
    for place, count in enumerate(histogram.counts):
        left -= count
        if left <= 0 and place < len(histogram.edges):
            return histogram.edges[place]
    return float("inf")
