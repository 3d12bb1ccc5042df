"""The few words generated fleets are made of: so few that everything collides with everything."""

from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Spread, WhenUnsatisfiable
from bigfleet.model.requirements import (
    HOSTNAME_KEY,
    INSTANCE_TYPE_KEY,
    RACK_KEY,
    ZONE_KEY,
    Operator,
    Requirement,
)
from bigfleet.model.resources import Resources

NOW = 1_700_000_000 * SECOND
GPU = "nvidia.com/gpu"
ARCH_KEY = "kubernetes.io/arch"

CLUSTERS = ("alpha", "beta", "delta", "gamma")
GROUPS = ("", "g1", "g2", "rack\0g3", "g4", "g5")
LOWEST, HIGHEST = -(2**31), 2**31 - 1
PRIORITIES = (100, 1_000, 500_000, 1_000_000, 0, LOWEST, HIGHEST)
BUCKETS = (1, 3, 27, 0, 2, 10)
PRICES = (1.0, 1.0, 2.0, 0.0, 6.5)
PROBABILITIES = (0.0, 0.1, 0.5, 1.0)
CAPACITY_TYPES = (
    CapacityType.ON_DEMAND,
    CapacityType.SPOT,
    CapacityType.BARE_METAL,
    CapacityType.RESERVED,
    CapacityType.UNSPECIFIED,
)


def shape(cpu: int = 0, gibibytes: int = 0, gpu: int = 0) -> Resources:
    amounts = {"cpu": cpu * 1000, "memory": gibibytes << 30, GPU: gpu}
    return Resources.of({name: amount for name, amount in amounts.items() if amount})


UNIT = shape(cpu=4, gibibytes=16)
CAPACITIES = (
    UNIT,
    shape(cpu=8, gibibytes=32),
    shape(cpu=4, gibibytes=32),
    shape(cpu=16, gibibytes=64, gpu=8),
    shape(cpu=4),
    shape(gpu=1),
    Resources(),
    Resources.of({"cpu": 0, "memory": 16 << 30}),
)
MIN_UNITS = (
    UNIT,
    Resources(),
    shape(cpu=1),
    shape(cpu=8),
    shape(cpu=4, gibibytes=8),
    shape(gpu=1),
    Resources.of({"cpu": 0}),
)
ONE_GANG_UNITS = (UNIT, shape(cpu=2, gibibytes=8), shape(cpu=4, gibibytes=8), shape(gpu=1))

LABELLED_RACKS = ("r1", "r2", "r3")
#: A label map per rack or oddity; None of the odd ones is a domain of the rack key.
LABELS: tuple[dict[str, str], ...] = (
    *({RACK_KEY: rack} for rack in LABELLED_RACKS),
    {},
    {RACK_KEY: ""},
    {RACK_KEY: "r1", ZONE_KEY: "b"},
    {ZONE_KEY: "a"},
    {RACK_KEY: "r2", ARCH_KEY: "arm64"},
    {RACK_KEY: "r3", INSTANCE_TYPE_KEY: "m5", ARCH_KEY: ""},
)
INSTANCE_TYPES = ("m5", "r6", "")
ZONES = ("a", "b", "")

PLAIN_REQUIREMENTS: tuple[tuple[Requirement, ...], ...] = (
    (),
    (Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["m5"]),),
    (Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["r6", "m5"]),),
    (Requirement.of(INSTANCE_TYPE_KEY, Operator.NOT_IN, ["m5"]),),
    (Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, []),),
    (Requirement.of(ZONE_KEY, Operator.IN, ["a"]),),
    (Requirement.of(RACK_KEY, Operator.EXISTS),),
    (Requirement.of(RACK_KEY, Operator.DOES_NOT_EXIST),),
    (Requirement.of(RACK_KEY, Operator.NOT_IN, ["r1"]),),
    (Requirement.of(ARCH_KEY, Operator.IN, ["arm64", ""]),),
    (Requirement.of(ARCH_KEY, Operator.UNSPECIFIED, ["arm64"]),),
    (
        Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["m5"]),
        Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["m5", "r6"]),
        Requirement.of(ZONE_KEY, Operator.NOT_IN, ["b"]),
    ),
)
PINS: tuple[tuple[Requirement, ...], ...] = PLAIN_REQUIREMENTS[2:0:-1]
SAMES: tuple[tuple[Requirement, ...], ...] = (
    (Requirement.of(RACK_KEY, Operator.SAME),),
    (Requirement.of(ZONE_KEY, Operator.SAME),),
    (Requirement.of(RACK_KEY, Operator.SAME, ["r1", "r2"]),),
    (Requirement.of(INSTANCE_TYPE_KEY, Operator.SAME),),
    (
        Requirement.of(RACK_KEY, Operator.SAME, ["r3"]),
        Requirement.of(ZONE_KEY, Operator.SAME),
    ),
)
SPREADS: tuple[tuple[Spread, ...], ...] = (
    (Spread(ZONE_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE),),
    (Spread(RACK_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE),),
    (Spread(RACK_KEY, 2, WhenUnsatisfiable.DO_NOT_SCHEDULE),),
    (Spread(RACK_KEY, 0, WhenUnsatisfiable.DO_NOT_SCHEDULE),),
    (
        Spread(RACK_KEY, 1, WhenUnsatisfiable.SCHEDULE_ANYWAY),
        Spread(ZONE_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE),
    ),
    (Spread(ZONE_KEY, 1, WhenUnsatisfiable.SCHEDULE_ANYWAY),),
)

#: Several machines of one name cannot be, but nothing may depend on that.
NODE_LABELS: tuple[dict[str, str], ...] = (
    {HOSTNAME_KEY: "node-1"},
    {HOSTNAME_KEY: "node-2", RACK_KEY: "r1"},
    {HOSTNAME_KEY: "node-3", RACK_KEY: "r1"},
    {},
    {RACK_KEY: "r2"},
    {HOSTNAME_KEY: "", RACK_KEY: "r2"},
    {HOSTNAME_KEY: "node-4"},
)
NODE_REQUIREMENTS: tuple[tuple[Requirement, ...], ...] = (
    (),
    (Requirement.of(HOSTNAME_KEY, Operator.IN, ["node-1", "node-9"]),),
    (Requirement.of(HOSTNAME_KEY, Operator.NOT_IN, ["node-2", ""]),),
    (Requirement.of(HOSTNAME_KEY, Operator.EXISTS),),
    (Requirement.of(HOSTNAME_KEY, Operator.DOES_NOT_EXIST),),
    (
        Requirement.of(HOSTNAME_KEY, Operator.NOT_IN, ["node-1"]),
        Requirement.of(RACK_KEY, Operator.IN, ["r1"]),
    ),
)
NODE_SAMES: tuple[tuple[Requirement, ...], ...] = (
    (Requirement.of(RACK_KEY, Operator.SAME),),
    (Requirement.of(HOSTNAME_KEY, Operator.SAME),),
    (Requirement.of(HOSTNAME_KEY, Operator.SAME, ["node-2", "node-3"]),),
)
NODE_SPREADS: tuple[tuple[Spread, ...], ...] = (
    (Spread(RACK_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE),),
    (Spread(HOSTNAME_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE),),
    (Spread(HOSTNAME_KEY, 2, WhenUnsatisfiable.DO_NOT_SCHEDULE),),
)

HOSTLESS = (MachineState.SPECULATIVE, MachineState.CREATING)
BOUND = (MachineState.CONFIGURED, MachineState.CONFIGURING, MachineState.DRAINING)
