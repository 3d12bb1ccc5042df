"""Catalog: what an instance type has, and what of it a node can offer."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.quantities import quantity_text

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
