"""What speaks against an action now, asked of all parts of the shard.

Only questions that need several parts: each answers in constant time and changes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.pauses import Pause
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import DrainView

if TYPE_CHECKING:  # they ask these questions too
    from bigfleet.shard.calls import Calls
    from bigfleet.shard.coordination.owned_machines import OwnedMachines
    from bigfleet.shard.decision_loop import DecisionLoop
    from bigfleet.shard.drains.drains import Drains
    from bigfleet.shard.effects import KeptState
    from bigfleet.shard.execution.execution import Execution
    from bigfleet.shard.ingest.ingest import Ingest
    from bigfleet.shard.machines import Machines
    from bigfleet.shard.rails.pauses import Pauses
    from bigfleet.shard.rails.verification import Verification
    from bigfleet.shard.reconciling.reconciler import Reconciler
    from bigfleet.shard.settings import CurrentShardSettings
    from bigfleet.shard.thrash_watch import ThrashWatch


class CheckedParts(Protocol):
    settings: "CurrentShardSettings"
    machines: "Machines"
    calls: "Calls"
    pauses: "Pauses"
    execution: "Execution"
    drains: "Drains"
    ingest: "Ingest"
    reconciler: "Reconciler"
    owned_machines: "OwnedMachines"
    decision_loop: "DecisionLoop"
    verification: "Verification"
    store: "KeptState"
    thrash: "ThrashWatch"


class ActionChecks:
    def __init__(self, parts: CheckedParts) -> None:
        self._parts = parts

    # -- one machine -----------------------------------------------------------------------------

    def under_way(self, machine: str) -> str:
        """What is being done with a machine, as words; empty: nothing."""
        parts = self._parts
        if parts.execution.is_pending(machine):
            return "an action is under way"
        if parts.drains.intent(machine) is not None:
            return "it is being drained"
        if parts.calls.is_busy(machine):
            return "its provider was asked something and has not answered"
        if parts.reconciler.unseen_lists(machine):
            return "the last Lists did not name it"
        return ""

    def may_give_back(self, machine: str, cluster: str) -> bool:
        """Whether nothing speaks against the drain of a machine that its cluster lost."""
        parts = self._parts
        held = parts.pauses.is_paused(ActionKind.RECLAIM, cluster) or parts.settings.now.dry_run
        return (
            not (held or parts.store.trouble or self.under_way(machine))
            and cluster in parts.ingest.reported
            and parts.reconciler.is_owned(machine)
        )

    def claimed_of(self, cluster: str) -> int:
        """Machines that serve a cluster, or soon will, and are not being drained."""
        parts = self._parts
        serving = (MachineState.CONFIGURING, MachineState.CONFIGURED)
        return sum(
            parts.machines.state_of(machine) in serving and parts.drains.intent(machine) is None
            for machine in parts.machines.bound_to(cluster)
        )

    # -- other shards ----------------------------------------------------------------------------

    def why_nothing_moves(self) -> str:
        """Why this shard gives no machine to others now; empty: it does."""
        parts = self._parts
        if parts.owned_machines.ownership.everything:
            return "this shard owns everything it is told of, by its own setting"
        if parts.settings.now.dry_run:
            return "dry-run: nothing is carried out"
        if problem := parts.store.trouble:
            return f"state.db cannot be written ({problem})"
        pause = next((each for each in parts.pauses.active() if self._stops_moves(each)), None)
        if pause is not None:
            return f"paused by {pause.who or 'a person'}: {pause.reason or 'no reason given'}"
        return ""

    def _stops_moves(self, pause: Pause) -> bool:
        """A pause of everything here, or of moves between shards."""
        scope = pause.scope
        here = not scope.shard_ids or self._parts.settings.now.id in scope.shard_ids
        return here and not scope.cluster_ids and not scope.kinds

    # -- one action of a decision: what the rails ask ----------------------------------------------

    def is_pending(self, machine: str) -> bool:
        return self._parts.execution.is_pending(machine)

    def drain_of(self, machine: str) -> DrainView | None:
        return self._parts.drains.intent(machine)

    def why_suppressed(self, kind: ActionKind, cluster: str) -> Pause | None:
        return self._parts.pauses.why_suppressed(kind, cluster)

    def state_of(self, machine: str) -> MachineState:
        return self._parts.machines.state_of(machine) or MachineState.UNSPECIFIED

    def configured_of(self, cluster: str) -> int:
        decision = self._parts.decision_loop.decision
        return decision.outcome.scene.snapshot.configured_of(cluster) if decision else 0

    def provider_of(self, machine: str) -> str:
        return self._parts.machines.provider_of(machine)

    def breaker_open(self, provider: str) -> bool:
        return self._parts.reconciler.breaker_open(provider)

    def is_owned(self, machine: str) -> bool:
        return self._parts.reconciler.is_owned(machine)

    def promised(self, machine: str) -> str:
        return self._parts.decision_loop.promised_since(machine)

    def why_backed_off(self, action: Action, at: Instant) -> Reason | None:
        parts, machine = self._parts, action.machine
        drains = action.kind in (ActionKind.RECLAIM, ActionKind.PREEMPT)
        if drains and (problem := parts.store.trouble):
            return Reason("rail.store", {"problem": problem})
        if parts.reconciler.unseen_lists(machine):
            provider = parts.machines.provider_of(machine)
            return Reason("rail.unseen", {"machine": machine, "provider": provider})
        if parts.reconciler.is_rebound(machine):
            provider = parts.machines.provider_of(machine)
            return Reason("rail.rebound", {"machine": machine, "provider": provider})
        return parts.execution.why_backed_off(action, at)

    def why_held(self, action: Action, at: Instant) -> Reason | None:
        """What leaves this shard by an instruction cannot come back here, so it is not held."""
        held = self._parts.thrash.why_held(action, at)
        if held is not None and self._parts.reconciler.is_being_given_up(action.machine):
            return None
        return held

    def vetoes(self, actions: Sequence[Action], at: Instant) -> Mapping[int, Reason]:
        return self._parts.verification.vetoes(actions, at)
