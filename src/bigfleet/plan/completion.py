"""The fleet after a cycle whose actions all completed at once; the way `cycles` > 1 goes on.

Machines in transition in the file stay so: a plan finishes only what it started.
"""

from collections.abc import Mapping
from dataclasses import replace

from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine, Marks
from bigfleet.model.machines import Assigned, Host, Instant, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import SECOND
from bigfleet.model.penalties import upper_bound_dollars

#: Where a plan's new machines stand; the provider of every host a fleet file does not name.
PLANNED_PROVIDER = "sim"


def next_fleet(fleet: Fleet, actions: tuple[Action, ...], memory: EngineMemory) -> Fleet:
    """The inputs of the next cycle: actions done, memory handed on, the clock a second later."""
    return replace(
        fleet,
        machines=machines_after(fleet, actions),
        memory=memory,
        now=None if fleet.now is None else fleet.now + SECOND,
    )


def machines_after(fleet: Fleet, actions: tuple[Action, ...]) -> tuple[FleetMachine, ...]:
    action_of_machine: Mapping[str, Action] = {action.machine: action for action in actions}
    return tuple(
        _completed(entry, action, fleet.now)
        if (action := action_of_machine.get(entry.machine.id))
        else entry
        for entry in fleet.machines
    )


def _completed(entry: FleetMachine, action: Action, now: Instant | None) -> FleetMachine:
    machine = entry.machine
    match action.kind:
        case ActionKind.BOOTSTRAP | ActionKind.PROVISION:
            return FleetMachine(_bound(machine, action))
        case ActionKind.RECLAIM | ActionKind.PREEMPT:
            idle = replace(machine, state=MachineState.IDLE, cluster="", assigned=Assigned())
            return FleetMachine(idle, Marks(idle_since=now))
        case ActionKind.DELETE:
            slot = replace(
                machine,
                state=MachineState.SPECULATIVE,
                host=Host(),
                cluster="",
                assigned=Assigned(),
            )
            return FleetMachine(slot)


def _bound(machine: Machine, action: Action) -> Machine:
    """Configured and stamped with what it was acquired for."""
    profile = action.source_profile
    stamp = Assigned(cluster=action.cluster, group=action.source_group)
    if profile is not None:
        stamp = replace(
            stamp,
            priority=profile.priority,
            interruption_penalty=upper_bound_dollars(profile.interruption_bucket),
            reclamation_penalty=upper_bound_dollars(profile.reclamation_bucket),
            need_fingerprint=profile.fingerprint,
        )
    return replace(
        machine,
        state=MachineState.CONFIGURED,
        cluster=action.cluster,
        assigned=stamp,
        host=Host(PLANNED_PROVIDER, machine.id) if machine.host.empty else machine.host,
    )
