"""How far the clusters' script is, for a fleet that goes on another day.

The clusters' part of a data dir is no more than that: all else they are told by their shards.
"""

import json
from collections.abc import Callable
from pathlib import Path

from bigfleet.edge.clock import Clock

_FILE = "clusters.json"
_KEEP_SECONDS = 5.0


def kept_seconds(folder: Path) -> float:
    try:
        return float(json.loads((folder / _FILE).read_text())["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def keep(folder: Path, seconds: float) -> None:
    (folder / _FILE).write_text(json.dumps({"seconds": seconds}))


async def keep_often(folder: Path, seconds: Callable[[], float], clock: Clock) -> None:
    while True:
        await clock.sleep(_KEEP_SECONDS)
        keep(folder, seconds())
