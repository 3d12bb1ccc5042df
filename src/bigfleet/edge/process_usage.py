"""CPU and memory of this process, for the people who ask how it is."""

from collections import deque
from collections.abc import Callable

from bigfleet.edge.heap import resident_bytes

#: Cores are an average over so long, of samples that are so far apart.
WINDOW_SECONDS = 60.0
_APART_SECONDS = 5.0


class ProcessUsage:
    """`cpu_seconds`: of this process so far, all its threads."""

    def __init__(
        self,
        stopwatch: Callable[[], float],
        cpu_seconds: Callable[[], float],
        resident: Callable[[], int] = resident_bytes,
    ) -> None:
        self._stopwatch = stopwatch
        self._cpu_seconds = cpu_seconds
        #: Bytes that are in memory now; 0: the system does not tell.
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

    def cores(self) -> float:
        """Used over the last minute, or since the start: 0.5 is half of one core."""
        began, spent = self._samples[0]
        seconds = self._stopwatch() - began
        return (self._cpu_seconds() - spent) / seconds if seconds > 0 else 0.0
