"""One life of a shard: its real state, stepped by virtual time and by lines that may fail.

What a process does with tasks and threads is done here with the schedule: cycles, ticks, Lists,
calls, sessions. It decides nothing. After a crash nothing of a life happens any more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol

from bigfleet.edge.logs import NullLog
from bigfleet.engine.encoding import machine_at
from bigfleet.journal.journal_file import JournalFile
from bigfleet.journal.recorder import FinishedCycle, Note
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply
from bigfleet.model.machines import Instant, Machine
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import Ownership
from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ListCall,
    MachineRecord,
    Rejected,
)
from bigfleet.model.rollups import Rollup, RollupRefused
from bigfleet.model.session_frames import (
    BootstrapResponse,
    Hello,
    OperatorFrame,
    ReclaimAck,
    RollupFrame,
    ShardFrame,
    UnknownFrame,
)
from bigfleet.model.shard_views import ActionView
from bigfleet.shard.coordination.owned_machines import KEY as OWNERSHIP
from bigfleet.shard.coordination.owned_machines import ownership_of
from bigfleet.shard.cycle import CycleInput, deliberate
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.driving.sessions import FRAMES_AT_A_TIME
from bigfleet.shard.effects import COORDINATION
from bigfleet.shard.events import (
    BlobArrived,
    CallAnswered,
    HelloRepeated,
    ListArrived,
    ListFailed,
    ReclaimAcked,
    RollupArrived,
    SessionClosed,
    SessionOpened,
)
from bigfleet.shard.instructions import CallProvider
from bigfleet.shard.parts import ShardStart
from bigfleet.shard.reconciling.list_reading import read_list
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.state import ShardState
from bigfleet.simulation.coordinator import SimulatedCoordinator
from bigfleet.simulation.coordinator_line import CoordinatorLine
from bigfleet.simulation.disk import Disk
from bigfleet.simulation.network import Network, Stream
from bigfleet.simulation.provider import SimulatedProvider
from bigfleet.simulation.schedule import Entry, Schedule
from bigfleet.wire.rollups import RollupReader

#: What a decision takes: a small fleet on a small machine.
_THINKING = (0.002, 0.03)
_TICK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class DecidedAction:
    """An action with what the cycle knew of its machine and its Need."""

    view: ActionView
    machine: Machine
    #: Of the Need it is for; of Reclaims and Deletes, what the machine was bound for.
    priority: int
    #: Whether a Need of the same decision claims the machine.
    is_claimed: bool


class ShardWatcher(Protocol):
    """Hears what a shard does; laws are checked and figures counted there."""

    def cycle_ended(
        self, shard: "SimulatedShard", finished: FinishedCycle, actions: list[DecidedAction]
    ) -> None: ...
    def engine_failed(self, shard: "SimulatedShard", why: str) -> None: ...
    def provider_called(self, shard: "SimulatedShard", asked: CallProvider) -> None: ...
    def frame_sent(self, shard: "SimulatedShard", cluster: str, frame: ShardFrame) -> None: ...
    def rollup_taken(self, shard: "SimulatedShard", cluster: str) -> None: ...


class OperatorEnd(Protocol):
    """The other end of a session: `clusters.py` `OperatorLine`."""

    @property
    def is_reading(self) -> bool: ...

    @property
    def hello(self) -> Hello: ...

    def received(self, stream: Stream, frame: ShardFrame) -> None: ...


@dataclass(frozen=True, slots=True)
class ShardContext:
    schedule: Schedule
    network: Network
    providers: Mapping[str, SimulatedProvider]
    watcher: ShardWatcher
    chance: Random
    #: None: it is the only shard, and everything is its own.
    coordinator: SimulatedCoordinator | None = None


@dataclass(slots=True)
class _Session:
    number: int
    cluster: str
    stream: Stream
    operator: OperatorEnd
    #: Frames that came before it was admitted.
    early: list[OperatorFrame] = field(default_factory=list)


class SimulatedShard:
    def __init__(
        self,
        settings: ShardSettings,
        disk: Disk,
        context: ShardContext,
        journal: JournalFile | None = None,
    ) -> None:
        """`disk.epoch` is the number of this life."""
        self.name, self.epoch, self.disk = settings.id, disk.epoch, disk
        self.end = f"shard/{self.name}"
        self.alive = True
        self.journal = journal
        self._context = context
        self._schedule, self._network = context.schedule, context.network
        self._ids = 0
        self._numbers = 0
        self._sessions: dict[int, _Session] = {}
        #: They have said Hello before every provider was listed.
        self._admitted: list[_Session] = []
        self._reader = RollupReader()
        self._notes: list[Note] = []
        #: Clusters whose roll-up this life has taken.
        self.reported: set[str] = set()
        now = self._schedule.now()
        kept = disk.rows.get(COORDINATION, {}).get(OWNERSHIP)
        alone = context.coordinator is None
        owned = Ownership(self.name) if alone else ownership_of(self.name, kept)[0]
        addresses = {name: f"{name}:9000" for name in context.providers}
        start = ShardStart(settings, disk.epoch, addresses, self._new_id, now, disk, owned)
        self.state = ShardState(start, version="simulated")
        self.outlet = Outlet(self._schedule, NullLog(), self, disk, journal=self)
        #: The next cycle, while none is under way.
        self._next_cycle: Entry | None = None
        self._cycle_began: Instant = now
        self._is_thinking = False
        self._is_woken = False
        self.outlet.obey(self.state.taken())
        for provider in context.providers:
            self._list_when_due(provider)
        self._later(self._context.chance.uniform(0, _TICK_SECONDS), self._tick)
        self._plan_cycle(now)
        self._coordinator_line: CoordinatorLine | None = None
        if context.coordinator is not None:
            self._coordinator_line = CoordinatorLine(
                self.state, self.outlet, disk, context.network, context.coordinator, context.chance
            )

    # -- life ------------------------------------------------------------------------------------

    def crash(self) -> None:
        """The process is gone; what it had asked of others arrives all the same."""
        self.alive = False
        if self._coordinator_line is not None:
            self._coordinator_line.crash()
        for session in [*self._sessions.values(), *self._admitted]:
            session.stream.close(self.end)
        if self.journal is not None:
            self.journal.close()

    def _later(self, seconds: float, action: Callable[[], None]) -> Entry:
        return self._schedule.call_later(seconds, lambda: action() if self.alive else None)

    def _new_id(self) -> str:
        self._ids += 1
        return f"{self.name}-{self.epoch}-{self._ids}"

    def _tick(self) -> None:
        self._later(_TICK_SECONDS, self._tick)
        now = self._schedule.now()
        disk = self.disk
        self.outlet.obey(self.state.pause_file_read(disk.pause_file, disk.paused_at, now))
        while self.state.continue_sweep():
            self.outlet.obey(self.state.taken())
        self.outlet.obey(self.state.tick(self._schedule.now()))

    # -- cycles ----------------------------------------------------------------------------------

    @property
    def cycles(self) -> "SimulatedShard":
        return self

    def wake(self) -> None:
        self._is_woken = True
        if not self._is_thinking:
            gap = round(self.state.settings.cycle_min_gap * SECOND)
            self._plan_cycle(self._cycle_began + gap)

    def _plan_cycle(self, at: Instant) -> None:
        if self._next_cycle is not None:
            if self._next_cycle.at <= at:
                return
            self._next_cycle.cancel()
        self._next_cycle = self._schedule.at(at, self._begin_cycle)

    def _begin_cycle(self) -> None:
        if not self.alive:
            return
        self._next_cycle = None
        self._is_woken = False
        self._cycle_began = now = self._schedule.now()
        if not self.state.may_decide(now):
            self.outlet.obey(self.state.taken())
            self._wait_for_cycle()
            return
        given, self._is_thinking = self.state.begin_cycle(now), True
        self._later(self._context.chance.uniform(*_THINKING), lambda: self._end_cycle(given))

    def _end_cycle(self, given: CycleInput) -> None:
        self._is_thinking = False
        now, watcher = self._schedule.now(), self._context.watcher
        try:
            thought = deliberate(given, map, _no_clock)
        except Exception as problem:  # noqa: BLE001 - as in a real shard, and a law is broken
            self.outlet.obey(self.state.fail_cycle(given, repr(problem), now))
            watcher.engine_failed(self, repr(problem))
        else:
            seconds = (now - given.at) / SECOND
            self.outlet.obey(self.state.end_cycle(thought, now, seconds))
            finished = self.state.decision_loop.finished
            if finished is not None:
                self._record(finished, now)
                watcher.cycle_ended(self, finished, self._decided(finished))
        self._wait_for_cycle()

    def short_keys(self) -> set[NeedKey]:
        """Needs that the last decision could not cover with what is there and on its way."""
        decision = self.state.decision_loop.decision
        return set() if decision is None else set(decision.memory.shortfalls)

    def _decided(self, finished: FinishedCycle) -> list[DecidedAction]:
        views, snapshot = tuple(finished.actions), finished.given.snapshot
        if not views:
            return []
        stands = self.state.decision_loop.ledger.stands()
        priority_of = {need.key: need.profile.priority for need, _ in stands}
        found = []
        for view in views:
            machine = machine_at(snapshot, snapshot.row_of(view.machine)).machine
            priority = machine.assigned.priority
            if view.need is not None:
                priority = priority_of.get(view.need, view.preemptor_priority)
            row = snapshot.row_of(view.machine)
            is_claimed = bool(finished.decision.outcome.credit.holder[row] >= 0)
            found.append(DecidedAction(view, machine, priority, is_claimed))
        return found

    def _wait_for_cycle(self) -> None:
        settings = self.state.settings
        pause = settings.cycle_min_gap if self._is_woken else settings.cycle_interval
        self._plan_cycle(max(self._schedule.now(), self._cycle_began + round(pause * SECOND)))

    # -- the journal -----------------------------------------------------------------------------

    def note(self, note: Note) -> bool:
        if self.journal is not None:
            self._notes.append(note)
        return True

    def _record(self, finished: FinishedCycle, at: Instant) -> None:
        if self.journal is None:
            return
        self.journal.record(finished, at)
        notes, self._notes = self._notes, []
        if notes:
            self.journal.note(notes)

    # -- providers -------------------------------------------------------------------------------

    @property
    def providers(self) -> "SimulatedShard":
        return self

    def call(self, asked: CallProvider) -> None:
        self._context.watcher.provider_called(self, asked)
        provider = self._context.providers[asked.provider]

        def serve() -> Ack | MachineRecord | Rejected:
            return provider.serve(asked.call)

        def answered(answer: Ack | MachineRecord | Rejected) -> None:
            if self.alive:
                event = CallAnswered(asked, answer, self._schedule.now())
                self.outlet.obey(self.state.handle(event))

        self._network.call(
            self.end,
            f"provider/{asked.provider}",
            serve,
            answered,
            asked.timeout_seconds,
            lambda: provider.is_up,
        )

    def attach_provider(self, name: str, address: str) -> None:
        """The providers of a scenario are there from the start."""

    def _list_when_due(self, name: str) -> None:
        due = self.state.next_list(name, self._schedule.now()).due
        self._later(max(0.0, (due - self._schedule.now()) / SECOND), lambda: self._list(name))

    def _list(self, name: str) -> None:
        # Planned anew: a view that came meanwhile asks for a whole List.
        started = self._schedule.now()
        plan, known = self.state.next_list(name, started), self.state.known_machines(name)
        provider = self._context.providers[name]

        def serve() -> bytes | Rejected:
            try:
                return provider.list_bytes(ListCall(since_revision=plan.since_revision))
            except Rejected as problem:
                return problem

        def answered(answer: bytes | Rejected) -> None:
            if not self.alive:
                return
            at = self._schedule.now()
            if isinstance(answer, Rejected):
                self.outlet.obey(self.state.handle(ListFailed(name, answer, at)))
            else:
                reading = read_list(answer, known, whole=plan.whole)
                event = ListArrived(name, reading, plan.whole, started, at)
                self.outlet.obey(self.state.handle(event))
            while self.state.continue_list(name):
                self.outlet.obey(self.state.taken())
            self.outlet.obey(self.state.taken())
            self._admit_waiting()
            self._list_when_due(name)

        timeout = self.state.settings.execute.list_timeout
        target = f"provider/{name}"
        self._network.call(self.end, target, serve, answered, timeout, lambda: provider.is_up)

    # -- sessions --------------------------------------------------------------------------------

    @property
    def sessions(self) -> "SimulatedShard":
        return self

    def open(self, cluster: str, stream: Stream, operator: OperatorEnd) -> int:
        """A stream said Hello; it is read once every provider has been listed."""
        self._numbers += 1
        session = _Session(self._numbers, cluster, stream, operator)
        stream.on_close(self.end, lambda: self._closed(session))
        self._admitted.append(session)
        self._admit_waiting()
        return session.number

    def _admit_waiting(self) -> None:
        if not self._admitted or not self.state.listed_once():
            return
        waiting, self._admitted = self._admitted, []
        for session in waiting:
            self._sessions[session.number] = session
            hello = session.operator.hello
            event = SessionOpened(session.number, hello, session.stream.client, self._now)
            self.outlet.obey(self.state.handle(event))
            for frame in session.early:
                self.received(session.number, frame)

    @property
    def _now(self) -> Instant:
        return self._schedule.now()

    def received(self, number: int, frame: OperatorFrame) -> None:
        session = self._sessions.get(number)
        if session is None or not self.alive:
            for waiting in self._admitted:
                if waiting.number == number:
                    waiting.early.append(frame)
            return
        at, state = self._now, self.state
        match frame:
            case RollupFrame(content):
                rollup = self._read(content, session.cluster)
                self.outlet.obey(state.handle(RollupArrived(number, rollup, at)))
                if session.cluster in state.parts.ingest.reported:
                    self.reported.add(session.cluster)
                self._context.watcher.rollup_taken(self, session.cluster)
            case BootstrapResponse():
                self.outlet.obey(state.handle(BlobArrived(number, frame, at)))
            case ReclaimAck():
                self.outlet.obey(state.handle(ReclaimAcked(number, frame, at)))
            case Hello():
                self.outlet.obey(state.handle(HelloRepeated(number, frame, at)))
            case UnknownFrame():
                self.outlet.obey(state.frame_skipped(session.cluster))

    def _read(self, content: bytes, cluster: str) -> Rollup | RollupRefused:
        settings = self.state.settings
        limits = settings.rollup.limits()
        try:
            return self._reader.read(content, cluster, settings.max_needs_per_rollup, limits)
        except RollupRefused as refused:
            return refused

    def flush(self, number: int) -> None:
        session = self._sessions.get(number)
        if session is None or not session.operator.is_reading:
            return
        while frames := self.state.take_frames(number, FRAMES_AT_A_TIME):
            for frame in frames:
                self._context.watcher.frame_sent(self, session.cluster, frame)
                self._deliver(session, frame)

    def _deliver(self, session: _Session, frame: ShardFrame) -> None:
        stream, operator = session.stream, session.operator
        stream.send(self.end, lambda: operator.received(stream, frame))

    def flush_all(self, cluster: str) -> None:
        """The cluster reads again."""
        for session in [each for each in self._sessions.values() if each.cluster == cluster]:
            self.flush(session.number)

    def end_session(self, session: int, code: Code, text: str) -> None:
        ended = self._sessions.pop(session, None)
        if ended is not None:
            ended.stream.close(self.end)
            self.outlet.obey(self.state.handle(SessionClosed(session, self._now)))

    def _closed(self, session: _Session) -> None:
        if not self.alive:
            return
        if session in self._admitted:
            self._admitted.remove(session)
        if self._sessions.pop(session.number, None) is not None:
            if all(each.cluster != session.cluster for each in self._sessions.values()):
                self._reader.forget(session.cluster)
            self.outlet.obey(self.state.handle(SessionClosed(session.number, self._now)))

    # -- what clusters report --------------------------------------------------------------------

    def report_cluster(self, report: ClusterReport) -> ClusterReportReply | Rejected:
        """What `driving/services.py` does with it, on one thread."""
        parts, at = self.state.parts, self._now
        try:
            parts.cluster_reports.take(report, at)
        except Rejected as problem:
            return problem
        parts.drains.on_refused(report.cluster_id, report.refused, at)
        preemptions = parts.drains.preemptions(report.cluster_id)
        told = self.state.decision_loop.ledger.standings(report.cluster_id, ask=report.ask)
        refused = parts.ingest.refusal_of(report.cluster_id)
        self.outlet.obey(self.state.taken())
        return replace(told, preemptions=preemptions, refused_rollup=refused)


def _no_clock() -> float:
    return 0.0
