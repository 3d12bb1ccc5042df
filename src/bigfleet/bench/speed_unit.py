"""The machine-speed unit: what the same small work costs on this machine, now.

Absolute times do not travel between machines or noisy hours; times in this unit do.
"""

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

GATHERS = 9
INDICES = 5_000_000
ELEMENTS = 4_000_000
SEED = 0


def unit_ms(clock: Callable[[], float] = perf_counter) -> float:
    """Median of nine gathers of five million random elements, summed, in milliseconds."""
    rng = np.random.Generator(np.random.PCG64(SEED))
    elements = np.arange(ELEMENTS, dtype=np.int64)
    index = rng.integers(0, ELEMENTS, INDICES, dtype=np.int64)
    times = []
    for _ in range(GATHERS):
        started = clock()
        elements[index].sum()
        times.append(clock() - started)
    return median(times) * 1000
