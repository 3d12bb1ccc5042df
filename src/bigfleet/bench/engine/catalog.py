"""The two catalogs of archetypes the shapes are drawn from.

`CAT6` is the small bench catalog: everything is picked by running index, nothing is drawn.
`REALISTIC` is the catalog of the uber ladder: sizes and replica counts are drawn by weight.
"""

from dataclasses import dataclass
from functools import cache

from bigfleet.model.penalties import Bucket, bucket_of_dollars
from bigfleet.model.profiles import Spread, WhenUnsatisfiable
from bigfleet.model.requirements import (
    INSTANCE_TYPE_KEY,
    RACK_KEY,
    ZONE_KEY,
    Operator,
    Requirement,
)
from bigfleet.model.resources import Resources

ZONES = ("zone-a", "zone-b", "zone-c")
FIVE_TYPES = ("a3-highgpu-8g", "m6i.large", "c6i.4xlarge", "n2-standard-32", "r6i.xlarge")

SAME_RACK = Requirement.of(RACK_KEY, Operator.SAME)
#: The bucket of $8,192, on both axes of every shape that does not say otherwise.
B8192: Bucket = bucket_of_dollars(8192)


@cache
def amounts(cpu: str = "", memory: str = "", gpu: int = 0) -> Resources:
    """A resource vector, one record per distinct vector."""
    texts = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": str(gpu) if gpu else ""}
    return Resources.parse({name: text for name, text in texts.items() if text})


@cache
def of_types(*types: str) -> Requirement:
    return Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, types)


@cache
def of_zones(*zones: str) -> Requirement:
    return Requirement.of(ZONE_KEY, Operator.IN, zones)


@dataclass(frozen=True, slots=True)
class Archetype:
    """One kind of workload of `CAT6`; `weight` is its share of a hundred."""

    name: str
    weight: int
    types: tuple[str, ...]
    sizes: tuple[Resources, ...]
    priorities: tuple[int, ...]
    zones: tuple[str, ...] = ZONES
    same_rack: bool = False


CAT6 = (
    Archetype(
        "gpu-training",
        5,
        ("a3-highgpu-8g",),
        (amounts(gpu=8), amounts(gpu=16)),
        (1000,),
        same_rack=True,
    ),
    Archetype(
        "gpu-inference",
        15,
        ("a3-highgpu-1g", "a2-highgpu-1g"),
        (amounts(gpu=1), amounts(gpu=2)),
        (100, 1000),
    ),
    Archetype(
        "cpu-batch",
        35,
        ("c6i.4xlarge", "c6i.8xlarge", "n2-standard-32"),
        (amounts("4", "8Gi"), amounts("8", "16Gi"), amounts("16", "32Gi"), amounts("32", "64Gi")),
        (100,),
    ),
    Archetype(
        "cpu-service",
        30,
        ("m6i.large", "m6i.xlarge", "m6i.2xlarge"),
        (amounts("2", "8Gi"), amounts("4", "16Gi"), amounts("8", "32Gi"), amounts("16", "64Gi")),
        (1000,),
    ),
    Archetype(
        "memory-db",
        10,
        ("r6i.xlarge", "r6i.2xlarge"),
        (amounts("4", "32Gi"), amounts("4", "64Gi"), amounts("8", "128Gi")),
        (1000,),
        zones=ZONES[:2],
        same_rack=True,
    ),
    Archetype(
        "critical-realtime",
        5,
        ("c6i.4xlarge", "m6i.2xlarge"),
        (amounts("8", "16Gi"), amounts("16", "32Gi")),
        (1_000_000,),
    ),
)

_CAT6_BY_INDEX = tuple(archetype for archetype in CAT6 for _ in range(archetype.weight))


