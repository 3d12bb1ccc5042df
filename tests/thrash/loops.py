"""A closed loop watched for thrash, with the rail that it sets, as a shard watches itself."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine, Marks
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.model.thrash import TraceAction
from bigfleet.thrash.detector import Detector, Sighting
from bigfleet.thrash.findings import Findings
from bigfleet.thrash.tracing import offering_name
from tests.closedloop.simulator import Simulator
from tests.generated.agreement import SomeDecision, SomeVerdict
from tests.worlds.fleets import NOW

Decide = Callable[[Fleet], SomeDecision]
_DONE = {
    ActionKind.RECLAIM: MachineState.IDLE,
    ActionKind.PREEMPT: MachineState.IDLE,
    ActionKind.DELETE: MachineState.SPECULATIVE,
}


def without_reservations(decide: Decide) -> Decide:
    """The same decisions by an engine that forgets which victim drains for which Need."""

    def forgetful(fleet: Fleet) -> SomeDecision:
        memory = replace(fleet.memory, reservations={})
        return decide(replace(fleet, memory=memory))

    return forgetful


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """What is left of a decision after the rail."""

    actions: tuple[Action, ...]
    memory: EngineMemory


@dataclass(slots=True)
class WatchedLoop:
    world: Simulator
    decide: Decide
    detector: Detector = field(default_factory=Detector)
    findings: Findings = field(default_factory=Findings)
    found: list[Sighting] = field(default_factory=list)
    #: Every action, in order.
    trace: list[TraceAction] = field(default_factory=list)
    cycle: int = 0
    #: Of the last cycle.
    decision: SomeDecision | None = None
    _leaving: dict[str, ActionKind] = field(default_factory=dict)

    def run(self, cycles: int) -> list[Sighting]:
        for _ in range(cycles):
            self.run_cycle()
        return self.found

    def run_cycle(self) -> SomeDecision:
        """The whole decision, what the rail held included."""
        self.cycle += 1
        at = self._now
        before = {each.machine.id: each.machine for each in self.world.fleet.machines}
        decision = self.decide(self.world.fleet)
        held = {a.machine for a in decision.actions if self._holds(a, before[a.machine], at)}
        carried_out = tuple(a for a in decision.actions if a.machine not in held)
        self.world.run_cycle(lambda _: CarriedOut(carried_out, decision.memory))
        for index, action in enumerate(decision.actions):
            if action.machine in held:
                continue
            traced = self._traced(index, action, before[action.machine], decision, at)
            self.trace.append(traced)
            for seen in self.detector.begin(traced):
                self.found.append(seen)
                self.findings.add(seen)
            self._leaving.pop(action.machine, None)
            if action.kind in _DONE:
                self._leaving[action.machine] = action.kind
        self._settle(decision)
        self._complete()
        self.decision = decision
        return decision

    def count(self, kind: ActionKind, cluster: str = "") -> int:
        return sum(each.kind is kind and cluster in ("", each.cluster) for each in self.trace)

    def _holds(self, action: Action, machine: Machine, at: int) -> bool:
        if action.kind is ActionKind.RECLAIM:
            served, offering = (action.cluster, machine.assigned.need_fingerprint), ""
        elif action.kind is ActionKind.DELETE:
            served, offering = self.detector.served_last(machine.id), _offering(machine)
        else:
            return False
        return self.findings.why_held(*served, offering, at) is not None

    @property
    def _now(self) -> int:
        return self.world.fleet.now or self.cycle * self.world.cycle_seconds * SECOND

    def _settle(self, decision: SomeDecision) -> None:
        short = {v.need.key for v in decision.verdicts if not v.satisfied}
        for need in set(self.detector.waiting()) - short:
            self.detector.settle(need)

    def _complete(self) -> None:
        for each in self.world.fleet.machines:
            kind = self._leaving.get(each.machine.id)
            if kind is not None and each.machine.state is _DONE[kind]:
                self.detector.complete(each.machine.id, self._now)
                del self._leaving[each.machine.id]

    def _traced(
        self, index: int, action: Action, machine: Machine, decision: SomeDecision, at: int
    ) -> TraceAction:
        verdict = decision.verdicts[action.need] if action.need is not None else None
        holds = self.world.fleet.options.release_holds
        traced = TraceAction(
            self.cycle,
            index,
            action.kind,
            action.machine,
            at,
            *_holder(action, machine, verdict),
            priority=action.source_profile.priority
            if action.source_profile
            else action.preemptor_priority,
            offering=_offering(machine),
            hold_seconds=holds.get(machine.capacity_type, 0.0),
        )
        if action.kind is not ActionKind.PREEMPT or verdict is None:
            return traced
        return replace(
            traced,
            preemptor=verdict.need.key,
            frees=machine.effective_allocatable,
            deficit=_deficit(decision, verdict),
            domain=verdict.domain or "",
        )


def _offering(machine: Machine) -> str:
    return offering_name(machine, "sim")


def _holder(action: Action, machine: Machine, verdict: SomeVerdict | None) -> tuple[str, str, str]:
    if action.kind in (ActionKind.BOOTSTRAP, ActionKind.PROVISION) and verdict is not None:
        return verdict.need.key
    if action.kind is ActionKind.DELETE:
        return "", "", ""
    return action.cluster, machine.assigned.need_fingerprint, machine.assigned.group


def _deficit(decision: SomeDecision, verdict: SomeVerdict) -> Resources:
    total = Resources()
    for each in decision.verdicts:
        if each.need.key == verdict.need.key:
            total = total.plus(each.deficit)
    return total.positive()


def as_a_shard_starts(fleet: Fleet) -> Fleet:
    """Nothing is reserved, parked, held or overdue, and idle clocks begin: holds only lengthen.

    A shard always has a clock; without one no reservation would end (loop 33041).
    """
    now = fleet.now if fleet.now is not None else NOW

    def restarted(each: FleetMachine) -> FleetMachine:
        idle = each.machine.state is MachineState.IDLE
        marks = Marks(idle_since=now if idle else None, empty=each.marks.empty)
        return replace(each, marks=marks)

    machines = tuple(restarted(each) for each in fleet.machines)
    return replace(fleet, machines=machines, memory=EngineMemory(), now=now)
