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
    Patience,
    is_held,
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
    progress, key = progress_of(cycle.decision), cycle.outcome.key(row)
    coming = progress.coming[progress.coming_need == row]
    ids = cycle.given.snapshot.ids
    seen = _Seen(key, {ids[each] for each in coming.tolist()})
    name = of.recorded.epoch, cycle.given.cycle
    for record in _records_before(segments, name):
        seen.take(record)
    holds = _holds(cycle, row, of, progress, seen)
    states = set(cycle.given.snapshot.columns.state[coming].tolist())
    return judged_again(
        told, cycle, row, holds, JOURNAL, tuple(_unknown(seen, holds, states)), progress
    )


def _records_before(segments: Sequence[Segment], name: tuple[int, int]) -> Iterator[JournalRecord]:
    """Of the process that decided the cycle: what another knew it did not."""
    own = [each for each in segments if each.epoch == name[0] and each.first_cycle <= name[1]]
    for segment in own[-MOST_SEGMENTS:]:
        for record in records_of(segment.path, last=segment is segments[-1], kinds=_READ):
            if record.cycle < name[1]:
                yield record


@dataclass(slots=True)
class _Seen:
    key: NeedKey
    #: Machines on their way for it.
    coming: set[str]
    #: Of the operator of its cluster; None: no session was seen to begin or to end.
    connected: bool | None = None
    gone_at: Instant = 0
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
        if begun.need == self.key and outcome.succeeded:
            self.failing.succeeded(begun)
        elif begun.need == self.key and outcome.failed:
            said = ended.outcome.partition(": ")[2]
            self.failing.failed(begun, outcome.value, said, ended.at)

    def _happened(self, event: JournalEvent, at: Instant) -> None:
        if event.subject == self.key.cluster and event.kind in _SESSION_BEGINS:
            self.connected = True
        elif event.subject == self.key.cluster and event.kind in _SESSION_ENDS:
            self.connected, self.gone_at = False, at
        elif event.kind == "breaker_opened":
            self.broken[event.subject] = BrokenProvider(at, event.text)
        elif event.kind == "breaker_closed":
            self.broken.pop(event.subject, None)


def _holds(
    cycle: DecidedCycle, row: int, of: FoundCycle, progress: NeedProgress, seen: _Seen
) -> Holds:
    at, output = cycle.given.at, of.recorded.output
    actions = () if output is None else output.actions
    cluster = seen.key.cluster
    return Holds(
        at=at,
        dry_run=any(view.disposition is Disposition.DRY_RUN for view in actions),
        paused=_paused(of.recorded.pauses, of.header.shard_id, _clusters(cycle, row)),
        absent={cluster: seen.gone_at} if seen.connected is False else {},
        broken=seen.broken,
        rails=_rails(actions, seen.key, row),
        failing=seen.failing.lately(at),
        patience=_patience(seen),
        coming_since=_since(cycle, progress, seen),
        known_from=0,
    )


def rails_of(recorded: RecordedCycle, shard: str) -> RecordedRails:
    """What held back the actions of a cycle."""
    output = recorded.output
    return RecordedRails(shard, recorded.pauses, () if output is None else output.actions)


def _paused(
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


def _clusters(cycle: DecidedCycle, row: int) -> set[str]:
    """Its own, and those its victims serve."""
    outcome, snapshot = cycle.outcome, cycle.given.snapshot
    victims = outcome.preempted.row[outcome.preempted.need == row]
    names = snapshot.tables.clusters.rows
    bound = snapshot.columns.cluster[victims].tolist()
    return {outcome.key(row).cluster, *(names[each] for each in bound if each >= 0)}


def _rails(actions: Sequence[ActionView], key: NeedKey, row: int) -> dict[int, ToldReason]:
    own = (view for view in actions if view.need == key and view.rail)
    first = next((view for view in own if is_held(view.disposition, view.rail)), None)
    return {} if first is None else {row: ToldReason(first.rail, first.outcome)}


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
    """Of the Need's own machines; what is not known, or only ordered, has just moved."""
    snapshot, at = cycle.given.snapshot, cycle.given.at
    found = np.full(len(progress.coming), at, np.int64)
    for place in np.flatnonzero(np.isin(snapshot.columns.state[progress.coming], _MOVING)).tolist():
        found[place] = seen.since.get(snapshot.ids[progress.coming[place]], at)
    return found


def _unknown(seen: _Seen, holds: Holds, states: set[int]) -> Iterator[str]:
    """What might hold back a Need with machines in these states, and was not seen."""
    if seen.connected is None and states - {int(S.CONFIGURING)}:
        yield f"whether the operator of {seen.key.cluster} is connected is not in the journal"
    if any(S(each) not in holds.patience for each in states):
        yield (
            f"fewer than {LEAST_SEEN} machines took this step in the journal: whether it takes"
            " longer than usual is not known"
        )
