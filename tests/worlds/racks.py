"""Small hosts, plain and in racks. Fixtures SM, R and NR of the worked cases."""

from collections.abc import Iterable

from bigfleet.model.fleet import FleetMachine, Marks
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import (
    INSTANCE_TYPE_KEY,
    RACK_KEY,
    ZONE_KEY,
    Operator,
    Requirement,
)
from bigfleet.model.resources import Resources
from tests.worlds.fleets import machine

SAME_RACK = Requirement.of(RACK_KEY, Operator.SAME)
SAME_ZONE = Requirement.of(ZONE_KEY, Operator.SAME)
STRICT_RACKS = Spread(RACK_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE)
STRICT_ZONES = Spread(ZONE_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE)


def cpus(count: int, gibibytes: int = 0) -> Resources:
    amounts = {"cpu": count * 1000, "memory": gibibytes << 30}
    return Resources.of({name: amount for name, amount in amounts.items() if amount})


def of_type(*types: str) -> Requirement:
    return Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, types)


def profile(
    priority: int = 100,
    *requirements: Requirement,
    spread: Iterable[Spread] = (),
    types: tuple[str, ...] = ("m5.large",),
    interruption_dollars: float = 1024,
) -> Profile:
    return Profile.of(
        [of_type(*types), *requirements] if types else requirements,
        spread,
        priority,
        bucket_of_dollars(interruption_dollars),
        bucket_of_dollars(1),
    )


def small_need(cluster: str, cpu: int, priority: int = 100, group: str = "") -> Need:
    """SM: any m5.large will do that has a whole CPU."""
    return Need(cluster, profile(priority), cpus(cpu), cpus(1), group=group)


def rack_gang(
    cluster: str, cpu: int, group: str = "", priority: int = 100, parked: bool = False
) -> Need:
    """R: whole hosts of four CPUs, all in one rack."""
    wanted = profile(priority, SAME_RACK)
    return Need(cluster, wanted, cpus(cpu), cpus(4), group=group, parked=parked)


def own_stamp(need: Need) -> Assigned:
    """What a machine bound for this Need carries."""
    return Assigned(
        priority=need.profile.priority,
        cluster=need.cluster,
        need_fingerprint=need.profile.fingerprint,
        group=need.group,
    )


def m5(
    name: str,
    state: MachineState = MachineState.IDLE,
    *,
    rack: str | None = None,
    zone: str = "",
    price: float = 1.0,
    probability: float = 0.0,
    cluster: str = "",
    stamp: Assigned | None = None,
    marks: Marks | None = None,
    instance_type: str = "m5.large",
    offered: Resources | None = None,
) -> FleetMachine:
    return machine(
        name,
        state,
        offered or cpus(4, 16),
        instance_type=instance_type,
        zone=zone,
        labels={} if rack is None else {RACK_KEY: rack},
        price=price,
        probability=probability,
        cluster=cluster,
        stamp=stamp,
        marks=marks,
    )


def in_rack(
    rack: str,
    count: int,
    state: MachineState = MachineState.IDLE,
    *,
    cluster: str = "",
    stamp: Assigned | None = None,
) -> list[FleetMachine]:
    return [
        m5(f"{rack}-{i}", state, rack=rack, cluster=cluster, stamp=stamp)
        for i in range(1, count + 1)
    ]


GANG_POD = cpus(2, 16)
BIG_GANG = profile(100, SAME_RACK, spread=[STRICT_ZONES], types=("r6i.2xlarge",))


def pods_gang(cluster: str, pods: int, group: str, arrival: int = 0) -> Need:
    """NR: a gang of small pods in one rack, its machines spread over zones."""
    return Need(cluster, BIG_GANG, GANG_POD.times(pods), GANG_POD, arrival, group)


def r6i(
    name: str,
    state: MachineState = MachineState.IDLE,
    *,
    cluster: str = "",
    rack: str | None = "rack-1",
    stamp: Assigned | None = None,
    offered: Resources | None = None,
) -> FleetMachine:
    """NR: room for a gang of up to eight pods."""
    return machine(
        name,
        state,
        offered or cpus(16, 128),
        instance_type="r6i.2xlarge",
        zone="zone-a",
        labels={} if rack is None else {RACK_KEY: rack},
        price=1.0,
        cluster=cluster,
        stamp=stamp,
    )
