"""Shapes B3 to B6: gangs that must share a rack.

All run through the whole cycle with the fold, as the product does, so gangs that one machine holds
(B3, B5, the caches of B4) fold to plain Needs; B6 and the GPU gangs of B4 do not.

`scale` multiplies machines and clusters.
"""

import numpy as np

from bigfleet.bench.engine.catalog import B8192, SAME_RACK, ZONES, amounts, of_types
from bigfleet.bench.engine.workload import EngineWorkload, arrival_of, interned, scaled, tier_of
from bigfleet.model.batches import MachineBatch, Offering
from bigfleet.model.machines import Assigned, CapacityType, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import UNSPECIFIED, Bucket
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import RACK_KEY
from bigfleet.model.resources import Resources

RACKS = 8
CO_LOCATED_RACKS = 12
MACHINES_PER_RACK_STEP = 8

_TINY = amounts("400m", "500Mi")
_SERVICE = amounts("2200m", "8500Mi")
_CACHE = amounts("4", "32Gi")
_GPU = amounts("64", gpu=8)


def bucket_sized_buckets(scale: float) -> EngineWorkload:
    """B3: 100,000 Idle machines in eight racks, 20,000 clusters with one gang each."""
    ids = [f"idle-{i}" for i in range(scaled(100_000, scale))]
    racks = [_racked("r6i.2xlarge", f"rack-mem-{rack}", _CACHE) for rack in range(RACKS)]
    needs = _one_gang_each(scaled(20_000, scale), _gang_profile("r6i.2xlarge"), _CACHE)
    return EngineWorkload((tier_of(ids, MachineState.IDLE, racks),), needs)


def repeated_co_located(scale: float) -> EngineWorkload:
    """B5: 10,000 Idle machines for 50,000 clusters with one gang each, so 40,000 stay short."""
    unit = amounts("4")
    ids = [f"idle-{i}" for i in range(scaled(10_000, scale))]
    racks = [_racked("c6i.4xlarge", f"rack-{rack}", unit) for rack in range(RACKS)]
    needs = _one_gang_each(scaled(50_000, scale), _gang_profile("c6i.4xlarge"), unit)
    return EngineWorkload((tier_of(ids, MachineState.IDLE, racks),), needs)


def acquirable_totals(scale: float) -> EngineWorkload:
    """B6: one gang chooses among 30 racks of 12,000 Speculative machines.

    The definition gives neither aggregate nor priority: five units, so that the gang does not fold
    and its domain is chosen by the totals of every rack, at priority 1000.
    """
    unit = amounts("8", "64Gi")
    ids = [f"spec-{i}" for i in range(scaled(12_000, scale))]
    racks = [_racked("r6i.2xlarge", f"zone-a-rack-{rack}", unit) for rack in range(30)]
    need = Need(
        "c-0", _gang_profile("r6i.2xlarge", UNSPECIFIED), unit.times(5), unit, arrival_of(0), "g-0"
    )
    return EngineWorkload((tier_of(ids, MachineState.SPECULATIVE, racks),), {"c-0": [need]})


def co_located(scale: float) -> EngineWorkload:
    """B4: 20 clusters with 250 bound machines and 129 Needs each, 98 % of them with Same.

    In a rack number `(i/8)%12`, `i` counts the machines of one type and cluster.
    """
    clusters = scaled(20, scale)
    rotation = [_rotated(i) for i in range(3 * MACHINES_PER_RACK_STEP * CO_LOCATED_RACKS)]
    idle = [f"idle-{i}" for i in range(scaled(1_000, scale))]
    speculative = [f"spec-{i}" for i in range(scaled(12_000, scale))]
    return EngineWorkload(
        (
            _co_located_bound(clusters),
            tier_of(idle, MachineState.IDLE, rotation),
            tier_of(speculative, MachineState.SPECULATIVE, rotation),
        ),
        {f"c-{c}": _co_located_needs(c) for c in range(clusters)},
    )


def _rotated(i: int) -> Offering:
    kind, arch, capacity = (
        ("m6i.large", "m6i", _TINY.times(100)),
        ("r6i.2xlarge", "r6i", _CACHE.times(10)),
        ("a3-highgpu-8g", "a3", _GPU),
    )[i % 3]
    return _racked(kind, _co_located_rack(arch, i), capacity)


def _co_located_rack(arch: str, i: int) -> str:
    return f"zone-a-{arch}-rack-{i // MACHINES_PER_RACK_STEP % CO_LOCATED_RACKS}"


def _co_located_bound(clusters: int) -> MachineBatch:
    layout = [
        *[_racked("m6i.large", "", _TINY.times(100))] * 175,
        *[_racked("m6i.xlarge", "", _SERVICE.times(10))] * 30,
        *[_racked("r6i.2xlarge", _co_located_rack("r6i", i), _CACHE.times(10)) for i in range(30)],
        *[_racked("a3-highgpu-8g", _co_located_rack("a3", i), _GPU) for i in range(15)],
    ]
    offerings, offering_of_place = interned(layout)
    return tier_of(
        [f"conf-{c}-{i}" for c in range(clusters) for i in range(len(layout))],
        MachineState.CONFIGURED,
        offerings,
        np.tile(offering_of_place, clusters),
        clusters=[f"c-{c}" for c in range(clusters)],
        cluster_of_machine=np.repeat(np.arange(clusters, dtype=np.int32), len(layout)),
        stamps=[Assigned(1000, 8192.0, 8192.0)],
    )


def _co_located_needs(c: int) -> list[Need]:
    cluster, arrival = f"c-{c}", arrival_of(c)
    tiny = Profile.of([of_types("m6i.large", "m6i.xlarge")], (), 100, B8192, B8192)
    service = Profile.of([of_types("m6i.xlarge")], (), 1000, B8192, B8192)
    memory, gpu = _gang_profile("r6i.2xlarge"), _gang_profile("a3-highgpu-8g")
    return [
        Need(cluster, tiny, _TINY.times(17_500), _TINY, arrival),
        Need(cluster, service, _SERVICE.times(3_000), _SERVICE, arrival),
        *(Need(cluster, memory, _CACHE.times(4), _CACHE, arrival, f"mem-{g}") for g in range(95)),
        *(Need(cluster, gpu, _GPU.times(5), _GPU, arrival, f"gpu-{g}") for g in range(32)),
    ]


def _racked(instance_type: str, rack: str, capacity: Resources) -> Offering:
    labels = ((RACK_KEY, rack),) if rack else ()
    return Offering(CapacityType.BARE_METAL, instance_type, ZONES[0], labels, capacity)


def _gang_profile(instance_type: str, bucket: Bucket = B8192) -> Profile:
    return Profile.of([of_types(instance_type), SAME_RACK], (), 1000, bucket, bucket)


def _one_gang_each(clusters: int, profile: Profile, unit: Resources) -> dict[str, list[Need]]:
    return {
        f"c-{c}": [Need(f"c-{c}", profile, unit, unit, arrival_of(c), f"g-{c}")]
        for c in range(clusters)
    }
