"""What held a Need back in a recorded cycle, as far as a journal tells: pauses, rails, an absent
operator, silent providers, failing actions, machines that do not come.

Read back from the cycle for at most MOST_SEGMENTS files: what began before is not seen. Reports of
clusters about their Nodes and pods, deadlines and quotas are not recorded.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.need_progress import NeedProgress, progress_of
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.failing_actions import FailingActions
from bigfleet.explain.judged_needs import JOURNAL, judged_again
from bigfleet.explain.need_states import (
    LEAST_PATIENCE_SECONDS,
    LEAST_SEEN,
    P95_TIMES,
    PAUSABLE,
    BrokenProvider,
    Holds,
    NeedStates,
    Patience,
    is_held,
    judged,
)
from bigfleet.journal.history import FoundCycle, RecordedCycle
from bigfleet.journal.segments import Segment, records_of
from bigfleet.model.action_outcomes import outcome_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.explanations import NeedExplanation
from bigfleet.model.journal import CycleOutput, JournalEvent, JournalRecord
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause
from bigfleet.model.reasons import ToldReason
from bigfleet.model.shard_views import ActionView, Disposition, StoryEvent
from bigfleet.whatif.lifted_holds import RecordedRails
from bigfleet.wire.journal_records import EVENT_RECORD, NOTES, OUTCOME, OUTPUT, STORY

#: About an hour of a shard that decides every second.
MOST_SEGMENTS = 6
_READ = (OUTPUT, OUTCOME, STORY, EVENT_RECORD, NOTES)
_SESSION_BEGINS = ("session_opened", "rollup_accepted")
_SESSION_ENDS = ("session_closed", "session_replaced", "session_stalled", "session_removed")
S = MachineState
_MOVING = (S.CREATING, S.CONFIGURING)
_STEPS_OF_ORDER = {
    ActionKind.PROVISION: (S.SPECULATIVE, S.CREATING),
    ActionKind.BOOTSTRAP: (S.IDLE, S.CONFIGURING),
}


def judged_from_journal(
    told: NeedExplanation,
    cycle: DecidedCycle,
    row: int,
    segments: Sequence[Segment],
    of: FoundCycle,
) -> NeedExplanation:
    """The answer with the state of the Need. Raises UnreadableJournal."""
    progress = progress_of(cycle.decision)
    seen, holds = _read(cycle, progress, segments, of)
    coming = progress.coming[progress.coming_need == row]
    states = set(cycle.given.snapshot.columns.state[coming].tolist())
    unknown = tuple(_unknown(seen, holds, states, cycle.outcome.key(row).cluster))
    return judged_again(told, cycle, row, holds, JOURNAL, unknown, progress)


def recorded_states(cycle: DecidedCycle, segments: Sequence[Segment], of: FoundCycle) -> NeedStates:
    """The states of all Needs of a cycle, as far as they are recorded: none is ever surely met.

    Raises UnreadableJournal.
    """
    progress = progress_of(cycle.decision)
    _, holds = _read(cycle, progress, segments, of)
    return judged(cycle.decision, progress, holds, None)


def _read(
    cycle: DecidedCycle, progress: NeedProgress, segments: Sequence[Segment], of: FoundCycle
) -> "tuple[_Seen, Holds]":
    ids = cycle.given.snapshot.ids
    seen = _Seen({ids[each] for each in progress.coming.tolist()})
    for record in _records_before(segments, (of.recorded.epoch, cycle.given.cycle)):
        seen.take(record)
    return seen, _holds(cycle, of, progress, seen)


def _records_before(segments: Sequence[Segment], name: tuple[int, int]) -> Iterator[JournalRecord]:
    """Of the process that decided the cycle: what another knew it did not."""
    own = [each for each in segments if each.epoch == name[0] and each.first_cycle <= name[1]]
    for segment in own[-MOST_SEGMENTS:]:
        for record in records_of(segment.path, last=segment is segments[-1], kinds=_READ):
            if record.cycle < name[1]:
                yield record


@dataclass(slots=True)
class _Seen:
    #: Machines on their way.
    coming: set[str]
    #: Clusters whose operators are connected, as the last begin or end of a session tells.
    connected: set[str] = field(default_factory=set)
    gone_at: dict[str, Instant] = field(default_factory=dict)
    broken: dict[str, BrokenProvider] = field(default_factory=dict)
    #: When the machines on their way came into their state.
    since: dict[str, Instant] = field(default_factory=dict)
    #: By cycle and machine: orders whose end is not read yet.
    begun: dict[tuple[int, str], ActionView] = field(default_factory=dict)
    failing: FailingActions = field(default_factory=FailingActions)
    #: How long orders took that went well.
    seconds: dict[ActionKind, list[float]] = field(default_factory=dict)

    def take(self, record: JournalRecord) -> None:
        match record.body:
            case CycleOutput(actions=actions):
                orders = (view for view in actions if view.kind in _STEPS_OF_ORDER)
                begun = (view for view in orders if view.disposition is Disposition.ENQUEUED)
                self.begun.update({(view.cycle, view.machine): view for view in begun})
            case ActionView() as ended:
                self._ended(ended)
            case StoryEvent() as event if event.machine in self.coming:
                if event.to_state in _MOVING:
                    self.since[event.machine] = event.at
            case JournalEvent() as event:
                self._happened(event, record.at)

    def _ended(self, ended: ActionView) -> None:
        begun = self.begun.pop((ended.cycle, ended.machine), None)
        outcome = outcome_of(ended.outcome)
        if begun is None or outcome is None:
            return
        if outcome.succeeded:
            took = (ended.at - begun.at) / SECOND
            self.seconds.setdefault(begun.kind, []).append(took)
        if outcome.succeeded:
            self.failing.succeeded(begun)
        elif outcome.failed:
            said = ended.outcome.partition(": ")[2]
            self.failing.failed(begun, outcome.value, said, ended.at)

    def _happened(self, event: JournalEvent, at: Instant) -> None:
        if event.kind in _SESSION_BEGINS:
            self.connected.add(event.subject)
            self.gone_at.pop(event.subject, None)
        elif event.kind in _SESSION_ENDS:
            self.connected.discard(event.subject)
            self.gone_at[event.subject] = at
        elif event.kind == "breaker_opened":
            self.broken[event.subject] = BrokenProvider(at, event.text)
        elif event.kind == "breaker_closed":
            self.broken.pop(event.subject, None)


def _holds(cycle: DecidedCycle, of: FoundCycle, progress: NeedProgress, seen: _Seen) -> Holds:
    at, output = cycle.given.at, of.recorded.output
    actions = () if output is None else output.actions
    scene = cycle.outcome.scene
    # Those that ask, and those that victims serve.
    clusters = {*scene.cluster_names, *scene.snapshot.tables.clusters.rows}
    return Holds(
        at=at,
        dry_run=any(view.disposition is Disposition.DRY_RUN for view in actions),
        paused=pauses_on(of.recorded.pauses, of.header.shard_id, clusters),
        absent=seen.gone_at,
        broken=seen.broken,
        rails=rails_on(actions, cycle),
        failing=seen.failing.lately(at),
        patience=_patience(seen),
        coming_since=_since(cycle, progress, seen),
        known_from=0,
    )


def rails_of(recorded: RecordedCycle, shard: str) -> RecordedRails:
    """What held back the actions of a cycle."""
    output = recorded.output
    return RecordedRails(shard, recorded.pauses, () if output is None else output.actions)


def pauses_on(
    pauses: Sequence[Pause], shard: str, clusters: Iterable[str]
) -> dict[tuple[ActionKind, str], Pause]:
    """The first that covers each action of these clusters."""
    asked = ((kind, cluster) for cluster in clusters for kind in PAUSABLE)
    found: dict[tuple[ActionKind, str], Pause] = {}
    for kind, cluster in asked:
        covering = (each for each in pauses if each.scope.covers(shard, cluster, kind))
        if (first := next(covering, None)) is not None:
            found[kind, cluster] = first
    return found


def rails_on(actions: Sequence[ActionView], cycle: DecidedCycle) -> dict[int, ToldReason]:
    """By Need: the first of its actions that a rail held back for longer than a cycle."""
    first: dict[NeedKey, ToldReason] = {}
    for view in actions:
        if view.need is not None and view.rail and is_held(view.disposition, view.rail):
            first.setdefault(view.need, ToldReason(view.rail, view.outcome))
    if not first:
        return {}
    keys = ((row, cycle.outcome.key(row)) for row in range(len(cycle.outcome)))
    return {row: first[key] for row, key in keys if key in first}


def _patience(seen: _Seen) -> dict[MachineState, Patience]:
    """As of a live shard, but for the deadlines, which are not recorded."""
    found: dict[MachineState, Patience] = {}
    for kind, seconds in seen.seconds.items():
        if len(seconds) >= LEAST_SEEN:
            p95 = float(np.quantile(seconds, 0.95))
            patience = Patience(max(LEAST_PATIENCE_SECONDS, P95_TIMES * p95), p95)
            found.update(dict.fromkeys(_STEPS_OF_ORDER[kind], patience))
    return found


def _since(cycle: DecidedCycle, progress: NeedProgress, seen: _Seen) -> Int64s:
    """Of machines on their way; what is not known, or only ordered, has just moved."""
    snapshot, at = cycle.given.snapshot, cycle.given.at
    found = np.full(len(progress.coming), at, np.int64)
    for place in np.flatnonzero(np.isin(snapshot.columns.state[progress.coming], _MOVING)).tolist():
        found[place] = seen.since.get(snapshot.ids[progress.coming[place]], at)
    return found


def _unknown(seen: _Seen, holds: Holds, states: set[int], cluster: str) -> Iterator[str]:
    """What might hold back a Need with machines in these states, and was not seen."""
    told = cluster in seen.connected or cluster in seen.gone_at
    if not told and states - {int(S.CONFIGURING)}:
        yield f"whether the operator of {cluster} is connected is not in the journal"
    if any(S(each) not in holds.patience for each in states):
        yield (
            f"fewer than {LEAST_SEEN} machines took this step in the journal: whether it takes"
            " longer than usual is not known"
        )
