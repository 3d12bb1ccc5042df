"""What the sim sells: the catalog of instance types, and offering files with how each behaves.

Catalog price = 0.0275 per vCPU-hour + 0.005 per GiB-hour + accelerator. Allocatable takes half a
vCPU and an eighth of the memory for the node's own use.

An entry of an offering file is the JSON object every provider reads (instance_type, zone,
capacity_type, count, resources, labels; region, price, interruption_probability, id_prefix) with an
optional `sim` object: region, racks, latency, stock, quota, walk, hazard, failure_rate, crash_rate.
All problems of a file are reported together, with their paths.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import CapacityType
from bigfleet.model.quantities import quantity_text
from bigfleet.provider.blocks.offerings import CAPACITY_NAMES
from bigfleet.provider.sim.world.distributions import (
    BadDistribution,
    Distribution,
    ReadLines,
    distribution_of,
)
from bigfleet.provider.sim.world.market import (
    MEAN_SHARE,
    BadStock,
    Fixed,
    Stock,
    limit_of,
    stock_of,
)

PER_VCPU_HOUR = 0.0275
PER_GIB_HOUR = 0.005
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class InstanceShape:
    name: str
    vcpus: int
    gib: int
    gpus: int = 0
    accelerator_per_hour: float = 0.0

    @property
    def price_per_hour(self) -> float:
        price = self.vcpus * PER_VCPU_HOUR + self.gib * PER_GIB_HOUR + self.accelerator_per_hour
        return round(price, 4)

    @property
    def resources(self) -> Mapping[str, str]:
        return self._texts(self.vcpus * 1000, self.gib * 1024)

    @property
    def allocatable(self) -> Mapping[str, str]:
        return self._texts(self.vcpus * 1000 - 500, self.gib * 1024 * 7 // 8)

    def _texts(self, millicpus: int, mebibytes: int) -> Mapping[str, str]:
        texts = {
            "cpu": quantity_text("cpu", millicpus),
            "memory": quantity_text("memory", mebibytes * _MIB),
        }
        if self.gpus:
            texts["nvidia.com/gpu"] = str(self.gpus)
        return MappingProxyType(texts)


_SHAPES = (
    *(InstanceShape(f"std-{n}", n, 4 * n) for n in (2, 4, 8, 16, 32, 64)),
    *(InstanceShape(f"cpu-{n}", n, 2 * n) for n in (8, 32)),
    *(InstanceShape(f"mem-{n}", n, 8 * n) for n in (8, 32)),
    InstanceShape("gpu-a10-1", 8, 32, gpus=1, accelerator_per_hour=1.00),
    InstanceShape("gpu-h100-8", 192, 2048, gpus=8, accelerator_per_hour=8 * 4.00),
)
#: Names of existing fixtures for the shapes above; the one without a twin is its family's size.
_ALIASES = {
    "m6i.large": "std-2",
    "m6i.2xlarge": "std-8",
    "g5.xlarge": "gpu-a10-1",
    "a3-highgpu-8g": "gpu-h100-8",
}
_SOLD = {shape.name: shape for shape in (*_SHAPES, InstanceShape("c7g.xlarge", 4, 8))}
CATALOG: Mapping[str, InstanceShape] = MappingProxyType(
    _SOLD | {alias: replace(_SOLD[name], name=alias) for alias, name in _ALIASES.items()}
)


OWNED = (CapacityType.BARE_METAL, CapacityType.RESERVED)
STEPS = ("create", "configure", "ready", "drain", "delete", "describe")
KINDS = ("create", "configure", "drain", "delete")
DEFAULT_REGION = "sim-1"
_DEFAULT_PROBABILITY = {CapacityType.ON_DEMAND: 0.05, CapacityType.SPOT: 0.30}
_ENTRY_KEYS = {
    "instance_type", "zone", "capacity_type", "count", "resources", "allocatable", "labels",
    "region", "price", "interruption_probability", "id_prefix", "sim",
}  # fmt: skip
_SIM_KEYS = {
    "region", "racks", "latency", "stock", "quota", "walk", "hazard", "failure_rate", "crash_rate",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SimOffering:
    instance_type: str
    zone: str
    capacity_type: CapacityType
    count: int
    region: str
    price_per_hour: float
    catalog_price: float
    interruption_probability: float
    resources: Mapping[str, str]
    allocatable: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    id_prefix: str = ""
    racks: int = 0
    latency: Mapping[str, Distribution] = field(default_factory=dict)
    stock: Stock = Fixed()
    #: Hosts of the whole region; None: this offering says nothing about it.
    quota: float | None = None
    walk: bool = True
    #: The hourly chance of a real interruption; None: what the offering reports.
    hazard: float | None = None
    failure_rate: Mapping[str, float] = field(default_factory=dict)
    crash_rate: float = 0.0
    #: How many of its slots serve a cluster from the start, and how many clusters share them.
    bound: int = 0
    clusters: int = 1
    #: Of its slots, in their order; empty: they are numbered.
    ids: tuple[str, ...] = ()

    @property
    def owned(self) -> bool:
        """Bare metal and reservations are there from the start and never given back."""
        return self.capacity_type in OWNED


def capacity_of(text: str) -> CapacityType | None:
    """By any of its spellings: on_demand, OnDemand, ON-DEMAND."""
    plain = text.lower().replace("_", "").replace("-", "")
    return next((c for name, c in CAPACITY_NAMES.items() if name.replace("_", "") == plain), None)


def offering(
    instance_type: str,
    capacity_type: CapacityType,
    zone: str,
    count: int,
    *,
    region: str = DEFAULT_REGION,
    price: float | None = None,
    probability: float | None = None,
    **more: Any,
) -> SimOffering:
    """One offering of a catalog type, with the price and the risk its capacity type has."""
    shape = CATALOG[instance_type]
    return SimOffering(
        instance_type,
        zone,
        capacity_type,
        count,
        region,
        _price(capacity_type, shape.price_per_hour) if price is None else price,
        shape.price_per_hour,
        _DEFAULT_PROBABILITY.get(capacity_type, 0.0) if probability is None else probability,
        # Plain dictionaries, shared by all slots: protobuf is twice as fast with them.
        dict(shape.resources),
        dict(shape.allocatable),
        **more,
    )


def _price(capacity: CapacityType, catalog: float) -> float:
    if capacity in OWNED:
        return 0.0
    return catalog * MEAN_SHARE if capacity is CapacityType.SPOT else catalog


def offerings_of(entries: object, read_lines: ReadLines | None = None) -> list[SimOffering]:
    """Every offering of a parsed file; raises BadInput with all that is wrong with it."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise BadInput([Problem("", "an offering file is a list of offerings")])
    problems: list[Problem] = []
    found: list[SimOffering] = []
    for number, entry in enumerate(entries):
        reader = _Reader(f"[{number}]", read_lines, problems)
        found.extend(reader.offerings(entry))
    if problems:
        raise BadInput(problems)
    return found


