"""Who gets what in a fleet of several shards: zones of machines, and clusters. Pure.

Both are dealt out in turn, so the first shard has the shop and zone a, the second the training
cluster and zone b. That is what makes a story of it: the shop's critical work runs only on machines
of zone b, so its shard is short of what another one has idle.
"""

from collections.abc import Iterable, Sequence

from bigfleet.provider.sim.world.presets import preset_of


def zones_of(preset: str) -> tuple[str, ...]:
    """Of a simulated fleet, in order."""
    return tuple(sorted({offering.zone for offering in preset_of(preset, 0).offerings}))


def shard_names(count: int) -> tuple[str, ...]:
    return tuple(f"shard-{number}" for number in range(count))


def dealt(things: Iterable[str], shards: Sequence[str]) -> dict[str, str]:
    """Thing -> shard, one after the other."""
    return {thing: shards[place % len(shards)] for place, thing in enumerate(things)}
