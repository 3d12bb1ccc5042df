"""The killing test: does this copy of the engine decide what the oracle decides?

Run as a module in a process of its own, with the copy first on PYTHONPATH and kernels as plain
Python. Seeds are fixed and the first difference ends it. Exit 0: the copy agrees everywhere;
KILLED: it does not, and standard output says where; anything else: the test itself went wrong.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import bigfleet
from bigfleet.plan.cycle import decide_fleet
from tests.generated.agreement import differences
from tests.generated.fleets import fleet_of_seed
from tests.mutants.kept_world import loop_disagreement
from tests.oracle import decide as oracle

KILLED = 3
FLEETS = 2_500
LOOPS = 100


def cycle_disagreement(seed: int) -> str | None:
    """Every other fleet is decided by three workers, however small it is."""
    fleet = fleet_of_seed(seed)
    fleet = replace(fleet, options=replace(fleet.options, smallest_share=1))
    found = differences(decide_fleet(fleet, workers=1 + 2 * (seed % 2)), oracle.decide(fleet))
    return found[0] if found else None


def noticed(disagreement: Callable[[int], str | None], seed: int) -> str | None:
    """A mutant may also fall over: the exercises are known to pass on the engine as it is."""
    try:
        return disagreement(seed)
    except Exception as raised:  # noqa: BLE001
        return f"{type(raised).__name__}: {raised}"


def main(first: str, package: str) -> int:
    if Path(bigfleet.__file__).parent != Path(package):
        raise RuntimeError(f"{bigfleet.__file__} is imported instead of {package}")
    # Compiled kernels wrap around silently where they mix hashes.
    np.seterr(over="ignore")
    exercises = [("fleet", cycle_disagreement, FLEETS), ("loop", loop_disagreement, LOOPS)]
    if first == "loop":
        exercises.reverse()
    for name, disagreement, seeds in exercises:
        for seed in range(seeds):
            found = noticed(disagreement, seed)
            if found is not None:
                sys.stdout.write(f"{name} {seed}\n{found}\n")
                return KILLED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
