"""The parts of the shard's state, made and connected. Nothing is decided here.

Order matters where parts watch the machines: who remembers why a machine failed hears of it before
who counts how its action ended.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.ownership import Ownership
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.reasons import Reason
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction, ShardFrame
from bigfleet.model.shard_views import ActionView
from bigfleet.shard.calls import Calls
from bigfleet.shard.cluster_reports import ClusterReports
from bigfleet.shard.coordination.bindings import Bindings
from bigfleet.shard.coordination.coordinator_pauses import kept_pauses
from bigfleet.shard.coordination.owned_machines import OwnedMachines
from bigfleet.shard.coordination.quotas import Quotas
from bigfleet.shard.drains.drains import DrainListeners, Drains, Operators
from bigfleet.shard.effects import COORDINATION, DRAINS, FAILURES, LOST, PAUSES, Effects
from bigfleet.shard.execution.blobs import Line
from bigfleet.shard.execution.execution import Execution, ExecutionSeams
from bigfleet.shard.execution.mutation import ExecutionContext
from bigfleet.shard.execution.outcomes import Outcome, Outcomes
from bigfleet.shard.execution.phases import Phases
from bigfleet.shard.execution.pool import Pool
from bigfleet.shard.execution.tokens import Tokens
from bigfleet.shard.failures.deadlines import StateDeadlines
from bigfleet.shard.failures.failures import Failures, Looking
from bigfleet.shard.failures.lost import LostMachines
from bigfleet.shard.hints import Hints
from bigfleet.shard.ingest.ingest import Ingest
from bigfleet.shard.ingest.weights import Weights
from bigfleet.shard.ledgers.failing_actions import FailingActions
from bigfleet.shard.ledgers.first_machines import FirstMachines
from bigfleet.shard.machines import Machines
from bigfleet.shard.offerings.offerings import Offerings
from bigfleet.shard.rails.pauses import Pauses
from bigfleet.shard.reconciling.list_taker import ListListeners
from bigfleet.shard.reconciling.reconciler import Reconciler
from bigfleet.shard.reconciling.second_looks import Asking
from bigfleet.shard.sessions.sessions import Sessions, Supply
from bigfleet.shard.settings import ShardSettings

Stored = Mapping[str, Mapping[str, bytes]]


@dataclass(frozen=True, slots=True)
class ShardStart:
    """With what a shard comes to life."""

    settings: ShardSettings
    epoch: int
    #: Addresses by name.
    providers: Mapping[str, str]
    #: Random names: of requests, instructions, pauses.
    new_id: Callable[[], str]
    at: Instant
    #: What state.db kept of an earlier life.
    stored: Stored
    ownership: Ownership
    #: Why state.db cannot be written; empty: it can.
    store_trouble: Callable[[], str] = str


class Parts:
    def __init__(self, start: ShardStart) -> None:
        self.settings = start.settings
        self._store_trouble = start.store_trouble
        #: Addresses by name; more may come while the shard runs.
        self.providers = dict(start.providers)
        self.effects = effects = Effects()
        #: Hears of victims that will not become free; whoever remembers reservations puts it here.
        self.abandoned: Callable[[str], None] = _nobody
        #: The highest one seen; whoever talks to coordinators puts it here.
        self.coordinator_term: Callable[[], int] = int
        self.needs = NeedsTable()
        self.machines = machines = Machines(effects, self._publish)
        self.calls = Calls(effects)
        self.failing = FailingActions()
        self.outcomes = Outcomes(effects, self.failing)
        self.pauses = Pauses(
            effects, start.settings.id, start.settings.rails, start.new_id, start.at
        )
        looking = Looking(self.calls, self._screen, lambda: self.settings.execute.rpc_timeout)
        self.failures = Failures(effects, machines, start.settings.deadlines, looking, start.epoch)
        self.offerings = Offerings(
            effects,
            machines,
            start.settings.offerings,
            self.failures.cause_of,
            self.failures.is_resting,
        )
        self.phases = Phases(effects)
        machines.watch(self.phases.on_change)
        self.first_machines = FirstMachines(effects)
        machines.watch(self.first_machines.on_change)
        self.execution = self._execution(start)
        self.drains = self._drains(start)
        self.deadlines = StateDeadlines(
            effects,
            machines,
            start.settings.deadlines,
            looking,
            self.failures,
            self.drains.deadline_of,
        )
        self.sessions = Sessions(effects, start.settings.session, self._supply(), start.epoch)
        self.cluster_reports = ClusterReports(effects, machines, self._is_open)
        self.lost = LostMachines(
            effects,
            machines,
            start.settings.deadlines,
            self.cluster_reports,
            self.drains,
            self.failures,
            self.offerings,
            self,
            start.at,
        )
        weights = Weights(self.needs, start.settings.rollup, start.settings.engine_timeout)
        self.ingest = Ingest(
            effects,
            start.settings.rails,
            self.needs,
            self.first_machines.on_demand,
            self.claimed_of,
            weights,
        )
        self.reconciler = Reconciler(
            effects,
            machines,
            start.settings,
            self.providers,
            listeners=ListListeners(
                self._publish, self.sessions.is_open, self._has_past, self._on_lost
            ),
            is_pending=self.execution.is_pending,
            failures=self.failures,
            ownership=start.ownership,
            address_of=self.providers,
            asking=Asking(self.calls, lambda: self.settings.execute.rpc_timeout),
        )
        self.hints = Hints(
            start.settings.session,
            self._publish,
            self._connected,
            lambda: [name for name in self.providers if self.reconciler.breaker_open(name)],
        )
        self._past = frozenset(
            machine for table in (DRAINS, FAILURES, LOST) for machine in start.stored.get(table, {})
        )
        kept = start.stored.get(COORDINATION, {})
        self.owned_machines = OwnedMachines(
            effects,
            machines,
            self.reconciler,
            start.settings,
            self.providers,
            kept,
        )
        self.quotas = Quotas(
            effects, machines, kept, self.reconciler.listed_since, self.offerings.is_shut
        )
        self.bindings = Bindings(effects, self._served, self._send_away)
        self.bindings.load(kept)
        self.failures.load(start.stored.get(FAILURES, {}))
        self.drains.load(start.stored.get(DRAINS, {}))
        self.lost.load(start.stored.get(LOST, {}))
        self.pauses.load(start.stored.get(PAUSES, {}), start.at)
        self.pauses.on_coordinator(kept_pauses(kept, start.at), start.at)

    @property
    def store_trouble(self) -> str:
        """Why state.db cannot be written; empty: it can."""
        return self._store_trouble()

    def under_way(self, machine: str) -> str:
        """What is being done with a machine, as words; empty: nothing."""
        if self.execution.is_pending(machine):
            return "an action is under way"
        if self.drains.intent(machine) is not None:
            return "it is being drained"
        if self.calls.is_busy(machine):
            return "its provider was asked something and has not answered"
        if self.reconciler.unseen_lists(machine):
            return "the last Lists did not name it"
        return ""

    def is_owned(self, machine: str) -> bool:
        """Whether this shard may do something with a machine as it is."""
        return self.reconciler.is_owned(machine)

    def is_paused(self, kind: ActionKind, cluster: str) -> bool:
        return self.pauses.why_suppressed(kind, cluster) is not None

    def may_give_back(self, machine: str, cluster: str) -> bool:
        """Whether nothing speaks against the drain of a machine that its cluster lost."""
        held = self.is_paused(ActionKind.RECLAIM, cluster) or self.settings.dry_run
        return (
            not (held or self._store_trouble() or self.under_way(machine))
            and cluster in self.ingest.reported
            and self.is_owned(machine)
        )

    def claimed_of(self, cluster: str) -> int:
        """Machines that serve a cluster, or soon will, and are not being drained."""
        serving = (MachineState.CONFIGURING, MachineState.CONFIGURED)
        return sum(
            self.machines.state_of(machine) in serving and self.drains.intent(machine) is None
            for machine in self.machines.bound_to(cluster)
        )

    def why_backed_off(self, action: Action, at: Instant) -> Reason | None:
        drains = action.kind in (ActionKind.RECLAIM, ActionKind.PREEMPT)
        if drains and (problem := self._store_trouble()):
            return Reason("rail.store", {"problem": problem})
        if self.reconciler.unseen_lists(action.machine):
            provider = self.machines.provider_of(action.machine)
            return Reason("rail.unseen", {"machine": action.machine, "provider": provider})
        if self.reconciler.is_rebound(action.machine):
            provider = self.machines.provider_of(action.machine)
            return Reason("rail.rebound", {"machine": action.machine, "provider": provider})
        return self.execution.why_backed_off(action, at)

    # -- how they are connected ------------------------------------------------------------------

    def _execution(self, start: ShardStart) -> Execution:
        execute = start.settings.execute
        bench = ExecutionContext(
            self.effects,
            self.machines,
            self.calls,
            Tokens(start.settings.id, start.epoch),
            self._screen,
            self.failures.fail,
            lambda: self.settings.execute,
            self.is_owned,
        )
        line = Line(self._publish, self._is_open, start.new_id)
        around = ExecutionSeams(
            is_paused=self.is_paused,
            begin_drain=self._begin_drain,
            why_drain_waits=self._why_drain_waits,
            why_not_bought=self._why_not_bought,
            bought=self.offerings.bought,
            out_of_stock=self.offerings.out_of_stock,
            cause_of=self.failures.cause_of,
        )
        pool = Pool(execute.concurrency, execute.queue_factor)
        return Execution(bench, line, around, self.outcomes, pool)

    def _drains(self, start: ShardStart) -> Drains:
        operators = Operators(
            self._publish,
            self._is_open,
            lambda cluster: self.sessions.features(cluster),
            start.new_id,
        )
        listeners = DrainListeners(
            is_paused=self.is_paused,
            drain=self._drain,
            aborted=lambda: self.phases.aborted("drain"),
            abandoned=lambda machine, at: self.abandoned(machine),
        )
        return Drains(
            self.effects,
            self.machines,
            lambda: self.settings.drain,
            operators,
            listeners,
            self.outcomes,
        )

    def _supply(self) -> Supply:
        return Supply(
            bound_to=self.machines.bound_to,
            update_of=self._update_of,
            open_reclaims=self._open_reclaims,
            why_elsewhere=self._why_elsewhere,
            lost=self._on_session_lost,
            coordinator_term=lambda: self.coordinator_term(),
        )

    # Parts that need each other meet here, after all of them were made.

    def _publish(self, cluster: str, frame: ShardFrame) -> None:
        self.sessions.send(cluster, frame)

    def _is_open(self, cluster: str) -> bool:
        return self.sessions.is_open(cluster)

    def _connected(self) -> set[str]:
        return set(self.sessions.clusters())

    def _served(self) -> set[str]:
        """Clusters that are this shard's, as far as they themselves think so."""
        return self.ingest.reported | set(self.sessions.clusters())

    def _send_away(self, cluster: str, text: str) -> None:
        self.sessions.send_away(cluster, text)
        self.ingest.forget(cluster)

    def _why_elsewhere(self, cluster: str) -> str:
        return self.bindings.why_elsewhere(cluster)

    def _screen(self, record: MachineRecord, provider: str) -> Machine | str:
        return self.reconciler.screen(record, provider)

    def _has_past(self, machine: str) -> bool:
        return machine in self._past

    def _on_lost(self, machine: str, at: Instant) -> None:
        """It is another shard's: nothing is remembered of it, so that nothing is done about it."""
        self.drains.forget(machine)
        self.failures.forget(machine)
        self.lost.forget(machine)
        self.abandoned(machine)

    def _why_not_bought(self, machine: Machine, at: Instant) -> Reason | None:
        return self.offerings.why_not_bought(machine, at) or self.quotas.why_not_bought(machine)

    def _begin_drain(self, action: Action, view: ActionView, at: Instant) -> None:
        self.drains.begin(action, view, at)

    def _why_drain_waits(self, action: Action, at: Instant) -> Reason | None:
        return self.drains.why_waiting(action, at)

    def _drain(
        self,
        action: Action,
        view: ActionView,
        grace_seconds: int,
        ended: Callable[[Outcome, str, Instant], None],
        at: Instant,
    ) -> None:
        self.execution.drain(action, view, grace_seconds, ended, at)

    def _update_of(self, machine: str, cluster: str) -> NodeStateUpdate | None:
        try:
            return self.machines.node_update(self.machines.truth(machine), cluster)
        except NoSuchMachine:
            return None

    def _open_reclaims(self, cluster: str, at: Instant) -> tuple[ReclaimInstruction, ...]:
        return self.drains.on_session_opened(cluster, at)

    def _on_session_lost(self, cluster: str, at: Instant) -> None:
        self.execution.on_session_closed(cluster, at)
        self.hints.on_session_lost(cluster)
        self.cluster_reports.on_session_lost(cluster)
        self.ingest.on_session_lost(cluster)


def _nobody(machine: str) -> None:
    """Nobody remembers reservations yet."""
