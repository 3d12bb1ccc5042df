"""From a shard's records to what the detector is told: the same live and from a journal.

An action is told with the machine as its decision saw it. What became of it is told with the cycle
that first sees it: a journal knows nothing finer, and both shall find the same.
"""

from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import CapacityType, Instant, Machine, MachineState
from bigfleet.model.options import EngineOptions
from bigfleet.model.profiles import precedence_of_fingerprint
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView
from bigfleet.model.thrash import TraceAction
from bigfleet.thrash.detector import Detector

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
_BINDS = (ActionKind.BOOTSTRAP, ActionKind.PROVISION)


def traced(
    view: ActionView,
    machine: Machine,
    provider: str,
    options: EngineOptions,
    served_last: tuple[str, str],
    deficit: Resources,
    domain: str = "",
) -> TraceAction:
    """`deficit`: of a Preempt, what its Need lacks; empty for every other action. `domain`: of a
    Preempt for a gang, the one that it has chosen."""
    action = TraceAction(
        view.cycle,
        view.index,
        view.kind,
        view.machine,
        view.at,
        *_holder(view, machine, served_last),
        priority=_priority(view),
        offering=offering_name(machine, provider),
        hold_seconds=options.release_holds.get(machine.capacity_type, 0.0),
    )
    if view.kind is not ActionKind.PREEMPT or view.need is None:
        return action
    return replace(
        action,
        preemptor=view.need,
        frees=machine.effective_allocatable,
        deficit=deficit,
        domain=domain,
    )


def tell_change(
    detector: Detector, machine: str, before: MachineState, after: MachineState | None, at: Instant
) -> None:
    """`after`: None where the machine has left the inventory."""
    if after is None:
        detector.forget(machine)
    elif (before, after) in _COMPLETE:
        detector.complete(machine, at)
    elif (before, after) in _ROLLED_BACK or after is S.FAILED:
        detector.abandon(machine)


def offering_name(machine: Machine, provider: str) -> str:
    capacity: CapacityType = machine.capacity_type
    return "/".join((provider, machine.instance_type, machine.zone, capacity.label))


def _holder(
    view: ActionView, machine: Machine, served_last: tuple[str, str]
) -> tuple[str, str, str]:
    """Which Need gets the machine, or loses it, or had it last."""
    if view.kind in _BINDS:
        return view.need if view.need is not None else ("", "", "")
    if view.kind is ActionKind.DELETE:
        return *served_last, ""
    return view.cluster, machine.assigned.need_fingerprint, machine.assigned.group


def _priority(view: ActionView) -> int:
    """Of the Need that gets the machine, or preempts it."""
    if view.need is None:
        return view.preemptor_priority
    precedence = precedence_of_fingerprint(view.need.fingerprint)
    return view.preemptor_priority if precedence is None else precedence[0]
