"""Generated mixes of pods over a catalogue of machines, and what the best packing would cost."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from bigfleet.model.machines import Instant
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.placement.packing import NodeRoom, machines_for
from bigfleet.placement.records import PodView
from bigfleet.sim.scheduler import Policy
from tests.placement_loop.cluster import Cluster, Workload
from tests.placement_loop.loop import Loop
from tests.placement_loop.shard import KindOfMachine, Shard

GIB = 1 << 30


def amounts(cpu_milli: int, memory: int) -> Resources:
    return Resources.of({"cpu": cpu_milli, "memory": memory})


def catalogue(chance: Random, slots: int = 160) -> list[KindOfMachine]:
    """One to three kinds; the price goes with the size."""
    sizes = sorted(chance.sample((4, 8, 16), chance.randint(1, 3)))
    memory = chance.choice((2, 4, 8))
    return [
        KindOfMachine(
            name=f"size{cpu:02d}",
            declared=amounts(cpu * 1000, cpu * memory * GIB),
            reserved=amounts(chance.choice((100, 300, 500)), chance.choice((1, 2)) * GIB // 2),
            price=0.05 * cpu,
            slots=slots,
        )
        for cpu in sizes
    ]


def daemons(chance: Random) -> tuple[Resources, ...]:
    return tuple(
        amounts(chance.choice((50, 100, 200)), GIB // chance.choice((4, 8)))
        for _ in range(chance.choice((0, 1, 2)))
    )


def workloads(
    chance: Random,
    kinds: list[KindOfMachine],
    profiles: int = 1,
    count: tuple[int, int] = (1, 5),
) -> list[Workload]:
    """Shapes from a twentieth to most of the largest machine, with room for daemons."""
    largest = kinds[-1].declared
    classes = [Profile.of(priority=100 * n) for n in range(1, profiles + 1)]
    return [
        Workload(
            f"w{n}",
            chance.choice(classes),
            amounts(
                max(50, round(largest["cpu"] * chance.uniform(0.03, 0.75) / 50) * 50),
                max(GIB // 8, round(largest["memory"] * chance.uniform(0.02, 0.7) / GIB) * GIB),
            ),
        )
        for n in range(chance.randint(*count))
    ]


def tiny(workload: Workload) -> Workload:
    return replace(workload, name=f"{workload.name}-tiny", requests=amounts(10, GIB // 128))


def exclusive(workload: Workload) -> Workload:
    small = workload.requests
    requests = Resources(tuple((n, max(1, a // 4)) for n, a in small.amounts))
    return replace(workload, name=f"{workload.name}-alone", requests=requests, exclusive=True)


def hopeless(workload: Workload) -> Workload:
    return replace(workload, name=f"{workload.name}-hopeless", hopeless=True)


def loop_of(seed: int, kinds: list[KindOfMachine], chance: Random, clusters: int = 1) -> Loop:
    shard = Shard(kinds, chance)
    policy = Policy.FIRST_FIT if seed % 2 else Policy.LEAST_ALLOCATED
    members = [
        Cluster(f"c{n}", shard, policy, chance, daemons=daemons(chance)) for n in range(clusters)
    ]
    return Loop(shard, members)


def scale(cluster: Cluster, counts: dict[Workload, int]) -> Callable[[Instant], None]:
    """Sets how many pods some workloads have."""

    def happens(at: Instant) -> None:
        for workload, count in counts.items():
            cluster.scale(workload, count, at)

    return happens


# -- what would be best ------------------------------------------------------------------------


def room_of(cluster: Cluster, kind: KindOfMachine) -> NodeRoom:
    """An empty machine of the kind, as pods find it."""
    free = kind.declared.less(kind.reserved)
    for requests in cluster.daemons:
        free = free.less(requests)
    return NodeRoom(kind.name, free, 110 - len(cluster.daemons), {})


def helped_by_a_machine(cluster: Cluster, pod: PodView) -> bool:
    """Whether an empty machine of some kind would take it."""
    if cluster.workload_of[pod.uid].hopeless:
        return False
    return any(room_of(cluster, kind).holds(pod.requests) for kind in cluster.shard.kinds)


def best_cost(cluster: Cluster) -> float:
    """First fit decreasing on the cheapest kind that takes the largest pod.

    Each Need on machines of its own, or all pods together, whichever is cheaper. Pods that no kind
    takes are left out.
    """
    by_need: dict[object, list[PodView]] = {}
    for pod in cluster.pods():
        if any(room_of(cluster, kind).holds(pod.requests) for kind in cluster.shard.kinds):
            by_need.setdefault(pod.need, []).append(pod)
    apart = sum(_packed_cost(cluster, pods) for pods in by_need.values())
    together = _packed_cost(cluster, [pod for pods in by_need.values() for pod in pods])
    return min(apart, together)


def _packed_cost(cluster: Cluster, pods: list[PodView]) -> float:
    largest = Resources()
    for pod in pods:
        largest = largest.most(pod.requests)
    fitting = [k for k in cluster.shard.kinds if room_of(cluster, k).holds(largest)]
    if not fitting:
        return float("inf")
    kind = min(fitting, key=lambda k: k.price)
    return kind.price * machines_for(pods, room_of(cluster, kind))