def cat6_at(running_index: int) -> Archetype:
    """The archetype at `running_index`, walking the weights."""
    return _CAT6_BY_INDEX[running_index % len(_CAT6_BY_INDEX)]


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that must share one value of `key`; sizes are uniform between the two bounds."""

    smallest: int
    largest: int
    key: str = RACK_KEY

    @property
    def mean(self) -> float:
        return (self.smallest + self.largest) / 2


@dataclass(frozen=True, slots=True)
class DrawnArchetype:
    """One row of the realistic catalog."""

    name: str
    weight: int
    pods_per_node: int
    types: tuple[str, ...]
    #: (one pod's resources, weight)
    sizes: tuple[tuple[Resources, int], ...]
    priority: int
    interruption_dollars: float
    reclamation_dollars: float
    gang: Gang | None = None
    spread_probability: float = 0.0
    spread: Spread | None = None
    #: Takes part in bursts only: neither in the seed nor in the standing demand.
    burst_only: bool = False


_ANY = WhenUnsatisfiable.SCHEDULE_ANYWAY
_DO_NOT = WhenUnsatisfiable.DO_NOT_SCHEDULE
_GPU_NODE = amounts("64", "256Gi", 8)

REALISTIC = (
    DrawnArchetype(
        "tiny-stateless",
        16073,
        100,
        ("m6i.large", "m6i.xlarge"),
        ((amounts("400m", "500Mi"), 60), (amounts("300m", "384Mi"), 40)),
        100,
        32,
        64,
        spread_probability=0.45,
        spread=Spread(ZONE_KEY, 2, _ANY),
    ),
    DrawnArchetype(
        "cpu-service",
        2755,
        100,
        ("m6i.xlarge", "m6i.2xlarge"),
        ((amounts("2200m", "8500Mi"), 70), (amounts("4200m", "16500Mi"), 30)),
        1000,
        1024,
        8192,
        spread_probability=0.75,
        spread=Spread(ZONE_KEY, 1, _DO_NOT),
    ),
    DrawnArchetype(
        "cpu-batch",
        1378,
        100,
        ("c6i.4xlarge", "c6i.8xlarge", "n2-standard-32"),
        ((amounts("4", "8Gi"), 60), (amounts("8", "16Gi"), 40)),
        100,
        64,
        256,
        spread_probability=0.15,
        spread=Spread(ZONE_KEY, 2, _ANY),
    ),
    DrawnArchetype(
        "memory-cache",
        2000,
        100,
        ("r6i.xlarge", "r6i.2xlarge"),
        ((amounts("2", "16Gi"), 1),),
        1000,
        4096,
        16384,
        gang=Gang(3, 5),
    ),
    DrawnArchetype(
        "stateful-db",
        2000,
        100,
        ("r6i.2xlarge", "r6i.4xlarge"),
        ((amounts("8", "32Gi"), 1),),
        1000,
        8192,
        32768,
        gang=Gang(3, 5),
    ),
    DrawnArchetype(
        "gpu-inference",
        100,
        8,
        ("a3-highgpu-8g", "a2-highgpu-8g"),
        ((amounts("8", "32Gi", 1), 1),),
        1000,
        4096,
        8192,
        spread_probability=0.5,
        spread=Spread(ZONE_KEY, 2, _ANY),
    ),
    DrawnArchetype(
        "gpu-training-small",
        32,
        1,
        ("a3-highgpu-8g",),
        ((_GPU_NODE, 1),),
        1000,
        16384,
        32768,
        gang=Gang(2, 8),
    ),
    DrawnArchetype(
        "gpu-training-medium",
        18,
        1,
        ("a3-highgpu-8g",),
        ((_GPU_NODE, 1),),
        1000,
        32768,
        65536,
        gang=Gang(8, 16),
    ),
    DrawnArchetype(
        "gpu-training-large",
        1,
        1,
        ("a3-highgpu-8g",),
        ((amounts("128", "512Gi", 8), 1),),
        1000,
        65536,
        131072,
        gang=Gang(64, 256, ZONE_KEY),
        burst_only=True,
    ),
    DrawnArchetype(
        "critical-realtime",
        230,
        100,
        ("c6i.4xlarge", "m6i.2xlarge"),
        ((amounts("4", "8Gi"), 1),),
        1_000_000,
        65536,
        65536,
        spread_probability=1.0,
        spread=Spread(ZONE_KEY, 1, _DO_NOT),
    ),
)
STANDING = tuple(archetype for archetype in REALISTIC if not archetype.burst_only)
