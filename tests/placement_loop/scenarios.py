"""What happens to a cluster in a closed loop; each scenario is a whole run made from a seed."""

from collections.abc import Callable
from random import Random

from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.profiles import Profile
from tests.placement_loop.cluster import Cluster, Workload
from tests.placement_loop.loop import START, Loop
from tests.placement_loop.mixes import (
    GIB,
    amounts,
    catalogue,
    exclusive,
    hopeless,
    loop_of,
    scale,
    tiny,
    workloads,
)
from tests.placement_loop.shard import KindOfMachine

#: A probe is made after 30 minutes and, if it fails, 1, 2 and 4 hours later: none falls into the
#: last quarter, unless a margin is still being changed.
MINUTES = 200.0
#: A margin that demand has left, or that new machines have made needless, gives one machine back
#: each half an hour: in 182 runs the last one went after four hours, and no later try fell into the
#: quarter after five.
GIVE_BACK_MINUTES = 400.0
#: Fruitless tries end after about 5, 15, 35, 75, 155 and 275 minutes.
FRUITLESS_MINUTES = 255.0


class Setting:
    """A cluster with some workloads, and chance to go on with."""

    def __init__(self, seed: int, *, profiles: int = 2, count: tuple[int, int] = (1, 5)) -> None:
        self.chance = Random(seed)
        self.kinds = catalogue(self.chance)
        self.loop = loop_of(seed, self.kinds, self.chance)
        self.cluster = self.loop.clusters[0]
        classes = self.chance.choice((1, 1, profiles))
        self.workloads = workloads(self.chance, self.kinds, profiles=classes, count=count)

    def counts(self, least: int, most: int) -> dict[Workload, int]:
        return {w: self.chance.randint(least, most) for w in self.workloads}

    def at(self, minutes: float, counts: dict[Workload, int]) -> None:
        self.loop.plan(minutes, scale(self.cluster, counts))

    def ran(self, minutes: float = MINUTES) -> Loop:
        self.loop.run(minutes)
        return self.loop


def steady(seed: int) -> Loop:
    setting = Setting(seed)
    setting.at(0, setting.counts(1, 25))
    return setting.ran()


def shrink(seed: int) -> Loop:
    setting = Setting(seed)
    setting.at(0, setting.counts(8, 25))
    setting.at(15, setting.counts(1, 12))
    return setting.ran(GIVE_BACK_MINUTES)


def growth(seed: int) -> Loop:
    setting = Setting(seed)
    counts = setting.counts(1, 8)
    for step in range(8):
        counts = {w: count + setting.chance.randint(0, 3) for w, count in counts.items()}
        setting.at(4 * step, counts)
    return setting.ran()


def surge(seed: int) -> Loop:
    setting = Setting(seed)
    few = setting.counts(1, 5)
    setting.at(0, few)
    setting.at(10, {w: 5 * count for w, count in few.items()})
    setting.at(25, few)
    return setting.ran()


def flapping(seed: int) -> Loop:
    """As a horizontal autoscaler does."""
    setting = Setting(seed)
    low = setting.counts(2, 10)
    high = {w: count + setting.chance.randint(1, 10) for w, count in low.items()}
    for step in range(8):
        setting.at(6 * step, high if step % 2 else low)
    return setting.ran()


def tiny_and_exclusive(seed: int) -> Loop:
    setting = Setting(seed, profiles=1, count=(1, 3))
    counts = setting.counts(3, 12)
    first = setting.workloads[0]
    counts[tiny(first)] = setting.chance.randint(50, 300)
    counts[exclusive(first)] = setting.chance.randint(2, 8)
    setting.at(0, counts)
    return setting.ran()


def heavy_daemons(seed: int) -> Loop:
    setting = Setting(seed)
    smallest = setting.kinds[0].declared
    setting.cluster.daemons = (amounts(smallest["cpu"] // 4, smallest["memory"] // 8),)
    setting.at(0, setting.counts(2, 20))
    return setting.ran()


def half_lost(seed: int) -> Loop:
    setting = Setting(seed)
    setting.at(0, setting.counts(3, 25))

    def lose(at: Instant) -> None:
        shard, chance = setting.loop.shard, setting.chance
        there = shard.of_cluster(setting.cluster.name)
        names = [m.id for m in there if m.state is MachineState.CONFIGURED]
        for name in chance.sample(names, len(names) // 2):
            shard.lose(name, at)

    setting.loop.plan(15, lose)
    return setting.ran(GIVE_BACK_MINUTES)


def no_machine_helps(seed: int) -> Loop:
    setting = Setting(seed, profiles=1)
    counts = setting.counts(3, 25)
    counts[hopeless(setting.workloads[0])] = setting.chance.randint(1, 3)
    setting.at(0, counts)
    return setting.ran(FRUITLESS_MINUTES)


def restarts(seed: int) -> Loop:
    setting = Setting(seed)
    setting.at(0, setting.counts(3, 25))
    for minutes in (2, 4, 9, 30):
        setting.loop.plan(minutes, lambda at: setting.cluster.restart_operator())
    return setting.ran()


def scarcity(seed: int) -> Loop:
    """Three clusters of different priority, and machines for about two of them."""
    chance = Random(seed)
    kinds = [KindOfMachine("size08", amounts(8000, 32 * GIB), amounts(300, GIB), 0.4, 24)]
    loop = loop_of(seed, kinds, chance, clusters=3)
    for rank, cluster in enumerate(loop.clusters):
        profile = Profile.of(priority=1000 * (3 - rank))
        counts = {
            Workload(
                f"w{n}", profile, amounts(chance.randint(4, 50) * 100, chance.randint(1, 14) * GIB)
            ): chance.randint(2, 6)
            for n in range(3)
        }
        loop.plan(chance.choice((0, 5)), scale(cluster, counts))
    loop.run(MINUTES)
    return loop


SCENARIOS: dict[str, Callable[[int], Loop]] = {
    "steady": steady,
    "shrink": shrink,
    "growth": growth,
    "surge": surge,
    "flapping": flapping,
    "tiny and exclusive pods": tiny_and_exclusive,
    "heavy daemons": heavy_daemons,
    "half the Nodes lost": half_lost,
    "pods no machine helps": no_machine_helps,
    "scarcity": scarcity,
    "restarts of the operator": restarts,
}


def is_used_up(cluster: Cluster) -> bool:
    """No machine is left to be bought."""
    return not any(
        m.state in (MachineState.SPECULATIVE, MachineState.IDLE)
        for m in cluster.shard.machines.values()
    )


def last_quarter(loop: Loop) -> Instant:
    return loop.at - (loop.at - START) // 4
