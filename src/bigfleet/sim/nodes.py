"""Nodes of a simulated cluster: a machine as the shard tells it, and what its Node offers."""

from collections.abc import Mapping
from dataclasses import dataclass

from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.requirements import INSTANCE_TYPE_KEY
from bigfleet.model.resources import Resources
from bigfleet.placement.records import DEFAULT_POD_LIMIT, NodeView

#: What the kubelet keeps free before it evicts pods. A provider's record does not know of it.
KUBELET_RESERVE = Resources.parse({"memory": "100Mi"})


@dataclass(slots=True)
class SimNode:
    #: The Node's name where the machine has one, else the machine's id.
    name: str
    machine: str
    state: MachineState
    labels: Mapping[str, str]
    #: What the shard counts for the machine.
    declared: Resources
    #: Since when it is as it is: usable or not.
    since: Instant
    cordoned: bool = False
    #: Id of the open instruction about it; empty: none.
    instruction: str = ""
    #: Since when the Node object is gone although the machine is Configured; None: it is there.
    gone_since: Instant | None = None

    @property
    def why_not_usable(self) -> str:
        return "" if self.gone_since is None else "the Node is gone"

    @property
    def has_joined(self) -> bool:
        """Its machine runs; before that there is no Node."""
        return self.state is not MachineState.CONFIGURING

    def view(self) -> NodeView:
        offered = {n: max(0, a - KUBELET_RESERVE[n]) for n, a in self.declared.amounts}
        return NodeView(
            name=self.name,
            machine=self.machine,
            declared=self.declared,
            allocatable=Resources.of(offered),
            kind=self.labels.get(INSTANCE_TYPE_KEY, ""),
            labels=self.labels,
            pod_limit=DEFAULT_POD_LIMIT,
            why_not_usable=self.why_not_usable,
            since=self.since,
            cordoned=self.cordoned or self.state is MachineState.DRAINING,
            instruction=self.instruction,
        )
