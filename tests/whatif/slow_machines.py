"""The slow twin of a settling fleet: records that take their given time, one after the other."""

import math
from dataclasses import dataclass, field

from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.latencies import Latencies
from bigfleet.model.machines import MachineState
from tests.closedloop.simulator import Simulator

_STEP_OF_STATE = {
    MachineState.CREATING: "create",
    MachineState.CONFIGURING: "configure",
    MachineState.DRAINING: "drain",
    MachineState.DELETING: "delete",
}


@dataclass(slots=True)
class SlowMachines(Simulator):
    """Cycles last a second, and a step takes at least one."""

    latencies: Latencies = field(default_factory=Latencies)
    grace_seconds: float = math.inf

    def __post_init__(self) -> None:
        for each in self.fleet.machines:
            if each.machine.state in _STEP_OF_STATE and not each.marks.overdue:
                self._takes(each.machine.id)

    def _start(self, action: Action) -> None:
        drains = action.kind in (ActionKind.PREEMPT, ActionKind.RECLAIM)
        self.grace_seconds = action.grace_seconds if drains else math.inf
        Simulator._start(self, action)

    def _takes(self, name: str) -> bool:
        machine = self.machine(name)
        seconds = self.latencies.seconds(_STEP_OF_STATE[machine.state], machine.capacity_type)
        self.left[name] = max(1, math.ceil(min(seconds, self.grace_seconds)))
        return True
