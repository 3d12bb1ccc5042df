"""A kill switch with numbered ids."""

from itertools import count

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.shard.effects import Effects
from bigfleet.shard.instructions import Log
from bigfleet.shard.rails.pauses import PauseRequest, Pauses
from bigfleet.shard.settings import CurrentShardSettings, RailSettings, ShardSettings

START: Instant = 1_700_000_000 * SECOND
HOUR = 3600 * SECOND


def switch(effects: Effects | None = None, settings: RailSettings | None = None) -> Pauses:
    numbers = count(1)
    return Pauses(
        effects or Effects(),
        CurrentShardSettings(ShardSettings(rails=settings or RailSettings())),
        lambda: f"p-{next(numbers)}",
        START,
    )


def asked(**facts: object) -> PauseRequest:
    return PauseRequest(**{"owner": "jane", "reason": "moving the zone"} | facts)  # type: ignore[arg-type]


def logged(effects: Effects) -> list[tuple[str, str]]:
    return [(line.event, line.text) for line in effects.taken() if isinstance(line, Log)]
