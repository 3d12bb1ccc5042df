"""The parts of the shard's state, made and connected. Nothing is decided here.

A part is given the parts that exist before it, and the `Parts` where it also uses later ones; a
small Protocol beside each part says which. Order matters where parts watch the machines: the part
that remembers why a machine failed hears of it before the one that counts how its action ended.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from bigfleet.engine.needs_table import NeedsTable
from bigfleet.explain.failing_actions import FailingActions
from bigfleet.model.machines import Instant
from bigfleet.model.ownership import Ownership
from bigfleet.shard.action_checks import ActionChecks
from bigfleet.shard.calls import Calls
from bigfleet.shard.cluster_reports import ClusterReports
from bigfleet.shard.coordination.bindings import Bindings
from bigfleet.shard.coordination.context import CoordinationContext
from bigfleet.shard.coordination.coordination import Coordination
from bigfleet.shard.coordination.coordinator_pauses import kept_pauses
from bigfleet.shard.coordination.owned_machines import OwnedMachines
from bigfleet.shard.coordination.quotas import Quotas
from bigfleet.shard.decision_loop import DecisionLoop
from bigfleet.shard.drains.drains import Drains
from bigfleet.shard.effects import (
    COORDINATION,
    DRAINS,
    FAILURES,
    LOST,
    PAUSES,
    RESERVATIONS,
    VERIFIER,
    Effects,
    KeptState,
)
from bigfleet.shard.execution.execution import Execution
from bigfleet.shard.execution.mutation import ExecutionContext, FencingTokens
from bigfleet.shard.execution.outcomes import Outcomes
from bigfleet.shard.execution.phases import Phases
from bigfleet.shard.execution.pool import ActionPool
from bigfleet.shard.failures.deadlines import StateDeadlines
from bigfleet.shard.failures.failures import Failures
from bigfleet.shard.failures.lost import LostMachines
from bigfleet.shard.hints import Hints
from bigfleet.shard.ingest.ingest import Ingest
from bigfleet.shard.ledgers.first_machines import FirstMachines
from bigfleet.shard.ledgers.shortfalls import Shortfalls
from bigfleet.shard.machines import Machines
from bigfleet.shard.need_judge import NeedJudge
from bigfleet.shard.offerings.offerings import Offerings
from bigfleet.shard.rails.pauses import Pauses
from bigfleet.shard.rails.verification import Verification
from bigfleet.shard.reconciling.adoption import FailedMachines, PendingActions
from bigfleet.shard.reconciling.reconciler import Reconciler
from bigfleet.shard.sessions.sessions import Sessions
from bigfleet.shard.settings import CurrentShardSettings, ShardSettings
from bigfleet.shard.thrash_watch import ThrashWatch


@dataclass(frozen=True, slots=True)
class ShardStart:
    """What a shard starts with."""

    settings: ShardSettings
    epoch: int
    #: Addresses by name.
    providers: Mapping[str, str]
    #: Random names: of requests, instructions, pauses.
    new_id: Callable[[], str]
    at: Instant
    store: KeptState
    ownership: Ownership

    def rows(self, table: str) -> Mapping[str, bytes]:
        """What state.db kept in a table."""
        return self.store.rows.get(table, {})


class Parts:
    def __init__(self, start: ShardStart, workers: int = 1) -> None:
        """`workers`: threads of a decision."""
        self.store = start.store
        self.settings = settings = CurrentShardSettings(start.settings)
        #: Addresses by name; more may come while the shard runs.
        self.providers = providers = dict(start.providers)
        self.effects = effects = Effects()
        self.needs = NeedsTable()
        self.sessions = Sessions(effects, settings, start.epoch, self)
        self.machines = machines = Machines(effects, self.sessions)
        self.calls = Calls(effects)
        self.failing = FailingActions()
        self.outcomes = Outcomes(effects, self.failing)
        self.pauses = Pauses(effects, settings, start.new_id, start.at)
        self.failures = Failures(effects, machines, settings, self.calls, start.epoch, self)
        self.offerings = Offerings(effects, machines, start.settings.offerings, self.failures)
        self.phases = Phases(effects)
        machines.watch(self.phases.on_change)
        self.first_machines = FirstMachines(effects)
        machines.watch(self.first_machines.on_change)
        self.thrash = ThrashWatch(effects, machines, settings)
        execute = start.settings.execute
        self.execution = Execution(
            ExecutionContext(
                effects,
                settings,
                self.sessions,
                machines,
                self.calls,
                FencingTokens(start.settings.id, start.epoch),
                self.failures,
                self.offerings,
                self.pauses,
                self,
            ),
            self.outcomes,
            ActionPool(execute.concurrency, execute.queue_factor),
            start.new_id,
        )
        self.drains = Drains(
            effects,
            machines,
            settings,
            self.sessions,
            self.pauses,
            self.outcomes,
            self.phases,
            start.new_id,
            self,
        )
        self.deadlines = StateDeadlines(
            effects, machines, settings, self.calls, self.failures, self.drains, self
        )
        self.cluster_reports = ClusterReports(effects, machines, self.sessions)
        self.lost = LostMachines(
            effects,
            machines,
            start.settings.deadlines,
            self.cluster_reports,
            self.drains,
            self.failures,
            self.offerings,
            start.at,
            self,
        )
        self.ingest = Ingest(
            effects, settings, self.needs, self.sessions, self.first_machines, self
        )
        with_rows = {name for table in (DRAINS, FAILURES, LOST) for name in start.rows(table)}
        self.reconciler = self._make_reconciler(
            start.ownership, with_rows, self.calls, self.execution, self.failures
        )
        self.hints = Hints(settings, self.sessions, self.reconciler)
        kept = start.rows(COORDINATION)
        self.owned_machines = OwnedMachines(
            effects, machines, self.reconciler, start.settings, providers, kept
        )
        self.quotas = Quotas(effects, machines, kept, self.reconciler, self.offerings)
        self.bindings = Bindings(effects, self.sessions, self.ingest)
        self.action_checks = ActionChecks(self)
        self.verification = Verification(effects, self, start.epoch)
        self.shortfalls = Shortfalls(effects)
        self.need_judge = NeedJudge(self)
        self.decision_loop = DecisionLoop(
            effects,
            machines,
            self.needs,
            settings,
            workers,
            ingest=self.ingest,
            checks=self.action_checks,
            execution=self.execution,
            drains=self.drains,
            judge=self.need_judge,
            shortfalls=self.shortfalls,
            first_machines=self.first_machines,
            hints=self.hints,
            thrash=self.thrash,
            parts=self,
        )
        self.bindings.load(kept)
        self.failures.load(start.rows(FAILURES))
        self.drains.load(start.rows(DRAINS))
        self.lost.load(start.rows(LOST))
        self.pauses.load(start.rows(PAUSES), start.at)
        self.pauses.on_coordinator(kept_pauses(kept, start.at), start.at)
        self.decision_loop.load(start.rows(RESERVATIONS))
        self.verification.load(start.rows(VERIFIER))
        self.coordination = Coordination(
            CoordinationContext(
                start.settings.id,
                settings,
                effects,
                machines,
                providers,
                self.reconciler,
                self.owned_machines,
                self.quotas,
                self.bindings,
                self.pauses,
                self.offerings,
                self.execution,
                self.drains,
                self.decision_loop,
                self.action_checks,
            ),
            start.epoch,
            kept,
        )

    def _make_reconciler(
        self,
        ownership: Ownership,
        remembered: Set[str],
        calls: Calls | None,
        execution: PendingActions,
        failures: FailedMachines,
    ) -> Reconciler:
        """Tests of Lists say themselves what is pending and what has failed."""
        return Reconciler(
            self.effects,
            self.machines,
            self.settings,
            self.providers,
            ownership,
            remembered,
            sessions=self.sessions,
            calls=calls,
            execution=execution,
            failures=failures,
            parts=self,
        )
