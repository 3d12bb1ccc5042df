"""A kill switch with numbered ids."""

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.shard.effects import Effects
from bigfleet.shard.instructions import Log
from bigfleet.shard.parts import Parts
from bigfleet.shard.rails.pauses import PauseRequest, Pauses
from bigfleet.shard.settings import RailSettings, ShardSettings
from tests.shard_parts import parts_of

START: Instant = 1_700_000_000 * SECOND
HOUR = 3600 * SECOND


def shard(settings: RailSettings | None = None) -> Parts:
    """Ids of pauses are p-1, p-2 and so on."""
    parts = parts_of(ShardSettings(rails=settings or RailSettings()), at=START, ids="p")
    parts.effects.taken()
    return parts


def switch(settings: RailSettings | None = None) -> Pauses:
    return shard(settings).pauses


def asked(**facts: object) -> PauseRequest:
    return PauseRequest(**{"owner": "jane", "reason": "moving the zone"} | facts)  # type: ignore[arg-type]


def logged(effects: Effects) -> list[tuple[str, str]]:
    return [(line.event, line.text) for line in effects.taken() if isinstance(line, Log)]
