"""The four states of every Need, judged once per cycle: met, arriving, blocked, short.

The only place where they are decided; tables, metrics, alerts, replies to operators and `up` all
read what a shard keeps of it, and a journal or a fleet file is judged by it again. Columns in,
columns out: no Need is looked at one by one, and a Need whose machines are all there costs nothing
but its place in the columns.

The causes below are in order of precedence: of several things that hold a Need back the first one
is named, so that lifting it is the next step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Bools, Int8s, Int64s
from bigfleet.engine.need_progress import NeedProgress, cluster_numbers, key_number, keys_of
from bigfleet.engine.outcome import Outcome
from bigfleet.explain.failing_actions import FailingNeed
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey, is_margin
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause
from bigfleet.model.reasons import Reason, ToldReason
from bigfleet.model.shard_views import Disposition, OfferingView

#: Failures in a row that hold back a Need which still has machines to try.
IN_A_ROW = 3
#: Times the p95 of its step after which a machine does not seem to move, and how many machines
#: must have taken the step for that.
P95_TIMES = 2
LEAST_SEEN = 20
#: A step is never given less: cycles, Lists and reports are seconds apart.
LEAST_PATIENCE_SECONDS = 30.0
#: Of these actions a pause holds a Need back.
PAUSABLE = (ActionKind.BOOTSTRAP, ActionKind.PROVISION, ActionKind.PREEMPT)

_HOLDING = (Disposition.DEFERRED, Disposition.HELD, Disposition.VETOED, Disposition.CAPPED)
#: Not holds of a Need: a limit of actions lasts one cycle, and breakers are judged by provider.
_LEFT_OUT = ("rail.max-actions", "rail.breaker")


class Cause(IntEnum):
    """Why a Need is not met."""

    NONE = 0
    NO_SUPPLY = 1
    PAUSED = 2
    DRY_RUN = 3
    NO_OPERATOR = 4
    BREAKER = 5
    #: An action was held by another rail.
    RAIL = 6
    #: Machines that fit are held: quota, back-off, missing in the last Lists.
    HELD_SUPPLY = 7
    FAILING = 8
    STALLED = 9
    STUCK_PODS = 10
    #: Machines are on their way.
    COMING = 11
    #: Victims drain for it.
    VICTIMS = 12
    #: Configured, and the cluster cannot use their Nodes yet.
    JOINING = 13
    #: Pods do not fit on its machines, and more are on their way for them.
    MARGIN = 14


#: Of these it can be told how long they last.
TIMED = frozenset((Cause.HELD_SUPPLY, Cause.COMING, Cause.VICTIMS, Cause.JOINING))
_ARRIVING_FROM = Cause.COMING
_STATE_OF_CAUSE = np.array(
    [
        NeedState.MET,
        NeedState.SHORT,
        *[NeedState.BLOCKED] * (_ARRIVING_FROM - Cause.PAUSED),
        *[NeedState.ARRIVING] * (len(Cause) - _ARRIVING_FROM),
    ],
    np.int8,
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a step may take before nothing seems to move any more."""

    seconds: float
    #: Of the machines seen so far 95 % took no longer; None: too few were seen.
    p95: float | None = None