@dataclass(slots=True)
class _Reader:
    path: str
    read_lines: ReadLines | None
    problems: list[Problem]

    def wrong(self, key: str, text: str) -> None:
        self.problems.append(Problem(f"{self.path}.{key}" if key else self.path, text))

    def offerings(self, entry: object) -> Iterable[SimOffering]:
        if not isinstance(entry, Mapping):
            self.wrong("", "an offering is an object")
            return
        sim = entry.get("sim", {})
        if not isinstance(sim, Mapping):
            self.wrong("sim", "is an object")
            sim = {}
        self._refuse_unknown(entry, _ENTRY_KEYS, "")
        self._refuse_unknown(sim, _SIM_KEYS, "sim.")
        before = len(self.problems)
        common = self._common(entry, sim)
        region = str(entry.get("region") or sim.get("region") or DEFAULT_REGION)
        zones = [str(entry["zone"])] if entry.get("zone") else [f"{region}{z}" for z in "abc"]
        count = self._count(entry)
        if len(self.problems) > before:
            return
        for n, zone in enumerate(zones):
            share = count // len(zones) + (n < count % len(zones))
            yield SimOffering(zone=zone, count=share, region=region, **common)

    def _refuse_unknown(self, given: Mapping[str, object], known: set[str], prefix: str) -> None:
        for key in sorted(set(given) - known):
            self.wrong(f"{prefix}{key}", f"is not a key; known are {', '.join(sorted(known))}")

    def _common(self, entry: Mapping[str, Any], sim: Mapping[str, Any]) -> dict[str, Any]:
        name = str(entry.get("instance_type", ""))
        shape = CATALOG.get(name)
        capacity = capacity_of(str(entry.get("capacity_type", "")))
        if capacity is None:
            self.wrong("capacity_type", f"is one of {', '.join(CAPACITY_NAMES)}")
            capacity = CapacityType.ON_DEMAND
        resources = entry.get("resources") or (shape.resources if shape else {})
        if not name or not resources:
            self.wrong("instance_type", f"{name!r} is not in the catalog; give its resources too")
        catalog = shape.price_per_hour if shape else 0.0
        given = self._number(entry, "price", _price(capacity, catalog))
        probability = self._number(
            entry, "interruption_probability", _DEFAULT_PROBABILITY.get(capacity, 0.0)
        )
        if capacity is CapacityType.SPOT and probability <= 0:
            self.wrong("interruption_probability", "spot is always at risk; write more than 0")
        return {
            "instance_type": name,
            "capacity_type": capacity,
            "price_per_hour": given,
            "catalog_price": catalog or given / MEAN_SHARE,
            "interruption_probability": probability,
            "resources": dict(resources),
            "allocatable": dict(entry.get("allocatable") or (shape.allocatable if shape else {})),
            "labels": {str(k): str(v) for k, v in (entry.get("labels") or {}).items()},
            "id_prefix": str(entry.get("id_prefix", "")),
            **self._behaviour(sim),
        }

    def _behaviour(self, sim: Mapping[str, Any]) -> dict[str, Any]:
        rates = sim.get("failure_rate", {})
        if not isinstance(rates, Mapping):
            rates = {"create": rates, "configure": rates}
        found: dict[str, Any] = {
            "racks": int(self._number(sim, "racks", 0, "sim.")),
            "latency": self._latency(sim.get("latency", {})),
            "walk": bool(sim.get("walk", True)),
            "hazard": self._number(sim, "hazard", -1.0, "sim."),
            "failure_rate": {str(k): self._number(rates, k, 0, "sim.failure_rate.") for k in rates},
            "crash_rate": self._number(sim, "crash_rate", 0.0, "sim."),
        }
        if found["hazard"] < 0:
            found["hazard"] = None
        try:
            found["stock"] = stock_of(sim.get("stock", "inf"))
            found["quota"] = limit_of(sim["quota"]) if "quota" in sim else None
        except BadStock as bad:
            self.wrong("sim.stock", str(bad))
        return found

    def _latency(self, given: object) -> dict[str, Distribution]:
        if not isinstance(given, Mapping):
            self.wrong("sim.latency", f"is an object of {', '.join(STEPS)}")
            return {}
        found: dict[str, Distribution] = {}
        for step, text in given.items():
            try:
                found[str(step)] = distribution_of(str(text), self.read_lines)
            except BadDistribution as bad:
                self.wrong(f"sim.latency.{step}", str(bad))
            if step not in STEPS:
                self.wrong(f"sim.latency.{step}", f"is not a step; known are {', '.join(STEPS)}")
        return found

    def _count(self, entry: Mapping[str, Any]) -> int:
        count = entry.get("count", 1)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            self.wrong("count", "is a whole number, zero or more")
            return 0
        return count

    def _number(
        self, given: Mapping[str, Any], key: str, default: float, prefix: str = ""
    ) -> float:
        value = given.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < min(0, default):
            self.wrong(f"{prefix}{key}", f"{value!r} is not a number of zero or more")
            return default
        return float(value)
