"""How far the clusters' script and simulated time are, for a fleet that goes on another day.

The clusters' part of a data dir is no more than that: all else they are told by their shards. Time
goes on from where it was: what a hurried fleet wrote down must not lie ahead of its next life.
"""

from collections.abc import Callable
from pathlib import Path

import orjson

from bigfleet.edge.clock import Clock
from bigfleet.model.machines import Instant

_FILE = "clusters.json"
#: Real seconds.
KEEP_SECONDS = 5.0


def kept_seconds(folder: Path) -> float:
    try:
        return float(orjson.loads((folder / _FILE).read_bytes())["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def kept_instant(folder: Path) -> Instant:
    """Simulated time that has passed there; 0: none has, or an older version wrote it."""
    try:
        return int(orjson.loads((folder / _FILE).read_bytes())["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def keep(folder: Path, seconds: float, at: Instant) -> None:
    # Not durably, since it is written every few seconds: what cannot be read begins anew.
    (folder / _FILE).write_bytes(orjson.dumps({"seconds": seconds, "at": at}))


async def keep_often(
    folder: Path, seconds: Callable[[], float], at: Callable[[], Instant], clock: Clock
) -> None:
    """`at` is to be what time it may be by the next time."""
    while True:
        keep(folder, seconds(), at())
        await clock.sleep(KEEP_SECONDS)
