"""The uber ladder: fleets of 5K, 50K and 500K bound-sized machines with realistic demand.

The seed splits each tier among the archetypes by largest remainder, raises every gang archetype to
three zones' worth of its largest gang, and places machines by counters; only pod sizes are drawn.
Demand draws objects by weight until a cluster has its pods: every gang is one Need, all other pods
of an archetype make one Need with and one without a spread.

Where the definition is silent: counters and type rotation of Configured machines start anew in
each cluster; an object that would pass the cluster's pods is cut if it is plain and kept whole if
it is a gang; a cluster's rows arrive together, at the time of its first roll-up, clusters one
second apart; plain rows come before gangs. Pods of one archetype and cluster are split over sizes
and spread by one multinomial draw, which is the same distribution as a draw for each pod.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bigfleet.bench.engine.catalog import STANDING, ZONES, DrawnArchetype, of_types, of_zones
from bigfleet.bench.engine.workload import EngineWorkload, arrival_of, scaled, tier_of
from bigfleet.model.batches import MachineBatch, Offering
from bigfleet.model.machines import Assigned, CapacityType, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import RACK_KEY, Operator, Requirement
from bigfleet.model.resources import Resources

CONFIGURED_PER_CLUSTER = 250
PODS_PER_CLUSTER = 25_000
IDLE_FRACTION = 0.2
SPECULATIVE_FRACTION = 3
RACKS_PER_ZONE = 10
SHARD = 0
SEED_CONFIGURED, SEED_IDLE, SEED_SPECULATIVE = SHARD + 1, SHARD + 17, SHARD + 31
#: The definition leaves the demand's seed open.
SEED_DEMAND = SHARD + 47

#: (share of objects, fewest replicas, most replicas), uniform inside a bucket; mean 21.375.
REPLICAS = ((0.55, 1, 5), (0.30, 6, 25), (0.12, 26, 100), (0.03, 101, 400))
MEAN_REPLICAS = sum(share * (fewest + most) / 2 for share, fewest, most in REPLICAS)

_MOST_TYPES = max(len(archetype.types) for archetype in STANDING)
_MOST_SIZES = max(len(archetype.sizes) for archetype in STANDING)
_PLACES = (len(STANDING), _MOST_TYPES, len(ZONES), RACKS_PER_ZONE, _MOST_SIZES)

Ints = NDArray[np.int64]


def uber(bound_machines: int, scale: float) -> EngineWorkload:
    clusters = scaled(bound_machines // CONFIGURED_PER_CLUSTER, scale)
    size = clusters * CONFIGURED_PER_CLUSTER
    names = [f"cluster-{c}" for c in range(clusters)]
    return EngineWorkload(
        (
            _configured(names),
            _pool("idle", MachineState.IDLE, round(size * IDLE_FRACTION), SEED_IDLE),
            _pool("spec", MachineState.SPECULATIVE, size * SPECULATIVE_FRACTION, SEED_SPECULATIVE),
        ),
        _demand(names),
    )


def split_of(total: int) -> tuple[int, ...]:
    """How many of `total` machines each standing archetype gets, gangs raised to their floor."""
    shares = [_pods_per_object(a) * a.weight / a.pods_per_node for a in STANDING]
    exact = [total * share / sum(shares) for share in shares]
    counts = [int(e) for e in exact]
    by_remainder = sorted(range(len(exact)), key=lambda a: counts[a] - exact[a])
    for a in by_remainder[: total - sum(counts)]:
        counts[a] += 1
    floors = [a.gang.largest * len(ZONES) if a.gang else 0 for a in STANDING]
    return tuple(max(pair) for pair in zip(counts, floors, strict=True))


def _pods_per_object(archetype: DrawnArchetype) -> float:
    return archetype.gang.mean if archetype.gang else MEAN_REPLICAS


def _configured(clusters: Sequence[str]) -> MachineBatch:
    counts = split_of(CONFIGURED_PER_CLUSTER)
    each = sum(counts)
    rng = np.random.Generator(np.random.PCG64(SEED_CONFIGURED))
    code = np.tile(_places_of(counts), len(clusters)) + _drawn_sizes(
        np.tile(_archetypes_of(counts), len(clusters)), rng
    )
    present, offering_of_machine = _dense(code)
    stamps = [
        Assigned(a.priority, float(a.interruption_dollars), float(a.reclamation_dollars))
        for a in STANDING
    ]
    return tier_of(
        [f"conf-s{SHARD}-c{c}-i{i}" for c in range(len(clusters)) for i in range(each)],
        MachineState.CONFIGURED,
        [_offering(int(place), CapacityType.BARE_METAL) for place in present],
        offering_of_machine,
        clusters=clusters,
        cluster_of_machine=np.repeat(np.arange(len(clusters), dtype=np.int32), each),
        stamps=stamps,
        stamp_of_machine=np.tile(_archetypes_of(counts), len(clusters)).astype(np.int32),
    )


def _pool(prefix: str, state: MachineState, total: int, seed: int) -> MachineBatch:
    counts = split_of(total)
    rng = np.random.Generator(np.random.PCG64(seed))
    code = _places_of(counts) + _drawn_sizes(_archetypes_of(counts), rng)
    present, offering_of_machine = _dense(code)
    bought = state is MachineState.SPECULATIVE
    capacity = CapacityType.ON_DEMAND if bought else CapacityType.BARE_METAL
    return tier_of(
        [f"{prefix}-{i}" for i in range(len(code))],
        state,
        [
            _offering(int(place), capacity, 1.0 if bought else 0.0, 0.05 if bought else 0.0)
            for place in present
        ],
        offering_of_machine,
    )


def _archetypes_of(counts: Sequence[int]) -> Ints:
    return np.repeat(np.arange(len(counts)), counts)


def _places_of(counts: Sequence[int]) -> Ints:
    """Archetype, type, zone and rack of each machine, as one number with the size left at zero."""
    archetype = _archetypes_of(counts)
    running = np.arange(len(archetype))
    first = np.cumsum(counts) - counts
    index = running - first[archetype]
    in_one_rack = np.array([a.gang.largest if a.gang else 1 for a in STANDING])
    slot = index // in_one_rack[archetype]
    type_count = np.array([len(a.types) for a in STANDING])
    place = (
        archetype,
        running % type_count[archetype],
        slot % len(ZONES),
        slot % RACKS_PER_ZONE,
        np.zeros_like(slot),
    )
    return np.asarray(np.ravel_multi_index(place, _PLACES), dtype=np.int64)


def _drawn_sizes(archetype: Ints, rng: np.random.Generator) -> Ints:
    upper = np.full((len(STANDING), _MOST_SIZES), 1.0)
    for row, drawn in zip(upper, STANDING, strict=True):
        weights = np.array([weight for _, weight in drawn.sizes], float)
        row[: len(weights)] = np.cumsum(weights) / weights.sum()
    draws = rng.random(len(archetype))
    return np.asarray((draws[:, None] >= upper[archetype]).sum(axis=1), dtype=np.int64)


def _dense(code: Ints) -> tuple[Ints, NDArray[np.int32]]:
    """The distinct codes in order, and the position of each machine's code among them."""
    seen = np.bincount(code, minlength=int(np.prod(_PLACES))) > 0
    position = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(seen), position[code]


