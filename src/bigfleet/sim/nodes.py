"""Nodes of a simulated cluster: what is free on one, and whose pods it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bigfleet.model.machines import MachineState
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources


@dataclass(slots=True)
class Node:
    #: The Node's name where the machine has one, else the machine's id.
    name: str
    machine: str
    state: MachineState
    labels: Mapping[str, str]
    capacity: Mapping[str, int]
    free: dict[str, int]
    cordoned: bool = False
    #: Pods by the name of their workload; never zero.
    pods: dict[str, int] = field(default_factory=dict)

    @property
    def schedulable(self) -> bool:
        return self.state is MachineState.CONFIGURED and not self.cordoned

    @property
    def has_room(self) -> bool:
        """Something of every dimension is left; what is full is not looked at again."""
        return min(self.free.values(), default=0) > 0

    def matches(self, profile: Profile) -> bool:
        return all(r.met_by(self.labels.get(r.key)) for r in profile.requirements)

    def room_for(self, request: Resources) -> int:
        """How many more pods of this size would fit."""
        return min(
            (self.free.get(name, 0) // amount for name, amount in request.amounts if amount > 0),
            default=0,
        )

    def take(self, workload: str, request: Resources, pods: int) -> None:
        self.pods[workload] = self.pods.get(workload, 0) + pods
        for name, amount in request.amounts:
            self.free[name] = self.free.get(name, 0) - amount * pods

    def drop(self, workload: str, request: Resources, pods: int) -> None:
        left = self.pods[workload] - pods
        if left:
            self.pods[workload] = left
        else:
            del self.pods[workload]
        for name, amount in request.amounts:
            self.free[name] = self.free.get(name, 0) + amount * pods
