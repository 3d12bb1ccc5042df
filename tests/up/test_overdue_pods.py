"""Pods that have waited too long: whether a free machine would take them."""

from collections.abc import Iterable

import pytest

from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.requirements import RACK_KEY
from bigfleet.placement.overhead import Overheads
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.workloads import LARGE_WEB, SECURE_KEY, Workload, gang, web
from bigfleet.up.overdue_pods import MOST_LOOKED_AT, OverduePod, OverduePods
from tests.sim_clusters.clusters import NODE, T0, amounts, later, node_update


class FewMachines:
    def __init__(self, machines: Iterable[Machine]) -> None:
        self._known = {machine.id: machine for machine in machines}

    def ids(self) -> Iterable[str]:
        return self._known

    def state_of(self, machine_id: str) -> MachineState | None:
        return self._known[machine_id].state

    def truth(self, machine_id: str) -> Machine:
        return self._known[machine_id]


def machine(
    name: str, state: MachineState = MachineState.IDLE, rack: str = "r1", *, secure: bool = False
) -> Machine:
    labels = {RACK_KEY: rack, **({SECURE_KEY: "yes"} if secure else {})}
    return Machine(name, state, instance_type="std-8", labels=labels, resources=NODE)


def overdue(workload: Workload, pods: int, *machines: Machine) -> tuple[OverduePod, ...]:
    """Of a cluster of one node, after two minutes and a second."""
    looking = looking_for(workload, pods, FewMachines(machines))
    assert looking.at(later(120)) == ()
    return looking.at(later(121))


def looking_for(workload: Workload, pods: int, machines: FewMachines) -> OverduePods:
    cluster, overheads = Cluster("shop"), Overheads()
    cluster.on_node_state(node_update("m1"), T0)
    overheads.look(cluster.occupancy, T0)
    cluster.scale(workload, pods, T0)
    cluster.schedule(T0)
    return OverduePods(cluster, overheads, machines)


def test_a_pod_that_an_idle_machine_would_take_is_overdue_after_two_minutes() -> None:
    [found] = overdue(web("search", LARGE_WEB), 3, machine("bm-1"))
    assert (found.pods, found.machine) == (2, "bm-1")
    assert found.pod.startswith("default/search-")
    assert found.seconds == pytest.approx(121)
    assert found.verdict == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_machine_that_could_be_bought_counts_as_well() -> None:
    [found] = overdue(web("search", LARGE_WEB), 2, machine("od-1", MachineState.SPECULATIVE))
    assert found.machine == "od-1"


@pytest.mark.parametrize(
    ("workload", "free"),
    [
        (web("huge", amounts("8", "1Gi")), machine("bm-1")),
        (web("tight", amounts("7400m", "1Gi")), machine("bm-1")),
        (web("search", LARGE_WEB), machine("bm-1", MachineState.CONFIGURED)),
        (web("search", LARGE_WEB), machine("bm-1", secure=True)),
    ],
    ids=["too large", "too large beside the DaemonSets", "in use", "another label"],
)
def test_a_pod_that_no_free_machine_would_take_only_waits(
    workload: Workload, free: Machine
) -> None:
    [found] = overdue(workload, 2, free)
    assert found.machine == ""


@pytest.mark.parametrize(("racks", "taken"), [("rrs", False), ("rrr", True)])
def test_a_gang_needs_as_many_free_machines_in_one_rack(racks: str, taken: bool) -> None:
    machines = [machine(f"bm-{n}", rack=rack) for n, rack in enumerate(racks)]
    [found] = overdue(gang("train"), 3, *machines)
    assert bool(found.machine) is taken


class CountedMachines(FewMachines):
    """Counts how many were looked at."""

    looks = 0

    def state_of(self, machine_id: str) -> MachineState | None:
        self.looks += 1
        return super().state_of(machine_id)


def test_a_large_fleet_is_looked_at_in_parts_and_to_its_end() -> None:
    in_use = (machine(f"bm-{n:05}", MachineState.CONFIGURED) for n in range(2 * MOST_LOOKED_AT))
    machines = CountedMachines([*in_use, machine("free")])
    looking = looking_for(web("search", LARGE_WEB), 3, machines)
    found = []
    for call in range(1, 4):
        [told] = looking.at(later(121 + call))
        found.append(told.machine)
        assert machines.looks <= call * MOST_LOOKED_AT
    assert found == ["", "", "free"]