def _offering(
    place: int, capacity: CapacityType, price: float = 0.0, interruption: float = 0.0
) -> Offering:
    archetype, kind, zone, rack, size = (int(i) for i in np.unravel_index(place, _PLACES))
    drawn = STANDING[archetype]
    pod = drawn.sizes[size][0]
    return Offering(
        capacity,
        drawn.types[kind],
        ZONES[zone],
        ((RACK_KEY, f"{ZONES[zone]}-rack-{rack}"),),
        resources=pod,
        allocatable=pod.times(drawn.pods_per_node),
        price_per_hour=price,
        interruption_probability=interruption,
    )


def _demand(clusters: Sequence[str]) -> dict[str, list[Need]]:
    rng = np.random.Generator(np.random.PCG64(SEED_DEMAND))
    demand = {}
    for c, cluster in enumerate(clusters):
        arrival = arrival_of(c)
        archetype, pods = _drawn_objects(rng)
        demand[cluster] = [
            *_plain_needs(cluster, arrival, archetype, pods, rng),
            *_gang_needs(cluster, arrival, archetype, pods),
        ]
    return demand


def _drawn_objects(rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Archetype and pod count of one cluster's objects."""
    weights = np.cumsum([a.weight for a in STANDING])
    smallest = np.array([a.gang.smallest if a.gang else 0 for a in STANDING])
    largest = np.array([a.gang.largest if a.gang else 0 for a in STANDING])
    bucket_ends = np.cumsum([share for share, _, _ in REPLICAS])[:-1]
    fewest = np.array([low for _, low, _ in REPLICAS])
    most = np.array([high for _, _, high in REPLICAS])
    # Twice the mean number of objects is many standard deviations above what 25,000 pods take.
    draws = round(2 * PODS_PER_CLUSTER / _mean_pods())
    archetype = np.searchsorted(weights, rng.integers(weights[-1], size=draws), side="right")
    bucket = np.searchsorted(bucket_ends, rng.random(draws), side="right")
    gang = largest[archetype] > 0
    low = np.where(gang, smallest[archetype], fewest[bucket])
    high = np.where(gang, largest[archetype], most[bucket])
    pods = rng.integers(low, high, endpoint=True)
    last = int(np.searchsorted(np.cumsum(pods), PODS_PER_CLUSTER))
    archetype, pods = archetype[: last + 1], pods[: last + 1]
    surplus = int(pods.sum()) - PODS_PER_CLUSTER
    if surplus > 0 and not gang[last]:
        pods[-1] -= surplus
    return archetype, pods


def _mean_pods() -> float:
    objects = sum(a.weight for a in STANDING)
    return sum(a.weight * _pods_per_object(a) for a in STANDING) / objects


def _plain_needs(
    cluster: str, arrival: int, archetype: Ints, pods: Ints, rng: np.random.Generator
) -> list[Need]:
    totals = np.bincount(archetype, weights=pods, minlength=len(STANDING)).astype(np.int64)
    needs = []
    for a, drawn in enumerate(STANDING):
        if drawn.gang is not None:
            continue
        weights = np.array([weight for _, weight in drawn.sizes], float)
        by_spread = np.array([drawn.spread_probability, 1.0 - drawn.spread_probability])
        cells = rng.multinomial(totals[a], np.outer(by_spread, weights / weights.sum()).ravel())
        for spread, counts in zip((True, False), cells.reshape(2, -1).tolist(), strict=True):
            if not any(counts):
                continue
            aggregate, unit = Resources(), Resources()
            for (size, _), count in zip(drawn.sizes, counts, strict=True):
                if count:
                    aggregate, unit = aggregate.plus(size.times(count)), unit.most(size)
            needs.append(Need(cluster, _profile_of(a, spread), aggregate, unit, arrival))
    return needs


def _gang_needs(cluster: str, arrival: int, archetype: Ints, pods: Ints) -> list[Need]:
    return [
        Need(
            cluster,
            _profile_of(a, False),
            _gang_aggregate(a, count),
            STANDING[a].sizes[0][0],
            arrival,
            f"{STANDING[a].name}-{position}",
        )
        for position, (a, count) in enumerate(zip(archetype.tolist(), pods.tolist(), strict=True))
        if STANDING[a].gang is not None
    ]


@cache
def _gang_aggregate(archetype: int, pods: int) -> Resources:
    """Every gang archetype has a single pod size."""
    return STANDING[archetype].sizes[0][0].times(pods)


@cache
def _profile_of(archetype: int, spread: bool) -> Profile:
    drawn = STANDING[archetype]
    requirements = [of_types(*drawn.types), of_zones(*ZONES)]
    if drawn.gang is not None:
        requirements.append(Requirement.of(drawn.gang.key, Operator.SAME))
    return Profile.of(
        requirements,
        [drawn.spread] if spread and drawn.spread is not None else [],
        drawn.priority,
        bucket_of_dollars(drawn.interruption_dollars),
        bucket_of_dollars(drawn.reclamation_dollars),
    )
