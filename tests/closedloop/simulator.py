"""A little simulator: machines that take their time to be created, configured and drained.

Actions start as the rules' `step` entry describes; each transition then takes a seeded number of
cycles, zero meaning within the cycle. Demand never changes and nothing ever fails, so what keeps
moving is the decision's own doing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol, TypeVar

from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine, Marks
from bigfleet.model.machines import Assigned, Host, Machine, MachineState, check_transition
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import SECOND
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.profiles import Profile

_MOVING = (
    MachineState.CREATING,
    MachineState.CONFIGURING,
    MachineState.DRAINING,
    MachineState.DELETING,
)


class Decided(Protocol):
    @property
    def actions(self) -> Sequence[Action]: ...

    @property
    def memory(self) -> EngineMemory: ...


D = TypeVar("D", bound=Decided)


@dataclass(slots=True)
class Simulator:
    fleet: Fleet
    chance: Random
    #: The longest a transition may take, in cycles.
    slowest: int = 4
    cycle_seconds: int = 1
    #: Cycles left of each transition under way, and for whom it configures.
    left: dict[str, int] = field(default_factory=dict)
    configuring_for: dict[str, tuple[Profile, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in self.fleet.machines:
            if each.machine.state in _MOVING:
                self.left[each.machine.id] = self.chance.randint(1, max(1, self.slowest))

    def run_cycle(self, decide: Callable[[Fleet], D]) -> D:
        """One decision on the fleet as it stands, executed; then one cycle's time passes."""
        decision = decide(self.fleet)
        self.fleet = replace(self.fleet, memory=decision.memory)
        for action in decision.actions:
            self._start(action)
        if self.fleet.now is not None:
            later = self.fleet.now + self.cycle_seconds * SECOND
            self.fleet = replace(self.fleet, now=later)
        for name in sorted(self.left):
            self.left[name] -= 1
            if self.left[name] <= 0:
                self._finish(name)
        return decision

    @property
    def moving(self) -> bool:
        return bool(self.left)

    def machine(self, name: str) -> Machine:
        return next(m.machine for m in self.fleet.machines if m.machine.id == name)

    def _start(self, action: Action) -> None:
        machine = self.machine(action.machine)
        match action.kind:
            case ActionKind.BOOTSTRAP:
                self._configure(machine, action)
            case ActionKind.PROVISION:
                self._create(machine, action)
            case ActionKind.RECLAIM | ActionKind.PREEMPT:
                self._put(replace(machine, state=MachineState.DRAINING))
                self._takes(machine.id)
            case ActionKind.DELETE:
                self._put(replace(machine, state=MachineState.DELETING))
                self._takes(machine.id)

    def _create(self, machine: Machine, action: Action) -> None:
        """An order that is filled at once goes on as a Bootstrap; a slow one is found Idle."""
        assert action.source_profile is not None
        stamp = Assigned(
            cluster=action.cluster,
            need_fingerprint=action.source_profile.fingerprint,
            group=action.source_group,
        )
        self._put(replace(machine, state=MachineState.CREATING, assigned=stamp))
        if not self._takes(machine.id):
            self._configure(self.machine(machine.id), action)

    def _configure(self, machine: Machine, action: Action) -> None:
        assert action.source_profile is not None
        stamp = Assigned(
            cluster=action.cluster,
            need_fingerprint=action.source_profile.fingerprint,
            group=action.source_group,
        )
        self._put(
            replace(
                machine,
                state=MachineState.CONFIGURING,
                cluster=action.cluster,
                assigned=stamp,
            )
        )
        self.configuring_for[machine.id] = (action.source_profile, action.source_group)
        self._takes(machine.id)

    def _takes(self, name: str) -> bool:
        """Whether the transition just begun takes longer than this cycle."""
        cycles = self.chance.randint(0, self.slowest)
        if cycles == 0:
            self._finish(name)
        else:
            self.left[name] = cycles
        return cycles > 0

    def _finish(self, name: str) -> None:
        self.left.pop(name, None)
        machine = self.machine(name)
        unbound = replace(machine, cluster="", assigned=Assigned())
        match machine.state:
            case MachineState.CREATING:
                hosted = replace(unbound, state=MachineState.IDLE, host=Host("sim", name))
                self._put(hosted)
            case MachineState.CONFIGURING:
                self._put(self._configured(machine))
            case MachineState.DRAINING:
                self._put(replace(unbound, state=MachineState.IDLE))
            case MachineState.DELETING:
                self._put(replace(unbound, state=MachineState.SPECULATIVE, host=Host()))
            case _:
                raise AssertionError(f"{name} has nothing under way in {machine.state.label}")

    def _configured(self, machine: Machine) -> Machine:
        """Success stamps priority and penalties; what the fleet came with keeps its stamps."""
        if machine.id not in self.configuring_for:
            return replace(machine, state=MachineState.CONFIGURED)
        profile, _ = self.configuring_for.pop(machine.id)
        stamp = replace(
            machine.assigned,
            priority=profile.priority,
            interruption_penalty=upper_bound_dollars(profile.interruption_bucket),
            reclamation_penalty=upper_bound_dollars(profile.reclamation_bucket),
        )
        return replace(machine, state=MachineState.CONFIGURED, assigned=stamp)

    def _put(self, machine: Machine) -> None:
        def changed(each: FleetMachine) -> FleetMachine:
            if each.machine.id != machine.id:
                return each
            check_transition(machine.id, each.machine.state, machine.state)
            entered_idle = machine.state is MachineState.IDLE
            since = self.fleet.now if entered_idle else None
            return FleetMachine(machine, Marks(idle_since=since))

        machines = tuple(changed(each) for each in self.fleet.machines)
        self.fleet = replace(self.fleet, machines=machines)