@dataclass(frozen=True, slots=True)
class BrokenProvider:
    since: Instant | None
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class QuotaFacts:
    provider: str
    region: str
    allocated: int
    in_use: int


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What fresh reports of clusters say of Nodes and pods."""

    #: Machine rows: Configured, and their Node cannot be used yet.
    unusable: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    #: Needs with stuck pods, by key number, and how many pods.
    stuck: Mapping[int, int] = field(default_factory=dict)
    #: Clusters that report.
    clusters: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Holds:
    """Everything that may hold a Need back, frozen with the cycle."""

    at: Instant
    dry_run: bool = False
    #: Pauses that stop such an action of such a cluster.
    paused: Mapping[tuple[ActionKind, str], Pause] = field(default_factory=dict)
    #: Clusters without session, and since when; None: none was seen yet.
    absent: Mapping[str, Instant | None] = field(default_factory=dict)
    broken: Mapping[str, BrokenProvider] = field(default_factory=dict)
    #: By Need: why the rails held one of its actions.
    rails: Mapping[int, Reason | ToldReason] = field(default_factory=dict)
    failing: Mapping[NeedKey, FailingNeed] = field(default_factory=dict)
    patience: Mapping[MachineState, Patience] = field(default_factory=dict)
    #: When the machines on their way came into their state, in the order of the progress.
    coming_since: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    #: Of Needs that no earlier cycle knows: nothing of them moved before; None: they begin now.
    known_from: Instant | None = None
    nodes: NodeFacts = NodeFacts()
    offerings: tuple[OfferingView, ...] = ()
    quotas: tuple[QuotaFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class NeedStates:
    """Of one cycle. Index space: normalised NeedRow."""

    holds: Holds
    progress: NeedProgress
    state: Int8s
    cause: Int8s
    #: When the Need came into its state.
    since: Int64s
    #: When something of it moved last.
    moved: Int64s
    #: Machines on their way, Nodes that are not usable included.
    arriving: Int64s
    #: Pods its machines do not take.
    stuck: Int64s

    def __len__(self) -> int:
        return len(self.state)

    def places_in(self, before: "NeedStates") -> tuple[Bools, Int64s]:
        """Whether each Need was there in another cycle, and at which place."""
        return _places_before(self.progress, before)


def is_held(disposition: Disposition | None, code: str) -> bool:
    """Whether a rail that stopped an action holds its Need back for longer than this cycle."""
    return disposition in _HOLDING and code not in _LEFT_OUT


def judged(
    decision: Decision, progress: NeedProgress, holds: Holds, before: NeedStates | None
) -> NeedStates:
    outcome, at = decision.outcome, holds.at
    if before is not None and not len(before):
        before = None
    joining_need = _holders(outcome, holds.nodes.unusable)
    arriving = np.bincount(progress.coming_need, minlength=len(outcome))
    arriving += np.bincount(joining_need, minlength=len(outcome))
    known, place = _places_before(progress, before)
    moved = _moved(progress, holds, arriving, before, known, place)
    patience = _patience(outcome, progress, holds, joining_need)
    stuck, waiting_profiles = _stuck(outcome, holds.nodes)
    cause = np.zeros(len(outcome), np.int8)
    cause[joining_need] = Cause.JOINING
    cause[progress.by_victims] = Cause.VICTIMS
    cause[progress.coming_need] = Cause.COMING
    stalled = (arriving > 0) & (at - moved > patience)
    cause[stalled] = Cause.STALLED
    cause[progress.held_by > 0] = Cause.HELD_SUPPLY
    cause[list(holds.rails)] = Cause.RAIL
    _mark_holds(cause, decision, progress, holds)
    cause[progress.short & (progress.held_by == 0)] = Cause.NO_SUPPLY
    # A machine that failed is supply to no Need: without this its Need would only seem short.
    cause[_failing(progress, holds, 1) & (cause == Cause.NO_SUPPLY)] = Cause.FAILING
    cause[_failing(progress, holds, IN_A_ROW) & (cause > Cause.FAILING)] = Cause.FAILING
    _judge_stuck(cause, outcome, holds.nodes, stuck, waiting_profiles)
    state = _STATE_OF_CAUSE[cause]
    since = np.full(len(outcome), at, np.int64)
    if before is not None:
        same = known & (before.state[place] == state)
        since[same] = before.since[place][same]
    return NeedStates(holds, progress, state, cause, since, moved, arriving, stuck)


# -- what the last cycle knew --------------------------------------------------------------------


def _places_before(progress: NeedProgress, before: NeedStates | None) -> tuple[Bools, Int64s]:
    """Whether each Need was there in the last cycle, and at which place."""
    size = len(progress.key)
    if before is None or not len(before):
        return np.zeros(size, np.bool_), np.zeros(size, np.int64)
    older = before.progress.key
    if len(older) == size and np.array_equal(older, progress.key):
        return np.ones(size, np.bool_), np.arange(size)
    order = np.argsort(older)
    at = np.minimum(np.searchsorted(older, progress.key, sorter=order), len(older) - 1)
    place = order[at]
    return older[place] == progress.key, place


def _moved(
    progress: NeedProgress,
    holds: Holds,
    arriving: Int64s,
    before: NeedStates | None,
    known: Bools,
    place: Int64s,
) -> Int64s:
    """A machine came into another state, or there are more or fewer on their way."""
    begun = holds.at if holds.known_from is None else holds.known_from
    moved = np.full(len(arriving), begun, np.int64)
    if before is not None:
        as_before = known & (before.arriving[place] == arriving)
        moved[as_before] = before.moved[place][as_before]
    if len(holds.coming_since):
        np.maximum.at(moved, progress.coming_need, holds.coming_since)
    return moved


def _patience(outcome: Outcome, progress: NeedProgress, holds: Holds, joining: Int64s) -> Int64s:
    """In nanoseconds: that of the slowest step each Need waits for; a step without one may last."""
    allowed = np.full(len(MachineState), np.iinfo(np.int64).max)
    for state, each in holds.patience.items():
        allowed[state] = round(each.seconds * SECOND)
    longest = np.zeros(len(outcome), np.int64)
    states = outcome.scene.snapshot.columns.state[progress.coming]
    np.maximum.at(longest, progress.coming_need, allowed[states])
    np.maximum.at(longest, joining, allowed[MachineState.CONFIGURED])
    return longest


# -- what holds Needs back -----------------------------------------------------------------------


def _holders(outcome: Outcome, rows: Int64s) -> Int64s:
    """Needs that claim these machines, once per machine."""
    holder = outcome.credit.holder[rows]
    return holder[holder >= 0].astype(np.int64)


def _failing(progress: NeedProgress, holds: Holds, least: int) -> Bools:
    """Needs of which so many actions have failed, and none has succeeded since."""
    found = [key_number(key) for key, each in holds.failing.items() if each.failures >= least]
    return np.isin(progress.key, found) if found else np.zeros(len(progress.key), np.bool_)


def _mark_holds(cause: Int8s, decision: Decision, progress: NeedProgress, holds: Holds) -> None:
    """The holds that cover many Needs at once; later ones take precedence."""
    outcome, scene = decision.outcome, decision.outcome.scene
    columns = scene.snapshot.columns
    state = columns.state[progress.coming]
    cluster = outcome.normalised.cluster[progress.coming_need]
    if holds.broken:
        broken = _chosen(scene.snapshot.tables.sources.rows, holds.broken)
        cause[progress.coming_need[broken[columns.source[progress.coming]]]] = Cause.BREAKER
        if progress.by_victims.any():
            waiting = np.isin(progress.key, _holders_of_victims(decision, broken))
            cause[waiting & progress.by_victims] = Cause.BREAKER
    unbound = state != MachineState.CONFIGURING
    if holds.absent:
        absent = _chosen(scene.cluster_names, holds.absent)
        cause[progress.coming_need[absent[cluster] & unbound]] = Cause.NO_OPERATOR
    if holds.dry_run:
        planned = np.isin(state, (MachineState.IDLE, MachineState.SPECULATIVE))
        cause[progress.coming_need[planned]] = Cause.DRY_RUN
        cause[outcome.preempted.need] = Cause.DRY_RUN
    if holds.paused:
        bootstraps = _paused(scene.cluster_names, holds, ActionKind.BOOTSTRAP)
        provisions = _paused(scene.cluster_names, holds, ActionKind.PROVISION)
        stopped = bootstraps[cluster] & unbound
        stopped |= provisions[cluster] & (state == MachineState.SPECULATIVE)
        cause[progress.coming_need[stopped]] = Cause.PAUSED
        preempts = _paused(scene.snapshot.tables.clusters.rows, holds, ActionKind.PREEMPT)
        victims = columns.cluster[outcome.preempted.row]
        cause[outcome.preempted.need[preempts[victims]]] = Cause.PAUSED


def _holders_of_victims(decision: Decision, broken: Bools) -> list[int]:
    """Key numbers of Needs one of whose victims drains at a provider that does not answer."""
    snapshot = decision.outcome.scene.snapshot
    found = []
    for machine, reservation in decision.memory.reservations.items():
        row = snapshot.row_of(machine)
        victim = reservation.kind is ReservationKind.PREEMPTION and row >= 0
        if victim and broken[snapshot.columns.source[row]]:
            found.append(key_number(reservation.holder))
    return found


def _chosen(names: list[str], chosen: Mapping[str, object]) -> Bools:
    """By number of a name; the last one is for -1: no name."""
    return np.array([*(name in chosen for name in names), False], np.bool_)


def _paused(names: list[str], holds: Holds, kind: ActionKind) -> Bools:
    return np.array([*((kind, name) in holds.paused for name in names), False], np.bool_)


# -- pods that wait though their machines are there ----------------------------------------------


def _stuck(outcome: Outcome, nodes: NodeFacts) -> tuple[Int64s, set[tuple[int, int]]]:
    """Stuck pods of each Need; and (cluster, profile) of those that have any, as the margin row of
    a gang has it too: without Same."""
    pods = np.zeros(len(outcome), np.int64)
    waiting: set[tuple[int, int]] = set()
    if not nodes.stuck:
        return pods, waiting
    normalised, demand = outcome.normalised, outcome.scene.demand
    row_of_member = np.zeros(len(demand), np.int64)
    sizes = np.diff(normalised.starts)
    row_of_member[normalised.members] = np.repeat(np.arange(len(outcome)), sizes)
    columns = demand.columns
    member_key = member_keys(outcome)
    for member in np.flatnonzero(np.isin(member_key, list(nodes.stuck))).tolist():
        pods[row_of_member[member]] += nodes.stuck[int(member_key[member])]
        cluster, profile = int(columns.cluster[member]), int(columns.profile[member])
        waiting |= {(cluster, profile), (cluster, int(demand.profiles.stripped[profile]))}
    return pods, waiting


def member_keys(outcome: Outcome) -> Int64s:
    """Key numbers of the Needs as their clusters asked for them."""
    columns = outcome.scene.demand.columns
    return keys_of(columns.pair, cluster_numbers(outcome.scene.cluster_names)[columns.cluster])


def _judge_stuck(
    cause: Int8s,
    outcome: Outcome,
    nodes: NodeFacts,
    stuck: Int64s,
    waiting: set[tuple[int, int]],
) -> None:
    """A Need whose machines are there and whose pods wait is not met; a margin no pod waits for
    is not short."""
    normalised = outcome.normalised
    on_their_way: set[tuple[int, int]] = set()
    for row in _margins_not_met(outcome, cause).tolist():
        of_row = int(normalised.cluster[row]), int(normalised.profile[row])
        if cause[row] >= _ARRIVING_FROM:
            on_their_way.add(of_row)
        reports = outcome.scene.cluster_names[of_row[0]] in nodes.clusters
        if cause[row] == Cause.NO_SUPPLY and reports and of_row not in waiting:
            cause[row] = Cause.NONE
    stripped = outcome.scene.demand.profiles.stripped
    for row in np.flatnonzero((stuck > 0) & (cause == Cause.NONE)).tolist():
        cluster, profile = int(normalised.cluster[row]), int(normalised.profile[row])
        of_margins = {(cluster, profile), (cluster, int(stripped[profile]))}
        cause[row] = Cause.MARGIN if of_margins & on_their_way else Cause.STUCK_PODS


def _margins_not_met(outcome: Outcome, cause: Int8s) -> Int64s:
    """Rows of margins; a folded gang is never one."""
    demand, normalised = outcome.scene.demand, outcome.normalised
    rows = np.flatnonzero(cause[: normalised.first_folded] != Cause.NONE)
    group = demand.columns.group[normalised.members[normalised.starts[rows]]]
    names = demand.tables.groups.rows
    margins = [number for number in np.unique(group).tolist() if is_margin(names[number])]
    return rows[np.isin(group, margins)]
