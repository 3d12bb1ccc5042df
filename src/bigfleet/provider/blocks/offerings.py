"""What may be bought where: instance types, and the file of offerings with its slots.

Offerings: a file that says what may be bought where, and the slots it stands for.

The format is the one of existing providers: a JSON array of objects with instance_type, zone,
capacity_type, count, resources and labels; region, price, interruption_probability, allocatable and
id_prefix may be added. Every problem of a file is reported, with its place.

Catalog: what an instance type has, and what of it a node can offer.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import CapacityType
from bigfleet.model.quantities import quantity_text
from bigfleet.provider.backend import Instance, OfferingKey

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Reserve:
    """What the node keeps for itself: a fixed part and a share of each."""

    millicpus: int = 500
    cpu_share: float = 0.0
    mebibytes: int = 0
    memory_share: float = 0.125

    def millicpus_left(self, millicpus: int) -> int:
        return max(0, round(millicpus * (1.0 - self.cpu_share)) - self.millicpus)

    def mebibytes_left(self, mebibytes: int) -> int:
        return max(0, int(mebibytes * (1.0 - self.memory_share)) - self.mebibytes)


@dataclass(frozen=True, slots=True)
class InstanceType:
    name: str
    vcpus: float
    memory_mib: int
    gpus: int = 0
    gpu_resource: str = "nvidia.com/gpu"
    arch: str = "amd64"

    @property
    def resources(self) -> dict[str, str]:
        return self._texts(round(self.vcpus * 1000), self.memory_mib)

    def allocatable(self, reserve: Reserve) -> dict[str, str]:
        return self._texts(
            reserve.millicpus_left(round(self.vcpus * 1000)),
            reserve.mebibytes_left(self.memory_mib),
        )

    def _texts(self, millicpus: int, mebibytes: int) -> dict[str, str]:
        texts = {
            "cpu": quantity_text("cpu", millicpus),
            "memory": quantity_text("memory", mebibytes * _MIB),
        }
        if self.gpus:
            texts[self.gpu_resource] = str(self.gpus)
        return texts


class Catalog(Mapping[str, InstanceType]):
    def __init__(self, types: Iterable[InstanceType], reserve: Reserve | None = None) -> None:
        self._types = {kind.name: kind for kind in types}
        self.reserve = reserve or Reserve()

    @classmethod
    def load(cls, path: Path | str, reserve: Reserve | None = None) -> "Catalog":
        """A JSON array of {name, vcpus, memory_mib, gpus, gpu_resource, arch}."""
        try:
            types = msgspec.json.decode(Path(path).read_bytes(), type=list[InstanceType])
        except (OSError, msgspec.DecodeError) as error:
            raise BadInput([Problem(str(path), str(error))]) from None
        return cls(types, reserve)

    def __getitem__(self, name: str) -> InstanceType:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def resources(self, name: str) -> dict[str, str]:
        return self._types[name].resources

    def allocatable(self, name: str) -> dict[str, str]:
        return self._types[name].allocatable(self.reserve)


CAPACITY_NAMES = {
    "bare_metal": CapacityType.BARE_METAL,
    "reserved": CapacityType.RESERVED,
    "on_demand": CapacityType.ON_DEMAND,
    "spot": CapacityType.SPOT,
}
_NAME_OF = {kind: name for name, kind in CAPACITY_NAMES.items()}
#: An unknown type is as risky as the middle of the forecast (prices.py).
_UNKNOWN_SPOT_RISK = 0.125


@dataclass(frozen=True, slots=True)
class Offering:
    instance_type: str
    zone: str
    capacity_type: CapacityType
    count: int
    resources: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    region: str = ""
    #: None: the price book says.
    price: float | None = None
    interruption_probability: float | None = None
    #: Stands for provider, capacity, type and zone in the ids.
    id_prefix: str = ""

    @property
    def key(self) -> OfferingKey:
        return OfferingKey(self.instance_type, self.zone, self.capacity_type)


class _Entry(msgspec.Struct, kw_only=True):
    """As it stands in the file; keys of others, such as `sim`, are none of our business."""

    instance_type: str
    zone: str
    capacity_type: str
    count: int = 1
    resources: dict[str, str] = {}
    allocatable: dict[str, str] = {}
    labels: dict[str, str] = {}
    region: str = ""
    price: float | None = None
    interruption_probability: float | None = None
    id_prefix: str = ""


class Offerings(Sequence[Offering]):
    def __init__(self, offerings: Iterable[Offering]) -> None:
        self._offerings = tuple(offerings)

    @classmethod
    def load(cls, path: Path | str) -> "Offerings":
        try:
            entries = msgspec.json.decode(Path(path).read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise BadInput([Problem(str(path), str(error))]) from None
        return cls.of(entries, str(path))

    @classmethod
    def of(cls, entries: object, name: str = "offerings") -> "Offerings":
        """From the parsed file."""
        if not isinstance(entries, list):
            raise BadInput([Problem(name, "an offering file is an array of objects")])
        problems: list[Problem] = []
        found: list[Offering] = []
        for number, entry in enumerate(entries):
            try:
                found.append(_offering_of(entry))
            except (msgspec.ValidationError, ValueError) as error:
                problems.append(Problem(f"{name}[{number}]", str(error)))
        if problems:
            raise BadInput(problems)
        return cls(found)

    def __getitem__(self, index: Any) -> Any:
        return self._offerings[index]

    def __len__(self) -> int:
        return len(self._offerings)


def _offering_of(entry: object) -> Offering:
    raw = msgspec.convert(entry, _Entry)
    capacity_type = CAPACITY_NAMES.get(raw.capacity_type)
    if capacity_type is None:
        raise ValueError(f"capacity_type is one of {', '.join(CAPACITY_NAMES)}")
    if not raw.instance_type or not raw.zone:
        raise ValueError("instance_type and zone are needed")
    if raw.count < 0:
        raise ValueError("count is zero or more")
    risk = raw.interruption_probability
    if capacity_type is CapacityType.SPOT and risk is not None and risk <= 0:
        raise ValueError("spot is always at risk; interruption_probability is more than 0")
    return Offering(
        raw.instance_type,
        raw.zone,
        capacity_type,
        raw.count,
        raw.resources,
        raw.allocatable,
        raw.labels,
        raw.region,
        raw.price,
        risk,
        raw.id_prefix,
    )


def dns_form(text: str) -> str:
    """Lower case, dots kept, every other run of characters one hyphen, none at an edge."""
    plain = re.sub(r"[^a-z0-9.]+", "-", text.lower())
    return re.sub(r"-*\.[-.]*", ".", plain).strip("-.")


def slot_id(provider: str, offering: Offering, number: int) -> str:
    """`--` stands between the parts and nowhere else, so that it splits them again."""
    if offering.id_prefix:
        return f"{dns_form(offering.id_prefix)}-{number:04d}"
    parts = (
        provider,
        _NAME_OF[offering.capacity_type],
        offering.instance_type,
        offering.zone,
    )
    return "--".join([*map(dns_form, parts), f"{number:03d}"])


def slots(provider: str, offerings: Iterable[Offering]) -> Iterator[tuple[Offering, str]]:
    """Every slot as its offering and its id; equal offerings go on counting, others collide."""
    taken: dict[str, OfferingKey] = {}
    counted: dict[OfferingKey | str, int] = {}
    for offering in offerings:
        series = offering.id_prefix or offering.key
        start = counted.get(series, 0)
        counted[series] = start + offering.count
        for number in range(start, start + offering.count):
            machine_id = slot_id(provider, offering, number)
            if machine_id in taken:
                raise _collision(machine_id, offering.key, taken[machine_id])
            taken[machine_id] = offering.key
            yield offering, machine_id


def _collision(machine_id: str, offering: OfferingKey, other: OfferingKey) -> BadInput:
    text = (
        f"the slot {machine_id} is also one of {other.instance_type} in {other.zone}; "
        "give one of them an id_prefix"
    )
    return BadInput([Problem(f"{offering.instance_type} in {offering.zone}", text)])


def instance_of(offering: Offering, machine_id: str) -> Instance:
    """The slot as it is described until it is bought."""
    spot = offering.capacity_type is CapacityType.SPOT
    risk = offering.interruption_probability
    return Instance(
        machine_id,
        offering.instance_type,
        offering.zone,
        offering.capacity_type,
        price_per_hour=offering.price or 0.0,
        interruption_probability=(_UNKNOWN_SPOT_RISK if spot else 0.0) if risk is None else risk,
        resources=offering.resources,
        allocatable=offering.allocatable,
        labels=offering.labels,
        region=offering.region,
    )
