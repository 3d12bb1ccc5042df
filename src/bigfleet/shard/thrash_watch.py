"""Watches this shard's own actions for thrash, and holds what would go on with it.

Tells the detector what is carried out and what is seen to be complete. Only what decisions asked
for counts: a machine that failed, vanished or moved to another shard did not thrash.
"""

from dataclasses import replace

from bigfleet.engine.decision import Decision
from bigfleet.engine.deficits import deficit_of, short_among
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.machines import CapacityType, Instant, Machine, MachineState
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import ActionView
from bigfleet.model.thrash import ThrashFinding, TraceAction
from bigfleet.shard.effects import Effects
from bigfleet.shard.machines import Machines
from bigfleet.shard.offerings.scopes import offering_of
from bigfleet.shard.settings import CurrentShardSettings
from bigfleet.thrash.detector import Detector, Sighting, ThrashLimits
from bigfleet.thrash.findings import Findings

S = MachineState

#: How a Reclaim, Preempt or Delete that has done its work changes a machine's state.
_COMPLETE = frozenset(
    {
        (S.CONFIGURED, S.IDLE),
        (S.DRAINING, S.IDLE),
        (S.DELETING, S.SPECULATIVE),
        (S.IDLE, S.SPECULATIVE),
    }
)
#: How one that came to nothing does.
_ROLLED_BACK = frozenset({(S.DRAINING, S.CONFIGURED), (S.DELETING, S.IDLE)})
_HELD = (ActionKind.RECLAIM, ActionKind.DELETE)


class ThrashWatch:
    def __init__(
        self, effects: Effects, machines: Machines, settings: CurrentShardSettings
    ) -> None:
        self._effects = effects
        self._machines = machines
        self._settings = settings
        limits = settings.now.thrash
        self._detector = Detector(ThrashLimits(limits.window, limits.dwell))
        self._findings = Findings(limits.window, limits.hold)
        machines.watch(self.on_change)

    def findings(self) -> tuple[ThrashFinding, ...]:
        return self._findings.all()

    def sizes(self) -> dict[str, int]:
        return {"thrashFindings": len(self._findings), **self._detector.sizes()}

    # -- events ----------------------------------------------------------------------------------

    def begin(self, view: ActionView, action: Action, decision: Decision, at: Instant) -> None:
        """An action is handed on; its machine is still as the decision saw it."""
        for seen in self._detector.begin(self._traced(view, action, decision, at)):
            self._tell(seen)

    def abandon(self, machine: str) -> None:
        """A drain was given up."""
        self._detector.abandon(machine)

    def on_decision(self, decision: Decision) -> None:
        waiting = self._detector.waiting()
        if not waiting:
            return
        for need in set(waiting) - short_among(decision.outcome, waiting):
            self._detector.settle(need)

    def on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        if before is None:
            return
        if after is None:
            self._detector.forget(before.id)
            return
        moved = (before.state, after.state)
        if moved in _COMPLETE:
            self._detector.complete(after.id, at)
        elif moved in _ROLLED_BACK or after.state is S.FAILED:
            self._detector.abandon(after.id)

    def tick(self, at: Instant) -> None:
        self._findings.expire(at)

    # -- the rail --------------------------------------------------------------------------------

    def why_held(self, action: Action, at: Instant) -> Reason | None:
        """Against a Reclaim or Delete; Preempts, Bootstraps and Provisions are never held."""
        if action.kind not in _HELD or not self._findings.holds_anything:
            return None
        if action.kind is ActionKind.RECLAIM:
            if not self._findings.may_hold(action.cluster):
                return None
            stamped = self._machines.truth(action.machine).assigned
            return self._findings.why_held(action.cluster, stamped.need_fingerprint, "", at)
        machine = self._machines.truth(action.machine)
        served = self._detector.served_last(action.machine)
        return self._findings.why_held(*served, self._offering(machine), at)

    # -- within ----------------------------------------------------------------------------------

    def _traced(
        self, view: ActionView, action: Action, decision: Decision, at: Instant
    ) -> TraceAction:
        machine = self._machines.truth(action.machine)
        profile = action.source_profile
        traced = TraceAction(
            view.cycle,
            view.index,
            action.kind,
            action.machine,
            at,
            *self._holder(view, action, machine),
            priority=profile.priority if profile else action.preemptor_priority,
            offering=self._offering(machine),
            hold_seconds=self._hold_seconds(machine.capacity_type),
        )
        if action.kind is not ActionKind.PREEMPT or action.need is None:
            return traced
        return replace(
            traced,
            preemptor=view.need,
            frees=machine.effective_allocatable,
            deficit=deficit_of(decision.outcome, action.need),
        )

    def _holder(self, view: ActionView, action: Action, machine: Machine) -> tuple[str, str, str]:
        """Which Need gets the machine, or loses it, or had it last."""
        match action.kind:
            case ActionKind.BOOTSTRAP | ActionKind.PROVISION:
                need = view.need
                return (need.cluster, need.fingerprint, need.group) if need else ("", "", "")
            case ActionKind.RECLAIM | ActionKind.PREEMPT:
                stamped = machine.assigned
                return action.cluster, stamped.need_fingerprint, stamped.group
            case _:
                return *self._detector.served_last(machine.id), ""

    def _offering(self, machine: Machine) -> str:
        return offering_of(machine, self._machines.provider_of(machine.id)).name

    def _hold_seconds(self, capacity_type: CapacityType) -> float:
        release = self._settings.now.release
        kept = {CapacityType.ON_DEMAND: release.on_demand, CapacityType.SPOT: release.spot}
        return kept.get(capacity_type, 0.0)

    def _tell(self, seen: Sighting) -> None:
        finding = self._findings.add(seen)
        self._effects.counts.add("thrash_findings_total", kind=seen.kind.label)
        if finding.times > 1:
            return
        self._effects.log(
            "warning",
            "thrash",
            finding.text,
            number=finding.number,
            kind=seen.kind.label,
            cluster=finding.cluster,
            subject=finding.subject,
        )
