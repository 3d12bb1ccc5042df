"""Machine: one slot or host through its whole life, and the invariants it never breaks.

Which state may follow which.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from bigfleet.model.quantities import LARGEST_OF_MACHINE, why_too_much
from bigfleet.model.requirements import attribute_of
from bigfleet.model.resources import Resources

Instant = int  # nanoseconds since the Unix epoch


class MachineState(IntEnum):
    UNSPECIFIED = 0
    SPECULATIVE = 1
    CREATING = 2
    IDLE = 3
    CONFIGURING = 4
    CONFIGURED = 5
    DRAINING = 6
    DELETING = 7
    FAILED = 8

    @property
    def label(self) -> str:
        return self.name.capitalize()

    @property
    def stable(self) -> bool:
        """Whether a machine may rest here: nothing is under way and nothing is wrong."""
        return self in (MachineState.SPECULATIVE, MachineState.IDLE, MachineState.CONFIGURED)


class CapacityType(IntEnum):
    UNSPECIFIED = 0
    BARE_METAL = 1
    RESERVED = 2
    ON_DEMAND = 3
    SPOT = 4

    @property
    def label(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("_"))


@dataclass(frozen=True, slots=True)
class Host:
    provider: str = ""
    ref: str = ""

    @property
    def empty(self) -> bool:
        return not self.provider and not self.ref


@dataclass(frozen=True, slots=True)
class Assigned:
    """What the machine was bought or bound for; penalties are bucket upper bounds in dollars."""

    priority: int = 0
    interruption_penalty: float = 0.0
    reclamation_penalty: float = 0.0
    #: Whose order a Creating machine is; empty means unknown and fits any cluster.
    cluster: str = ""
    need_fingerprint: str = ""
    group: str = ""

    @property
    def declared_dollars(self) -> float:
        """What taking the machine from its workload costs by the workload's own word; never billed,
        infinite for a workload that forbids it."""
        return self.interruption_penalty + self.reclamation_penalty


@dataclass(frozen=True, slots=True)
class Machine:
    id: str
    state: MachineState
    capacity_type: CapacityType = CapacityType.UNSPECIFIED
    host: Host = Host()
    cluster: str = ""
    instance_type: str = ""
    zone: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Resources = Resources()
    allocatable: Resources = Resources()
    price_per_hour: float = 0.0
    interruption_probability: float = 0.0
    last_error: str = ""
    assigned: Assigned = Assigned()

    @property
    def effective_allocatable(self) -> Resources:
        """Real capacity where it is known, else the base shape."""
        return self.allocatable if self.allocatable.amounts else self.resources

    def attribute(self, key: str) -> str | None:
        return attribute_of(key, self.instance_type, self.zone, self.labels)


_HOSTLESS = (MachineState.SPECULATIVE, MachineState.CREATING)
_HOSTED = (
    MachineState.IDLE,
    MachineState.CONFIGURING,
    MachineState.CONFIGURED,
    MachineState.DRAINING,
    MachineState.DELETING,
)
_BOUND = (MachineState.CONFIGURED, MachineState.DRAINING)


def why_invalid(machine: Machine) -> tuple[str, str] | None:
    """The first broken invariant as (field, sentence), or None if the machine is sound."""
    problems = broken_invariants(machine)
    return problems[0] if problems else None


def broken_invariants(machine: Machine) -> list[tuple[str, str]]:
    """Every broken invariant as (field, sentence that says what would mend it)."""
    state, broken = machine.state, []
    called = f"{'an' if state is MachineState.IDLE else 'a'} {state.label} machine"
    if state is MachineState.UNSPECIFIED:
        broken.append(("state", "a machine needs a state"))
    if state in _HOSTLESS and not machine.host.empty:
        broken.append(("host", f"{called} has no host yet; leave it empty"))
    if state in _HOSTED and machine.host.empty:
        broken.append(("host", f"{called} must name its host"))
    if state in _HOSTLESS and machine.cluster:
        broken.append(("cluster", f"{called} is bound to no cluster; leave it empty"))
    if state in _BOUND and not machine.cluster:
        broken.append(("cluster", f"{called} must name its cluster"))
    if state is MachineState.FAILED and not machine.last_error:
        broken.append(("lastError", "a Failed machine must say what failed"))
    if not 0.0 <= machine.interruption_probability <= 1.0:  # NaN fails every comparison
        broken.append(("interruptionProbability", "a probability lies between 0 and 1"))
    if not (math.isfinite(machine.price_per_hour) and machine.price_per_hour >= 0.0):
        broken.append(("pricePerHour", "a price is a finite number of dollars, zero or more"))
    for name, shape in (("resources", machine.resources), ("allocatable", machine.allocatable)):
        broken += [(name, problem) for problem in too_large_for_a_machine(shape)]
    return broken


def too_large_for_a_machine(shape: Resources) -> list[str]:
    """A sentence for each amount no machine has: sums over a shard must stay countable (U25)."""
    return [
        f"{name}: {problem}"
        for name, amount in shape.amounts
        if (problem := why_too_much(name, amount, LARGEST_OF_MACHINE))
    ]


_ALLOWED: dict[MachineState, frozenset[MachineState]] = {
    MachineState.UNSPECIFIED: frozenset(),
    MachineState.SPECULATIVE: frozenset({MachineState.CREATING}),
    MachineState.CREATING: frozenset({MachineState.IDLE, MachineState.FAILED}),
    MachineState.IDLE: frozenset({MachineState.CONFIGURING, MachineState.DELETING}),
    MachineState.CONFIGURING: frozenset(
        {MachineState.CONFIGURED, MachineState.FAILED, MachineState.IDLE}
    ),
    MachineState.CONFIGURED: frozenset({MachineState.DRAINING}),
    MachineState.DRAINING: frozenset({MachineState.IDLE, MachineState.FAILED}),
    MachineState.DELETING: frozenset({MachineState.SPECULATIVE, MachineState.FAILED}),
    MachineState.FAILED: frozenset(),
}
_RECOVERY = frozenset({MachineState.IDLE, MachineState.SPECULATIVE})


class InvalidTransition(ValueError):
    """A state change the life of a machine does not know."""


def is_allowed(before: MachineState, after: MachineState, *, recovery: bool = False) -> bool:
    """Staying is always allowed; a Failed machine leaves only through recovery."""
    if before is after or after in _ALLOWED[before]:
        return True
    return recovery and before is MachineState.FAILED and after in _RECOVERY


def check_transition(
    machine_id: str, before: MachineState, after: MachineState, *, recovery: bool = False
) -> None:
    if not is_allowed(before, after, recovery=recovery):
        ways = ", ".join(s.label for s in sorted(_ALLOWED[before])) or "recovery only"
        raise InvalidTransition(
            f"machine {machine_id} cannot go from {before.label} to {after.label}; "
            f"from {before.label} it goes to: {ways}"
        )
