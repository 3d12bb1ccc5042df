"""The cases that left pods waiting for ever while their Need was met, each in a closed loop."""

from random import Random

import pytest

from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.sim.scheduler import Policy
from tests.placement_loop.cluster import Cluster, Workload
from tests.placement_loop.loop import START, Loop
from tests.placement_loop.mixes import scale
from tests.placement_loop.shard import KindOfMachine, Shard

MACHINE = KindOfMachine(
    "medium",
    Resources.parse({"cpu": "8", "memory": "32Gi"}),
    Resources.parse({"cpu": "500m", "memory": "2Gi"}),
    0.4,
    20,
)


def ran(
    *pods: tuple[str, str, int],
    daemons: tuple[Resources, ...] = (),
    exclusive: bool = False,
    hopeless: bool = False,
    policy: Policy = Policy.LEAST_ALLOCATED,
    minutes: float = 30,
) -> Cluster:
    chance = Random(7)
    shard = Shard([MACHINE], chance)
    cluster = Cluster("shop", shard, policy, chance, daemons=daemons)
    loop = Loop(shard, [cluster])
    counts = {
        Workload(
            f"w{n}",
            Profile.of(),
            Resources.parse({"cpu": cpu, "memory": memory}),
            exclusive=exclusive,
            hopeless=hopeless,
        ): count
        for n, (cpu, memory, count) in enumerate(pods)
    }
    loop.plan(0, scale(cluster, counts))
    loop.run(minutes)
    return cluster


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize(
    ("pods", "nodes"),
    [
        ([("5", "1Gi", 6)], 6),
        ([("5", "1Gi", 2), ("4", "1Gi", 1)], 3),
        ([("10m", "1Mi", 150)], 2),
        ([("1", "1Gi", 7)], 1),
    ],
    ids=["uniform pods", "mixed pods", "tiny pods", "pods that fit"],
)
def test_every_pod_runs_on_as_few_machines_as_hold_them(
    pods: list[tuple[str, str, int]], nodes: int, policy: Policy
) -> None:
    cluster = ran(*pods, policy=policy)
    assert (len(cluster.waiting()), len(cluster.occupancy.nodes)) == (0, nodes)


def test_replicas_that_exclude_each_other_get_a_machine_each() -> None:
    cluster = ran(("1", "1Gi", 3), exclusive=True)
    assert (len(cluster.waiting()), len(cluster.occupancy.nodes)) == (0, 3)


def test_a_large_daemon_beside_a_large_pod() -> None:
    daemon = Resources.parse({"cpu": "2", "memory": "1Gi"})
    cluster = ran(("5", "1Gi", 3), daemons=(daemon,))
    assert (len(cluster.waiting()), len(cluster.occupancy.nodes)) == (0, 3)


def test_pods_that_fit_get_no_margin() -> None:
    cluster = ran(("1", "1Gi", 7), ("500m", "1Gi", 1))
    assert cluster.margins.amounts() == {}
    assert cluster.margins.figures.rounds == 0


def test_machines_bought_in_vain_go_back_and_are_tried_again_later() -> None:
    cluster = ran(("1", "1Gi", 2), hopeless=True, minutes=14)
    assert cluster.margins.figures.fruitless == 3
    assert len(cluster.occupancy.nodes) == 1
    assert cluster.margins.amounts() == {}


def test_the_loop_is_quiet_once_every_pod_runs() -> None:
    cluster = ran(("5", "1Gi", 6), ("2", "3Gi", 4), minutes=60)
    assert cluster.waiting() == []
    assert max(cluster.shard.acted_at) < START + 10 * 60 * 1_000_000_000
