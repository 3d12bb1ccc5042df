"""Covered on paper and stuck in the cluster: the operator asks for more, within the rules."""

from bigfleet.sim.cluster import Cluster
from bigfleet.sim.operator import Operator, Rollup
from bigfleet.sim.scheduler import Policy
from bigfleet.sim.workloads import LARGE_WEB, gang, web
from tests.sim_clusters.clusters import (
    NODE,
    T0,
    amounts,
    connected,
    filled,
    later,
    node_update,
    rollups,
    served,
)


class PlainShard:
    """Gives every row as many machines as its amounts take, and never takes one back."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.machines = {"": len(operator.cluster.nodes)}
        #: Machines that join in the next second.
        self.arriving: list[str] = []
        self._asked: Rollup | None = None

    def second(self, seconds: int) -> None:
        operator, at = self.operator, later(seconds)
        for machine in self.arriving:
            operator.cluster.on_node_state(node_update(machine), at)
        self.arriving = []
        operator.cluster.schedule(at)
        for rollup in rollups(operator.tick(at)):
            self._asked = rollup
        if self._asked is None:
            return
        if operator.report_is_due(at):
            operator.report(at)
            operator.on_reply(served(self._asked.needs, self.machines), at)
        for row in self._asked.needs:
            wanted = max(-(-amount // NODE[name]) for name, amount in row.aggregate.amounts)
            while self.machines.get(row.group, 0) < wanted:
                self.arriving.append(f"m{self.total:03}")
                self.machines[row.group] = self.machines.get(row.group, 0) + 1

    @property
    def total(self) -> int:
        return sum(self.machines.values())


def lived(operator: Operator, seconds: int) -> PlainShard:
    shard = PlainShard(operator)
    for second in range(1, seconds):
        shard.second(second)
    return shard


def test_six_pods_of_5_cpu_run_on_nodes_of_7500m() -> None:
    """30 cpu are four machines by the sum; six are needed."""
    operator = connected(filled(6, workload=web("search", LARGE_WEB)))
    shard = lived(operator, 60)
    assert operator.cluster.running == 6
    assert shard.total == 6
    assert operator.margins.stuck == {}


def test_mixed_shapes_are_all_placed_and_nothing_moves_afterwards() -> None:
    cluster = Cluster("shop", policy=Policy.LEAST_ALLOCATED)
    for name, request, pods in (
        ("web", amounts("1400m", "5Gi"), 23),
        ("search", LARGE_WEB, 7),
        ("cache", amounts("500m", "12Gi"), 9),
        ("exporter", amounts("10m", "20Mi"), 150),
    ):
        cluster.scale(web(name, request), pods, T0)
    operator = connected(cluster)
    shard = lived(operator, 120)
    assert cluster.running == cluster.pods == 189
    machines, rounds = shard.total, operator.margins.figures.rounds
    for second in range(120, 240):
        shard.second(second)
    assert (shard.total, operator.margins.figures.rounds) == (machines, rounds)


def test_pods_that_fit_are_never_asked_more_for() -> None:
    operator = connected(filled(10, workload=web("web")))
    lived(operator, 60)
    assert operator.cluster.running == 10
    assert operator.margins.amounts() == {}


def test_a_pod_that_no_machine_can_take_waits_and_machines_for_it_go_back() -> None:
    """Nodes keep 7350m for pods: three rounds do not help, then it is left alone."""
    cluster = filled(5)
    huge = web("huge", amounts("7360m", "1Gi"))
    cluster.scale(huge, 1, T0)
    operator = connected(cluster)
    lived(operator, 200)
    [pod] = cluster.waiting()
    assert pod.owner == "huge"
    assert "Insufficient cpu" in pod.verdict
    assert operator.margins.figures.fruitless == 3
    assert operator.margins.amounts() == {}


def test_stuck_pods_are_reported_with_their_need_and_the_words_of_the_scheduler() -> None:
    cluster = filled(2, "m1", workload=web("search", LARGE_WEB))
    operator = connected(cluster)
    [rollup] = rollups(operator.tick(later(10)))
    operator.on_reply(served(rollup.needs, {"": 1}), later(12))
    operator.report(later(12))
    operator.tick(later(13))
    assert operator.report_is_due(later(13)), "stuck pods are told at once"
    report = operator.report(later(13))
    assert report.pods_covered_not_placed == 1
    [example] = report.examples
    assert example.pod.startswith("default/search-")
    assert example.text == "0/1 nodes are available: 1 Insufficient cpu."
    [stuck] = report.stuck
    assert stuck.pods == 1
    assert (stuck.fingerprint, stuck.group) in report.ask


def test_a_gang_that_spans_machines_asks_for_no_more_than_its_members() -> None:
    operator = connected(filled(4, workload=gang("train")))
    shard = lived(operator, 60)
    assert operator.cluster.running == 4
    assert shard.total == 4
