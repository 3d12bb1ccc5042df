"""The instance types the sim sells: shape, allocatable and price, by one formula.

Price = 0.0275 per vCPU-hour + 0.005 per GiB-hour + accelerator. Allocatable takes half a vCPU and
an eighth of the memory for the node's own use.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from bigfleet.model.quantities import quantity_text

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
