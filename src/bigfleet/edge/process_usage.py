"""CPU and memory of processes, this one and others, as the operating system counts them."""

import os
import resource
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path

#: Cores are an average over so long, of samples that are so far apart.
WINDOW_SECONDS = 60.0
_APART_SECONDS = 5.0


def resident_bytes(pid: int | None = None) -> int:
    """In memory now. Of this process also where there is no /proc: the most it ever had."""
    try:
        content = Path(f"/proc/{pid or 'self'}/statm").read_text()
    except OSError:
        if pid is not None:
            raise
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return int(content.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """Of all its threads, user and system; in steps of a clock tick."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ProcessUsage:
    """How much of a core this process uses, averaged, and its memory.

    `cpu_seconds` are those of this process so far, all its threads.
    """

    def __init__(
        self,
        stopwatch: Callable[[], float],
        cpu_seconds: Callable[[], float],
        resident: Callable[[], int] = resident_bytes,
    ) -> None:
        self._stopwatch = stopwatch
        self._cpu_seconds = cpu_seconds
        #: Bytes that are in memory now.
        self.resident_bytes = resident
        #: (when, CPU seconds so far), the oldest first.
        self._samples: deque[tuple[float, float]] = deque(
            [(stopwatch(), cpu_seconds())], maxlen=int(WINDOW_SECONDS / _APART_SECONDS) + 1
        )

    def __len__(self) -> int:
        return len(self._samples)

    def sample(self) -> None:
        """To be called often; it looks at a clock, and rarely at more."""
        now = self._stopwatch()
        if now - self._samples[-1][0] >= _APART_SECONDS:
            self._samples.append((now, self._cpu_seconds()))

    def cores_used(self) -> float:
        """Over the last minute, or since the start: 0.5 is half of one core."""
        began, spent = self._samples[0]
        seconds = self._stopwatch() - began
        return (self._cpu_seconds() - spent) / seconds if seconds > 0 else 0.0
