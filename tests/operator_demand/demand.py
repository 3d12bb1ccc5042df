"""An operator's demand without an API server, in virtual time."""

import json
from dataclasses import dataclass
from typing import Any

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.cluster_reports import ClusterReportReply, NeedStanding
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.operator.cluster_view import ClusterView
from bigfleet.operator.machine_nodes import MachineNodes
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.pod_shapes import PodShape
from bigfleet.operator.pods_on_nodes import NotMoved, PodOnNode
from bigfleet.operator.revised_demand import OverheadUnits, RevisedDemand
from bigfleet.operator.rollup import DemandBook
from bigfleet.placement.admission import Admissions
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.overhead import Overheads
from bigfleet.wire.rollups import RollupReader
from tests.operator_nodes.nodes import node

START: Instant = 1_700_000_000 * SECOND
MACHINE = Resources.parse({"cpu": "8", "memory": "32Gi"})


@dataclass
class Operator:
    at: Instant = START
    fresh: bool = True

    def __post_init__(self) -> None:
        self.overheads = Overheads()
        units = OverheadUnits(self.overheads)
        self.book = DemandBook("shop", units=units)
        self.nodes = NodeMap()
        self.machines = MachineNodes(self.nodes, self.book.devices)
        self.occupancy = Occupancy()
        self.admissions = Admissions(self.occupancy)
        self.view = ClusterView(self.book, self.machines, self.occupancy, self.admissions)
        self.demand = RevisedDemand(
            self.book,
            units,
            self.overheads,
            self.occupancy,
            self.admissions,
            lambda _at: self.fresh,
        )
        self.machines.on_connected()
        self.machines.on_replay_ended()
        self.demand.on_connected(self.at)

    # -- the cluster -----------------------------------------------------------------------------

    def asks(self, name: str, cpu: str = "5", **spec: Any) -> None:
        """A CapacityRequest for the pod of this name."""
        key = ObjectKey("ns", f"cr-{name}")
        body = {"resources": {"cpu": cpu, "memory": "1Gi"}, "priority": 0} | spec
        self.book.put(key, f"r-{name}", json.dumps(body).encode(), "Acknowledged")
        self.view.on_request(key, f"uid-{name}", True, self.at)

    def withdraws(self, name: str) -> None:
        key = ObjectKey("ns", f"cr-{name}")
        self.book.remove(key)
        self.view.on_request(key, f"uid-{name}", False, self.at)

    def pod(self, name: str, on: str = "", verdict: str = "no room", **fields: Any) -> PodOnNode:
        return PodOnNode(
            ObjectKey("ns", name),
            f"uid-{name}",
            on,
            why_unscheduled="" if on else verdict,
            unschedulable_since=None if on else self.at,
            owner_uid="web",
            **fields,
        )

    def puts(self, pod: PodOnNode) -> None:
        self.view.on_pod(self.view.pod(pod.uid), pod, self.at)

    def daemon(self, machine: str, cpu: str) -> None:
        shape = PodShape(Resources.parse({"cpu": cpu}))
        name = f"daemon-{machine}"
        why = NotMoved.DAEMON_SET
        self.puts(self.pod(name, f"n-{machine}", why_not_evicted=why, shape=shape))

    def joins(self, machine: str, declared: Resources = MACHINE) -> None:
        """Of what it declares pods get half a cpu and 2 Gi less."""
        update = NodeStateUpdate(machine, "shop", MachineState.CONFIGURED, resources=declared)
        free = declared.less(Resources.parse({"cpu": "500m", "memory": "2Gi"}))
        self.nodes.put(node(machine, allocatable={**free.texts(), "pods": "110"}))
        self.nodes.on_node_state(update)
        self.machines.on_node_state(update, self.at)
        self.view.on_machine(machine, self.at)

    # -- the shard -------------------------------------------------------------------------------

    def sends(self) -> tuple[Need, ...]:
        content = self.demand.rollup(self.at)
        return tuple(RollupReader().read(content, "shop", 1000).needs)

    def hears(self, *needs: Need, machines: int = 0, margin: int = 0) -> None:
        """A reply about these rows: all are covered, and every machine is there."""
        standings = []
        for need in needs:
            count = margin if need.group == "margin" else machines
            standings.append(
                NeedStanding(
                    need.profile.fingerprint,
                    need.group,
                    satisfied=True,
                    wanted=need.aggregate,
                    claimed=MACHINE.times(count),
                    machines=count,
                )
            )
        self.demand.on_reply(ClusterReportReply(tuple(standings), 7, 1), self.at)

    def passes(self, seconds: float) -> None:
        self.at += round(seconds * SECOND)
