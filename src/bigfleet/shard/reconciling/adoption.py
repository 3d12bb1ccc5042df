"""Adopting: what one machine becomes when its provider lists it.

The provider wins on state, except over what the shard has just done itself: while an action is
pending, or a List began before the shard's own last step, only what does not depend on the state is
taken over, and the rest is looked at again with the next List. A machine keeps its binding and its
stamps while it goes on for the same cluster, and loses them with Idle and Speculative. A Failed
machine comes back only when the part that keeps Failed machines says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

from bigfleet.model.machines import Assigned, Instant, Machine, MachineState
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.effects import Effects
from bigfleet.shard.machines import Machines

if TYPE_CHECKING:
    from bigfleet.shard.reconciling.reconciler import Reconciler

_UNBOUND = (MachineState.IDLE, MachineState.SPECULATIVE)
_HOLDS_CLUSTER = (
    MachineState.CONFIGURING,
    MachineState.CONFIGURED,
    MachineState.DRAINING,
    MachineState.FAILED,
)
#: What is refreshed at equal state, under the labels of `machine_attribute_updates_total`.
REFRESHED = (
    "price_per_hour",
    "interruption_probability",
    "labels",
    "resources",
    "allocatable",
    "zone",
    "instance_type",
    "capacity_type",
    "host",
)


class PendingActions(Protocol):
    """The execution, as far as Lists have to do with it."""

    def is_pending(self, machine: str) -> bool:
        """Whether an action has the machine: Lists do not speak for it then."""


class FailedMachines(Protocol):
    """Keeps the Failed machines and their way back."""

    def holds(self, machine: str) -> bool:
        """Whether only the keeper may change the machine's state."""

    def admits(self, machine: str, state: MachineState) -> bool:
        """Whether an unknown machine may come in."""

    def on_list(
        self,
        provider: str,
        listed: Mapping[str, Machine],
        *,
        whole: bool,
        started: Instant,
        at: Instant,
    ) -> None:
        """A List was read; `listed` has what it says of machines that are held."""


class AdoptedPart(IntEnum):
    ALL = 1
    #: The rest is looked at again with the next List.
    LATER = 2
    #: The rest is for the keeper of Failed machines.
    KEPT = 3


def adopted_machine(before: Machine, listed: Machine) -> Machine:
    """The machine as its provider lists it, with what only the shard knows."""
    if listed.state in _UNBOUND:
        return replace(listed, cluster="", assigned=Assigned(), last_error="")
    cluster = listed.cluster
    if not cluster and listed.state in _HOLDS_CLUSTER and before.state in _HOLDS_CLUSTER:
        cluster = before.cluster
    assigned = before.assigned if cluster == before.cluster else listed.assigned
    return replace(listed, cluster=cluster, assigned=assigned)


def refreshed_machine(before: Machine, listed: Machine) -> Machine:
    """The machine where it was, with everything that does not depend on its state."""
    return replace(
        listed,
        state=before.state,
        cluster=before.cluster,
        host=before.host,
        assigned=before.assigned,
        last_error=before.last_error,
    )


def refreshed_fields(before: Machine, after: Machine) -> list[str]:
    return [name for name in REFRESHED if getattr(before, name) != getattr(after, name)]


@dataclass(frozen=True, slots=True)
class ListedMachine:
    """A machine as one List shows it."""

    listed: Machine
    provider: str
    #: When the List was asked for.
    started: Instant
    at: Instant


class Adopter:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        execution: PendingActions,
        failures: FailedMachines,
        reconciler: "Reconciler",
    ) -> None:
        """`reconciler`: doubts what single Lists say."""
        self._effects = effects
        self._machines = machines
        self._execution = execution
        self._failures = failures
        self._reconciler = reconciler
        #: The machine as it is being made; a watcher that hears of another one hears of a change
        #: that is not a List's.
        self.making: Machine | None = None

    def is_ahead(self, machine_id: str, started: Instant) -> bool:
        """Whether the shard knows better than a List that began then."""
        changed = self._machines.changed_at(machine_id)
        return self._execution.is_pending(machine_id) or (
            changed is not None and changed >= started
        )

    def adopt(self, sight: ListedMachine) -> AdoptedPart:
        """Take over what is listed of a known machine."""
        listed = sight.listed
        before = self._machines.truth(listed.id)
        if self.is_ahead(listed.id, sight.started):
            self._step(before, refreshed_machine(before, listed), sight)
            same = _same_place(before, adopted_machine(before, listed))
            return AdoptedPart.ALL if same else AdoptedPart.LATER
        if self._failures.holds(listed.id):
            self._step(before, refreshed_machine(before, listed), sight)
            return AdoptedPart.KEPT
        after = adopted_machine(before, listed)
        if self._reconciler.doubts(before, after, sight.provider, sight.at):
            self._step(before, refreshed_machine(before, listed), sight)
            return AdoptedPart.LATER
        self._step(before, after, sight)
        return AdoptedPart.ALL

    def insert(self, sight: ListedMachine) -> None:
        """Take in a machine that was unknown."""
        machine = sight.listed
        if self._failures.admits(machine.id, machine.state):
            text = f"first listed by {sight.provider}, {machine.state.label}"
            self.making = machine
            self._machines.insert(machine, sight.provider, sight.at, text)
            self.making = None
            self._effects.wake()

    def _step(self, before: Machine, after: Machine, sight: ListedMachine) -> None:
        if before == after:
            return
        if (before.state, before.cluster) == (after.state, after.cluster):
            for name in refreshed_fields(before, after):
                self._effects.counts.add("machine_attribute_updates_total", field=name)
        elif before.cluster and after.cluster and before.cluster != after.cluster:
            self._effects.log(
                "warning",
                "machine_changed_cluster",
                f"{sight.provider} lists {after.id} for cluster {after.cluster}; it was bound to"
                f" {before.cluster}, and its stamps are read anew",
                machine=after.id,
                provider=sight.provider,
            )
        text = f"{sight.provider} lists it as {after.state.label}"
        self.making = after
        self._machines.step(after, sight.at, text, StorySource.PROVIDER, adopted=True)
        self.making = None
        self._effects.wake()


def _same_place(before: Machine, after: Machine) -> bool:
    return (before.state, before.cluster, before.host) == (after.state, after.cluster, after.host)
