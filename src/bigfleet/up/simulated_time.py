"""Simulated time of a fleet: what it is by the clock on the wall, and how far the script has come.

What a simulated instant is by the clock on the wall, and the other way round; pure.

Simulated time begins with the fleet and runs `speed` times as fast. A fleet that goes on in a data
dir begins where it ended, which may be ahead of the wall: what it wrote down in an earlier life is
past for people too, and is never told as later than the moment this life began.

How far the clusters' script and simulated time are, for a fleet that goes on another day.

The clusters' part of a data dir is no more than that: all else they are told by their shards. Time
goes on from where it was: what a hurried fleet wrote down must not lie ahead of its next life.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from bigfleet.edge.clock import Clock
from bigfleet.model.machines import Instant
from bigfleet.up.reports import CycleReport
from bigfleet.wire.real_times import turned_text


@dataclass(frozen=True, slots=True)
class _Pace:
    #: The same moment by both clocks.
    real_began: Instant
    began: Instant
    speed: float


class SimulatedTimes:
    def __init__(self, real_began: Instant, began: Instant, speed: float) -> None:
        """From these two instants, which are the same moment, time passes at this speed."""
        self._paces = [_Pace(real_began, began, speed)]

    @property
    def began(self) -> Instant:
        return self._paces[0].began

    @property
    def is_real(self) -> bool:
        """Nothing has to be turned."""
        return all(pace.speed == 1 and pace.began == pace.real_began for pace in self._paces)

    def on_speed(self, began: Instant, real_began: Instant, speed: float) -> None:
        """From this moment on time passes at another speed."""
        self._paces.append(_Pace(real_began, began, speed))

    def real_of(self, instant: Instant) -> Instant:
        for pace in reversed(self._paces):
            if instant >= pace.began:
                return pace.real_began + round((instant - pace.began) / pace.speed)
        return min(instant, self._paces[0].real_began)

    def own_of(self, instant: Instant) -> Instant:
        """Of a real instant."""
        for pace in reversed(self._paces):
            if instant >= pace.real_began:
                return pace.began + round((instant - pace.real_began) * pace.speed)
        return instant

    def in_real_time(self, report: CycleReport) -> CycleReport:
        """As people are to read it."""
        if self.is_real:
            return report
        pauses = [
            replace(
                pause,
                created_at=self.real_of(pause.created_at),
                expires_at=pause.expires_at and self.real_of(pause.expires_at),
            )
            for pause in report.pauses
        ]
        unmet = [replace(n, text=turned_text(n.text, self.real_of)) for n in report.unmet]
        return replace(report, at=self.real_of(report.at), pauses=tuple(pauses), unmet=tuple(unmet))


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
