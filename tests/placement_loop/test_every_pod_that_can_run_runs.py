"""Closed loops of engine, revised demand and scheduler over generated clusters keep their promises.

No pod is stuck that an empty machine would take; the cost is that of first fit decreasing, nearly;
nothing is decided in the last quarter; whoever is evicted finds a place; nothing is bought while
nobody waits. `BIGFLEET_NIGHTLY=1` runs 2,000 seeds.
"""

import os

import pytest

from tests.placement_loop.results import broken, result_of, table

RUNS = 100
#: The first seed of each batch of 100 runs; each batch alone keeps the promises.
FIRST_SEEDS = range(0, 2_000, RUNS) if os.environ.get("BIGFLEET_NIGHTLY") == "1" else (0,)


# About 40 s on one core that is not shared.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", FIRST_SEEDS)
def test_every_pod_that_can_run_runs(first: int) -> None:
    results = [result_of(seed) for seed in range(first, first + RUNS)]
    assert broken(results) == [], table(results)
