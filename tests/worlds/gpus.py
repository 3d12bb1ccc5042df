"""GPU hosts: one unit is a whole host of eight GPUs. Fixtures GPU and Z of the worked cases."""

from bigfleet.model.fleet import FleetMachine, Marks
from bigfleet.model.machines import Assigned, CapacityType, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import PINNED, Bucket, bucket_of_dollars
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from tests.worlds.fleets import machine

MILLION = 1_000_000
B8192 = bucket_of_dollars(8192)
A3 = Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["a3"])
SAME_ZONE = Requirement.of(ZONE_KEY, Operator.SAME)
STRICT_ZONES = Spread(ZONE_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE)


def gpus(count: int) -> Resources:
    return Resources.of({"gpu": count})


def units(count: int) -> Resources:
    return gpus(8 * count)


UNIT = units(1)


def profile(
    priority: int,
    *,
    same_zone: bool = False,
    spread: tuple[Spread, ...] = (),
    interruption: Bucket = B8192,
) -> Profile:
    """G(p), or S(p) where all machines must share a zone."""
    return Profile.of(
        [A3, SAME_ZONE] if same_zone else [A3],
        spread,
        priority,
        interruption_bucket=interruption,
        reclamation_bucket=PINNED,
    )


def need(cluster: str, wanted: Profile, count: int, group: str = "", parked: bool = False) -> Need:
    """`count` units, each of which needs a host of its own or more."""
    return Need(cluster, wanted, units(count), UNIT, group=group, parked=parked)


def plain(cluster: str, priority: int, count: int, group: str = "") -> Need:
    """Gn(c, p, k)."""
    return need(cluster, profile(priority), count, group)


def gang(cluster: str, priority: int, count: int, group: str = "", parked: bool = False) -> Need:
    return need(cluster, profile(priority, same_zone=True), count, group, parked)


def host(
    name: str,
    state: MachineState = MachineState.IDLE,
    *,
    offered: Resources = UNIT,
    zone: str = "",
    capacity_type: CapacityType = CapacityType.ON_DEMAND,
    price: float = 6.0,
    probability: float = 0.0,
    cluster: str = "",
    stamp: Assigned | None = None,
    marks: Marks | None = None,
    instance_type: str = "a3",
) -> FleetMachine:
    return machine(
        name,
        state,
        offered,
        instance_type=instance_type,
        zone=zone,
        capacity_type=capacity_type,
        price=price,
        probability=probability,
        cluster=cluster,
        stamp=stamp,
        marks=marks,
    )


def idle(count: int, prefix: str = "idle") -> list[FleetMachine]:
    return [host(f"{prefix}-{i:02d}") for i in range(count)]


def slot(name: str, price: float, probability: float = 0.0) -> FleetMachine:
    return host(name, MachineState.SPECULATIVE, price=price, probability=probability)


def bound(
    name: str,
    cluster: str,
    priority: int,
    interruption: float = 5.0,
    reclamation: float = 1.0,
    *,
    zone: str = "",
    instance_type: str = "a3",
) -> FleetMachine:
    """cv(id, cluster, prio, ip, rp): Configured, on demand, $6."""
    stamp = Assigned(priority, interruption, reclamation, cluster)
    return host(
        name,
        MachineState.CONFIGURED,
        cluster=cluster,
        stamp=stamp,
        zone=zone,
        instance_type=instance_type,
    )


def bound_many(count: int, cluster: str, priority: int = 0, zone: str = "") -> list[FleetMachine]:
    return [bound(f"{cluster}-{zone}{i:03d}", cluster, priority, zone=zone) for i in range(count)]


def zoned(zone: str, count: int, price: float = 1.0) -> list[FleetMachine]:
    """Z: idle bare metal in a named zone."""
    return [
        host(f"{zone}-{i}", zone=zone, price=price, capacity_type=CapacityType.BARE_METAL)
        for i in range(count)
    ]
