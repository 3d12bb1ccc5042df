"""The killing test: does this copy of the engine decide what the oracle decides?

Imported in a process of its own, with the copy first on the path and kernels as plain Python.
Seeds are fixed and the first difference ends it.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np

import bigfleet
from bigfleet.plan.cycle import decide_fleet
from tests.generated.agreement import differences
from tests.generated.fleets import fleet_of_seed
from tests.mutants.mutant import Seen
from tests.mutants.recorded_simulator import loop_disagreement
from tests.oracle import decide as oracle


def cycle_disagreement(seed: int) -> str | None:
    """Every other fleet is decided by three workers, however small it is."""
    fleet = fleet_of_seed(seed)
    always_cut = replace(fleet.options, smallest_share=1, most_conflicts=1.0)
    fleet = replace(fleet, options=always_cut)
    found = differences(decide_fleet(fleet, workers=1 + 2 * (seed % 2)), oracle.decide(fleet))
    return found[0] if found else None


def noticed(disagreement: Callable[[int], str | None], seed: int) -> str | None:
    """A mutant may also fall over: the exercises are known to pass on the engine as it is."""
    try:
        return disagreement(seed)
    except Exception as raised:  # noqa: BLE001
        return f"{type(raised).__name__}: {raised}"


def killed_by(package: Path, first: Seen, fleets: int, loops: int) -> str | None:
    """The exercise that noticed this copy, such as `fleet 17`, and what it noticed."""
    if Path(bigfleet.__file__).parent != package or not numba.config.DISABLE_JIT:
        raise RuntimeError(f"{bigfleet.__file__} is tested instead of {package}, or compiled")
    # As compiled: kernels wrap around where they mix hashes, and a mutant's NaN is its own affair.
    np.seterr(over="ignore", invalid="ignore")
    exercises = [("fleet", cycle_disagreement, fleets), ("loop", loop_disagreement, loops)]
    if first == "loop":
        exercises.reverse()
    for name, disagreement, seeds in exercises:
        for seed in range(seeds):
            found = noticed(disagreement, seed)
            if found is not None:
                return f"{name} {seed}\n{found}"
    return None
