"""Gives the zones of the fleet to its shards, by the calls that people use too.

A zone that has an owner is left alone: a fleet that goes on stays as it was left, and what people
have changed by hand is theirs to change.

Who gets what in a fleet of several shards: zones of machines, and clusters. Pure.

Both are dealt out in turn, so the first shard has the shop and zone a, the second the training
cluster and zone b. That is what makes a story of it: the shop's critical work runs only on machines
of zone b, so its shard is short of what another one has idle.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from bigfleet.edge.clock import Clock
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.model.shard_admin import Audit
from bigfleet.provider.sim.world.presets import preset_of
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient


def zones_of(preset: str) -> tuple[str, ...]:
    """Of a simulated fleet, in order."""
    return tuple(sorted({offering.zone for offering in preset_of(preset, 0).offerings}))


def shard_names(count: int) -> tuple[str, ...]:
    return tuple(f"shard-{number}" for number in range(count))


def dealt(things: Iterable[str], shards: Sequence[str]) -> dict[str, str]:
    """Thing -> shard, one after the other."""
    return {thing: shards[place % len(shards)] for place, thing in enumerate(things)}


_AUDIT = Audit("up", "zones are dealt out to the shards")
_AGAIN_SECONDS = 0.02
#: A shard that has not reported yet is not a member; a coordinator that has just begun leads soon.
_LATER = (Code.NOT_FOUND, Code.UNAVAILABLE, Code.FAILED_PRECONDITION)
#: What hand-overs may take; they take two reports.
_PATIENCE_SECONDS = 60.0


async def assign_zones(
    coordinator: CoordinatorAdminClient, shard_of_zone: Mapping[str, str], clock: Clock
) -> dict[str, str]:
    """Zone -> shard as it is in the end; every zone has an owner. Raises Rejected."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        owners = await _zones(coordinator, clock)
        for zone, shard in shard_of_zone.items():
            if zone not in owners:
                await _assigned(coordinator, zone, shard, clock)
        while not all((owners := await _zones(coordinator, clock)).values()):
            await clock.sleep(_AGAIN_SECONDS)
        return owners


async def _zones(coordinator: CoordinatorAdminClient, clock: Clock) -> dict[str, str]:
    """Of every zone that has a row; an empty shard: it changes hands."""
    while True:
        try:
            rows = await coordinator.domains()
            return {row.value: row.shard for row in rows if row.key == ZONE_KEY}
        except Rejected as problem:
            if problem.code not in _LATER:
                raise
        await clock.sleep(_AGAIN_SECONDS)


async def _assigned(
    coordinator: CoordinatorAdminClient, zone: str, shard: str, clock: Clock
) -> None:
    while True:
        try:
            return await coordinator.assign_domain(
                _AUDIT, topology_key=ZONE_KEY, topology_value=zone, shard_id=shard
            )
        except Rejected as problem:
            if problem.code not in _LATER:
                raise
        await clock.sleep(_AGAIN_SECONDS)
