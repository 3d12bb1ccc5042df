"""The fleets one can ask for by name, and the rules that come with them.

`small`, `demo` (the fleet of `bigfleet up`), `conformance`, `fleet-5k`, `fleet-50k` and `scale:N`,
which has N machines in the proportions of fleet-50k.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

from bigfleet.model.machines import CapacityType as C
from bigfleet.provider.sim.world.distributions import Distribution, distribution_of
from bigfleet.provider.sim.world.offerings import DEFAULT_REGION, SimOffering, offering

NAMES = ("small", "demo", "conformance", "fleet-5k", "fleet-50k")
_SCALE = re.compile(r"scale:([1-9][0-9]{0,6})")
_DEMO = re.compile(r"demo:([1-9][0-9]{0,6})")
_DEMO_MACHINES = 1_200
#: The bare metal of zone b has one, for Needs that can be served nowhere else.
SECURITY_MODULE = "hardware.bigfleet/security-module"
_ZONES = tuple(f"{DEFAULT_REGION}{letter}" for letter in "abc")
_RACKS = 10
#: Of each kind in `small`: a test suite that gives nothing back still finds one for each test.
_SLOTS = 64


class NoSuchPreset(ValueError):
    """The preset does not exist; the message lists the presets."""


@dataclass(frozen=True, slots=True)
class Preset:
    offerings: tuple[SimOffering, ...]
    latency: Mapping[str, Distribution] = field(default_factory=dict)
    walk: bool = True
    interruptions: bool = True
    fault_selectors: bool = False


def preset_of(name: str, seed_count: int) -> Preset:
    match = _SCALE.fullmatch(name)
    if match:
        machines = int(match[1])
        bound = round(machines * 65_200 / 225_200)
        idle = round(machines * 10_000 / 225_200)
        return _fleet(bound, idle, machines - bound - idle, max(1, bound // 326))
    match = _DEMO.fullmatch(name)
    if match:
        return _demo(int(match[1]) / _DEMO_MACHINES)
    match name:
        case "small":
            return _small()
        case "demo":
            return _demo(1.0)
        case "conformance":
            return _conformance(seed_count)
        case "fleet-5k":
            return _fleet(6_520, 1_006, 15_000, clusters=20)
        case "fleet-50k":
            return _fleet(65_200, 10_000, 150_000, clusters=200)
    raise NoSuchPreset(
        f"{name!r} is not a preset; write one of {', '.join(NAMES)}, demo:N and scale:N"
    )


def _small() -> Preset:
    zone = _ZONES[0]
    return Preset(
        (
            offering("gpu-h100-8", C.BARE_METAL, zone, 8),
            offering("std-2", C.ON_DEMAND, zone, _SLOTS),
            offering("std-2", C.SPOT, zone, _SLOTS),
        )
    )


def _demo(size: float) -> Preset:
    """Nodes of 8 cpu and 32Gi only; two spot types of that shape, because a pool has one price."""
    zones = ("a", "b", "c")

    def spread(
        prefix: str, kind: str, capacity: C, count: int, price: float, probability: float
    ) -> list[SimOffering]:
        return [
            offering(
                kind,
                capacity,
                zone,
                share,
                region="sim",
                price=price,
                probability=probability,
                id_prefix=prefix,
                racks=4 * max(1, round(size)),
                labels=_labels(capacity, zone),
            )
            for zone, share in zip(zones, _shares(round(count * size), len(zones)), strict=True)
        ]

    return Preset(
        (
            *spread("bm", "std-8", C.BARE_METAL, 280, 0.0, 0.0),
            *spread("rs", "std-8", C.RESERVED, 200, 0.0, 0.0),
            *spread("od", "std-8", C.ON_DEMAND, 480, 0.38, 0.05),
            *spread("sp", "std-8", C.SPOT, 120, 0.12, 0.30),
            *spread("sp", "m6i.2xlarge", C.SPOT, 120, 0.10, 0.30),
        )
    )


def _labels(capacity: C, zone: str) -> Mapping[str, str]:
    secured = capacity is C.BARE_METAL and zone == "b"
    return {SECURITY_MODULE: "yes"} if secured else {}


def _conformance(seed_count: int) -> Preset:
    spot = seed_count // 3
    fast, ready = distribution_of("uniform:5ms,50ms"), distribution_of("uniform:5ms,20ms")
    return Preset(
        tuple(
            offering("std-8", capacity, zone, share, price=price, probability=probability, racks=4)
            for capacity, count, price, probability in (
                (C.ON_DEMAND, seed_count - spot, 0.40, 0.05),
                (C.SPOT, spot, 0.12, 0.05),
            )
            for zone, share in zip(_ZONES, _shares(count, len(_ZONES)), strict=True)
        ),
        latency={
            **dict.fromkeys(("create", "configure", "drain", "delete"), fast),
            "ready": ready,
            "describe": distribution_of("0"),
        },
        walk=False,
        interruptions=False,
        fault_selectors=True,
    )


def _fleet(bound: int, idle: int, slots: int, clusters: int) -> Preset:
    """Bound and idle metal, and slots to buy: two thirds on demand, a third spot."""
    spot = slots // 3
    parts: list[SimOffering] = []
    kinds = ("std-8", "std-16", "cpu-32", "mem-32", "gpu-h100-8")
    places = list(product(kinds, _ZONES))
    for (kind, zone), of_bound, of_idle in zip(
        places, _shares(bound, len(places)), _shares(idle, len(places)), strict=True
    ):
        parts.append(
            offering(
                kind,
                C.BARE_METAL,
                zone,
                of_bound + of_idle,
                racks=_RACKS,
                bound=of_bound,
                clusters=clusters,
            )
        )
    for capacity, count in ((C.ON_DEMAND, slots - spot), (C.SPOT, spot)):
        for (kind, zone), share in zip(places, _shares(count, len(places)), strict=True):
            parts.append(offering(kind, capacity, zone, share, racks=_RACKS))
    return Preset(tuple(parts))


def _shares(total: int, parts: int) -> list[int]:
    """`total` in `parts` as equal as whole numbers can be."""
    return [total // parts + (n < total % parts) for n in range(parts)]
