"""The rig of draining with room on its Nodes: drains are admitted, refused and called off."""

from dataclasses import replace

from bigfleet.kube.objects import Meta, Node
from bigfleet.model.cluster_reports import REPORT_INTERVAL_SECONDS
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from bigfleet.model.settings import CurrentSettings, Seconds
from bigfleet.operator.drain_steps import SendDemand
from bigfleet.operator.pods_on_nodes import PodOnNode
from bigfleet.operator.reclaim_admission import ReclaimAdmission, ReclaimKinds
from bigfleet.operator.settings import OperatorSettings
from bigfleet.placement.admission import AdmissionRefusal, Admissions, Budget
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.records import PodView, do_not_disrupt
from tests.operator_draining.rig import ID, Rig, node_record, pod_record
from tests.placement.small import node as node_view
from tests.placement.small import pod as pod_view

S = MachineState
DELAY = 15


class Refusals:
    """What revises demand, as far as drains know it."""

    def __init__(self) -> None:
        self.refused: list[AdmissionRefusal] = []
        self.admitted: list[str] = []
        #: Whether a refusal makes demand grow.
        self.revises = True

    def on_refused(self, refusal: AdmissionRefusal, at: Instant) -> bool:
        self.refused.append(refusal)
        return self.revises

    def on_drain_admitted(self, node: str, at: Instant) -> None:
        self.admitted.append(node)


class PodBudgets:
    def __init__(self) -> None:
        self.allowed: int | None = None

    def budget_of(self, pod: PodView) -> Budget | None:
        return None if self.allowed is None else Budget("shop/web", self.allowed)


class AdmittingRig(Rig):
    """Reports are answered every ten seconds while `answers_reports`."""

    def __init__(self) -> None:
        self.occupancy = Occupancy()
        self.budgets = PodBudgets()
        self.admissions = Admissions(self.occupancy, self.budgets)
        self.kinds = ReclaimKinds()
        self.refusals = Refusals()
        self.preemptions: list[str] = []
        self.answers_reports = True
        settings = CurrentSettings(OperatorSettings(admission_delay=Seconds(DELAY)))
        admission = ReclaimAdmission(
            self.admissions, self.occupancy, self.kinds, self.refusals, self, settings
        )
        super().__init__(admission)
        self.started = self.at

    # -- the cluster -----------------------------------------------------------------------------

    def room(self, number: int, cpu: str = "8", **annotations: str) -> None:
        """Machine m-<number> is the Node n-<number>."""
        found = node_record(f"n-{number}")
        meta = found.metadata
        meta = Meta(name=meta.name, uid=meta.uid, resource_version="1", annotations=annotations)
        name = f"n-{number}"
        keep = do_not_disrupt(annotations)
        view = node_view(name, cpu, machine=f"m-{number}", do_not_disrupt=keep)
        self.occupancy.put_node(view, self.at)
        self.has_node(Node(metadata=meta, spec=found.spec))

    def runs(
        self, name: str, node: str = "n-1", cpu: str = "1", *, owner: str = "web", keep: str = ""
    ) -> PodOnNode:
        """A pod on a Node, or without one."""
        view = pod_view(name, cpu, node=node, owner=owner, do_not_disrupt=keep)
        self.occupancy.put_pod(view, self.at)
        self.admissions.on_pod_added(view)
        pod = replace(pod_record(name, node), do_not_disrupt=keep)
        self.has_pod(pod)
        return pod

    def loses_pod(self, pod: PodOnNode) -> None:
        self.occupancy.remove_pod(pod.uid, self.at)
        super().loses_pod(pod)

    # -- the shard -------------------------------------------------------------------------------

    def join(self, *numbers: int, asked: ReclaimInstruction | None = None) -> None:
        self.kinds.on_connected(self.at)
        updates = [NodeStateUpdate(f"m-{n}", "shop", S.CONFIGURED, f"n-{n}") for n in numbers]
        self.connect(*updates, asked=asked)

    def preempts(self, node: str = "n-1", *, priority: int = 100, grace: int = 600) -> None:
        asked = ReclaimInstruction(ID, (node,), grace, priority)
        self.steps += self.drains.on_instruction(asked, self.at)

    # -- time ------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """Second by second, as the driver looks while an instruction is open."""
        self._see_cordons()
        for _ in range(int(seconds)):
            super().wait(1)
            self._report()
            self._see_cordons()
        super().wait(seconds - int(seconds))

    def _report(self) -> None:
        is_due = (self.at - self.started) // SECOND % REPORT_INTERVAL_SECONDS == 0
        if is_due and self.answers_reports:
            self.kinds.on_reply(self.preemptions, self.at, self.at)

    def on_instruction(self, machine: str, instruction: str, at: Instant) -> None:
        name = machine.replace("m", "n")
        view = self.occupancy.nodes[name]
        self.occupancy.put_node(replace(view, instruction=instruction), at)

    def _see_cordons(self) -> None:
        for name, view in list(self.occupancy.nodes.items()):
            known = self.nodes.node(name)
            cordoned = known is not None and known.spec.unschedulable
            self.occupancy.put_node(replace(view, cordoned=cordoned), self.at)

    # -- what came out ---------------------------------------------------------------------------

    def sent_demand(self) -> int:
        return len(self.take(SendDemand))

    def reasons(self) -> list[tuple[str, str]]:
        return [(each.about.kind, each.reason) for each in self.told()]


def two_machines(cpu: str = "8", other: str = "8") -> AdmittingRig:
    """n-1 and n-2, Configured and connected, without pods."""
    rig = AdmittingRig()
    rig.room(1, cpu)
    rig.room(2, other)
    rig.join(1, 2)
    assert rig.steps == []
    return rig
