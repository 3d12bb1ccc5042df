"""Watches this shard's own actions for thrash, and holds what would go on with it.

Tells the detector what is carried out and what is seen to be complete. Only what decisions asked
for counts: a machine that failed, vanished or moved to another shard did not thrash.
"""

from bigfleet.engine.decision import Decision
from bigfleet.engine.deficits import deficit_of, short_among
from bigfleet.engine.engine_input import EngineInput
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.reasons import Reason
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView
from bigfleet.model.thrash import ThrashFinding
from bigfleet.shard.effects import Effects
from bigfleet.shard.machines import Machines
from bigfleet.shard.settings import CurrentShardSettings
from bigfleet.thrash.detector import Detector, Sighting, ThrashLimits
from bigfleet.thrash.findings import Findings
from bigfleet.thrash.tracing import offering_name, tell_change, traced

_HELD = (ActionKind.RECLAIM, ActionKind.DELETE)


class ThrashWatch:
    def __init__(
        self, effects: Effects, machines: Machines, settings: CurrentShardSettings
    ) -> None:
        self._effects = effects
        self._machines = machines
        limits = settings.now.thrash
        self._detector = Detector(ThrashLimits(limits.window, limits.dwell))
        self._findings = Findings(limits.window, limits.hold)
        #: Machines the detector follows that changed since a cycle began: the states before and
        #: now, None for one that is gone. The next cycle tells them.
        self._changed: dict[str, tuple[MachineState, MachineState | None]] = {}
        machines.watch(self.on_change)

    def findings(self) -> tuple[ThrashFinding, ...]:
        return self._findings.all()

    def sizes(self) -> dict[str, int]:
        return {
            "thrashFindings": len(self._findings),
            "thrashChanged": len(self._changed),
            **self._detector.sizes(),
        }

    # -- events ----------------------------------------------------------------------------------

    def on_cycle_begun(self, at: Instant) -> None:
        """Its input has everything that changed before."""
        for machine, (before, after) in self._changed.items():
            tell_change(self._detector, machine, before, after, at)
        self._changed.clear()

    def begin(
        self, view: ActionView, action: Action, given: EngineInput, decision: Decision
    ) -> None:
        """An action is handed on; its machine is still as the decision saw it."""
        machine = self._machines.truth(view.machine)
        deficit, domain = Resources(), ""
        if view.kind is ActionKind.PREEMPT and action.need is not None:
            deficit = deficit_of(decision.outcome, action.need)
            domain = decision.domain(action.need) or ""
        told = traced(
            view,
            machine,
            self._machines.provider_of(view.machine),
            given.options,
            self._detector.served_last(view.machine),
            deficit,
            domain,
        )
        for seen in self._detector.begin(told):
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
        if before is None or not self._detector.follows(before.id):
            return
        now = after.state if after is not None else None
        first, _ = self._changed.get(before.id, (before.state, None))
        self._changed[before.id] = (first, now)

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
        offering = offering_name(machine, self._machines.provider_of(action.machine))
        return self._findings.why_held(*served, offering, at)

    # -- within ----------------------------------------------------------------------------------

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
