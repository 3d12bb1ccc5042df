"""The fleet of the part `load`: what its coordinator remembers, and what its shards tell it.

Every shard is short of the same things, as many as a report may name, and has machines of these
types in use: a fleet that is out of them everywhere. So a sweep has all shortfalls of all shards to
judge, finds every donor short itself, and moves nothing. Domains are spread over the shards.
"""

from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from bigfleet.coordinator.keys import key_text, value_bytes
from bigfleet.coordinator.tables import (
    ClusterRow,
    DefaultRow,
    DomainRow,
    SeqRow,
    ShardRow,
    Table,
    Tables,
    TermRow,
)
from bigfleet.model.coordination import ProviderEntry, ShortfallDetail, SyncRequest
from bigfleet.model.coordinator_calls import ShardReport
from bigfleet.model.needs import Need
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShardSummary, ShortfallRow

DOMAIN_KEY = "topology.bigfleet/rack"
_TYPES = tuple(f"gpu-{number}.8xlarge" for number in range(12))
_ZONES = ("zone-a", "zone-b", "zone-c")
_PRIORITIES = (100, 1_000, 10_000)
_UNIT = Resources.of({"cpu": 8_000, "memory": 64 * 2**30, "nvidia.com/gpu": 8})
_BUCKET = bucket_of_dollars(8_192)
_MACHINES, _FREE = 500_000, 25_000
#: In cycles: every shortfall is older than what anything is moved for, so that all count.
_YOUNGEST, _AGES = 20, 40
EPOCH = 1


@dataclass(frozen=True, slots=True)
class CoordinatorScale:
    shards: int = 200
    domains: int = 100_000
    clusters: int = 20_000
    #: Each has as many of the shards.
    providers: int = 4
    #: In each report.
    shortfalls: int = 100
    #: Between two reports of a shard.
    interval: float = 10.0
    #: How long each phase is watched.
    seconds: float = 20.0


def shard_name(number: int) -> str:
    return f"shard-{number:03d}"


def domain_value(number: int) -> str:
    return f"dc-{number // 10_000}-row-{number // 100 % 100:02d}-rack-{number % 100:02d}"


def owner_of_domain(scale: CoordinatorScale, number: int) -> str:
    return shard_name(number % scale.shards)


def provider_address(scale: CoordinatorScale, number: int) -> str:
    return f"provider-{number % scale.providers}.example:9000"


def stored_rows(scale: CoordinatorScale) -> dict[str, bytes]:
    """The store of a coordinator that all shards have reported to, with nothing under way."""
    tables = Tables()
    _put(tables.term, TermRow(1))
    _put(tables.seq, SeqRow(revision=1))
    for number in range(scale.shards):
        _put(
            tables.shards,
            ShardRow(
                shard_name(number),
                _address(number),
                EPOCH,
                0,
                (provider_address(scale, number),),
                syncs=True,
            ),
        )
        for cluster in _clusters(scale, number):
            _put(tables.clusters, ClusterRow(cluster, shard_name(number), 0))
    for number in range(scale.domains):
        row = DomainRow(DOMAIN_KEY, domain_value(number), owner_of_domain(scale, number))
        _put(tables.domains, row)
    for number in range(min(scale.providers, scale.shards)):
        _put(tables.defaults, DefaultRow(provider_address(scale, number), shard_name(number)))
    return {
        key_text(table.name, key): value_bytes(row)
        for table in tables
        for key, row in table.rows.items()
    }


def report_of(scale: CoordinatorScale, number: int) -> ShardReport:
    """What is the same in each report of the shard."""
    share = dict.fromkeys(_TYPES, _MACHINES // len(_TYPES))
    zones = dict.fromkeys(_ZONES, _MACHINES // len(_ZONES))
    summary = ShardSummary(_MACHINES, _FREE, share, zones, provider_address(scale, number))
    return ShardReport(
        shard_name(number),
        0,
        0,
        EPOCH,
        _address(number),
        summary,
        tuple(
            ShortfallRow(Need("", profile, deficit, _UNIT), deficit, age)
            for profile, deficit, age in _short_of(scale, number)
        ),
    )


def sync_of(scale: CoordinatorScale, number: int) -> SyncRequest:
    """What is the same in each sync of the shard."""
    address = provider_address(scale, number)
    return SyncRequest(
        shard_name(number),
        EPOCH,
        0,
        cluster_ids=_clusters(scale, number),
        providers=(ProviderEntry("cloud", address, "eu"),),
        shortfalls=tuple(
            ShortfallDetail(
                profile.fingerprint,
                profile.requirements,
                _UNIT,
                deficit,
                profile.priority,
                age,
                interruption_bucket=_BUCKET,
            )
            for profile, deficit, age in _short_of(scale, number)
        ),
    )


def _short_of(scale: CoordinatorScale, number: int) -> list[tuple[Profile, Resources, int]]:
    profiles = islice(product(_TYPES, _ZONES, _PRIORITIES), scale.shortfalls)
    return [
        (
            _profile(instance_type, zone, priority),
            Resources.of({name: amount * (1 + number + place) for name, amount in _UNIT.amounts}),
            _YOUNGEST + (number + place) % _AGES,
        )
        for place, (instance_type, zone, priority) in enumerate(profiles)
    ]


def _profile(instance_type: str, zone: str, priority: int) -> Profile:
    return Profile.of(
        [
            Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, [instance_type]),
            Requirement.of(ZONE_KEY, Operator.IN, [zone]),
        ],
        priority=priority,
        interruption_bucket=_BUCKET,
        reclamation_bucket=_BUCKET,
    )


def _clusters(scale: CoordinatorScale, number: int) -> tuple[str, ...]:
    each = scale.clusters // scale.shards
    return tuple(f"cluster-{number * each + place:05d}" for place in range(each))


def _address(number: int) -> str:
    return f"{shard_name(number)}.example:7780"


def _put(table: Table[Any], row: Any) -> None:
    table.apply(table.key_of(row), row)
