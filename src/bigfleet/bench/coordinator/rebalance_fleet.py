"""The fleet of the part `rebalance`: two zones of idle machines, one shard that has neither.

As a module of its own it is the provider of all three shards: one that does everything at once.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from bigfleet.bench.shard.instant_provider import serve
from bigfleet.coordinator.keys import key_text, value_bytes
from bigfleet.coordinator.tables import DefaultRow, DomainRow, SeqRow, ShardRow, TermRow
from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.wire.rollups import rollup_bytes

#: The first one has no zone and is short; it is the default owner, of nothing.
SHARDS = ("shard-0", "shard-1", "shard-2")
ZONES = {"shard-1": "zone-1", "shard-2": "zone-2"}
CLUSTER = "training"
_TYPE = "a3-highgpu-8g"
_MACHINE = {"nvidia.com/gpu": "8"}
_PRIORITY = 1_000_000


@dataclass(frozen=True, slots=True)
class RebalanceScale:
    """M6. Seconds; what it does not name is as it is by default."""

    #: Machines in each of the two shards that have any.
    idle: int = 33_333
    #: Machines the Need takes.
    machines: int = 100
    cycle_interval: float = 0.1
    report_interval: float = 0.2
    rebalance_interval: float = 0.2
    #: Scaled as the cycle is: both are a second by default.
    reconcile_interval: float = 0.1
    #: Scaled as the sweep is: 120 s by default, with one every 10 s.
    cooldown: float = 2.4
    #: Three reports by default; more, so that a busy machine does not make a shard stale.
    stale_after: float = 3.0
    max_per_transfer: int = 64


def stored_rows(provider: str) -> dict[str, bytes]:
    """Of a coordinator that all shards have reported to; nothing is under way."""
    rows = {
        key_text("term", ()): value_bytes(TermRow(1)),
        key_text("seq", ()): value_bytes(SeqRow(revision=1)),
        key_text("defaults", (provider,)): value_bytes(DefaultRow(provider, SHARDS[0])),
    }
    for shard in SHARDS:
        row = ShardRow(shard, "", 1, 0, (provider,), syncs=True)
        rows[key_text("shards", (shard,))] = value_bytes(row)
    for shard, zone in ZONES.items():
        key = (ZONE_KEY, zone)
        rows[key_text("domains", key)] = value_bytes(DomainRow(*key, shard))
    return rows


def records(shape: RebalanceScale) -> Iterator[MachineRecord]:
    for zone in ZONES.values():
        for number in range(shape.idle):
            name = f"{zone}-{number:05d}"
            yield MachineRecord(
                name,
                MachineState.IDLE,
                Host("bench", f"h-{name}"),
                _TYPE,
                zone,
                CapacityType.BARE_METAL,
                resources=_MACHINE,
                allocatable=_MACHINE,
            )


def rollup(shape: RebalanceScale, at: int) -> bytes:
    return _rollup(_TYPE, shape.machines, at)


def first_rollup(at: int) -> bytes:
    """For one machine of a type that no shard has."""
    return _rollup("none-such", 1, at)


def _rollup(instance_type: str, machines: int, at: int) -> bytes:
    wanted = Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, [instance_type])
    bucket = bucket_of_dollars(8_192)
    profile = Profile.of(
        [wanted], priority=_PRIORITY, interruption_bucket=bucket, reclamation_bucket=bucket
    )
    unit = Resources.parse(_MACHINE)
    return rollup_bytes(CLUSTER, at, [Need(CLUSTER, profile, unit.times(machines), unit)])


def main() -> None:
    asyncio.run(serve(records(RebalanceScale(**json.loads(sys.argv[1])))))
