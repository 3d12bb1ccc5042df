"""Thousands of cycles with stock-outs, preemptions and restarts decide the same again."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.journal.replay import replayed
from bigfleet.journal.segments import records_in_order, segments_of
from bigfleet.model.actions import ActionKind
from tests.journal.lives import START, LivingFleet
from tests.journal.test_another_process_decides_the_same import assert_identical
from tests.journal.test_another_process_decides_the_same import replayed as replayed_elsewhere

CYCLES_OF_AN_EPOCH = 20
#: A fleet runs empty after a while: demand and machines leave it. So another one takes its place.
EPOCHS_OF_A_FLEET = 2
#: So that holds and reservations end within a life.
CYCLE_SECONDS = 40


def lived(cycles: int, directory: Path) -> Counter[str]:
    """Records a life in the directory; counts what happened in it."""
    happened: Counter[str] = Counter()
    life = LivingFleet(0)
    for epoch in range(1, cycles // CYCLES_OF_AN_EPOCH + 1):
        if epoch % EPOCHS_OF_A_FLEET == 0:
            life = LivingFleet(epoch)
        else:
            life.restart()
        life.simulator.cycle_seconds = CYCLE_SECONDS
        limits = JournalLimits(segment_bytes=20_000)
        file = JournalFile(directory, "shard-0", epoch, "0.3.0", limits)
        file.prepare()
        for cycle in life.cycles(CYCLES_OF_AN_EPOCH):
            file.record(cycle, START)
            happened.update(_seen_in(cycle))
            if cycle.given.cycle % 10 == 0:
                happened["held"] += life.run_out()
        file.close()
    return happened


def _seen_in(cycle: FinishedCycle) -> Counter[str]:
    kinds = cycle.decision.outcome.action_columns.kind.tolist()
    return Counter(ActionKind(kind).label for kind in kinds)


def with_small_shares(cycles: Iterator[RecordedCycle]) -> Iterator[RecordedCycle]:
    """So that workers share even a small fleet."""
    for cycle in cycles:
        options = replace(cycle.given.options, smallest_share=1, most_conflicts=1.0)
        yield replace(cycle, given=replace(cycle.given, options=options))


@pytest.mark.parametrize(
    ("cycles", "cpu"),
    [
        (600, ""),
        pytest.param(10_000, "generic", marks=pytest.mark.nightly("ten thousand, five times")),
    ],
)
def test_a_long_life_replays_identically_with_any_number_of_workers(
    cycles: int, cpu: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cache = str(tmp_path_factory.mktemp("kernels"))
    elsewhere = {"NUMBA_CPU_NAME": cpu, "NUMBA_CACHE_DIR": cache} if cpu else {}
    happened = lived(cycles, tmp_path)
    assert {kind.label for kind in ActionKind} | {"held"} <= {*+happened}
    segments = segments_of(tmp_path)
    for workers in (1, 2, 8):
        history = History()
        recorded = with_small_shares(history.cycles(records_in_order(segments)))
        with ThreadPoolExecutor(workers) as threads:
            again = [
                each.identical
                for each in replayed(recorded, workers=workers, run_workers=threads.map)
            ]
        assert history.gaps == []
        assert again == [True] * cycles
    # Another process with other hashes, as on another machine; by night with kernels that are
    # compiled anew, without the vector instructions of this machine.
    told = replayed_elsewhere(tmp_path, "--workers", "8", PYTHONHASHSEED="4242", **elsewhere)
    assert_identical(told)
    assert told["cycles"] == cycles
