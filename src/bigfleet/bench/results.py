"""Result: what one run of one shape showed; its fields are the keys of `-o json`."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Result:
    shape: str
    #: `full`: every cycle decides everything anew.
    mode: str
    workers: int
    cores: int
    machines: int
    needs: int
    cycles: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    #: p50 of each part, by name, in the order they ran.
    phases: Mapping[str, float]
    actions: int
    #: Of the proposals of Phase 1, the part that found its machines taken and was made again.
    conflict_fraction: float
    rss_mb: float
    bytes_per_machine: float
    warmup_s: float
    unit_ms: float

    @property
    def machines_per_second(self) -> float:
        return self.machines * 1000 / self.p50_ms

    @property
    def needs_per_second(self) -> float:
        return self.needs * 1000 / self.p50_ms

    def json_line(self) -> str:
        return json.dumps(asdict(self), default=float)
