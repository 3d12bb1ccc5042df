"""The journal of the diff's measures is lived: machines do what was decided, and it replays."""

from pathlib import Path

from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.bench.journal.lived_journal import live
from bigfleet.journal.history import History
from bigfleet.journal.replay import replayed
from bigfleet.journal.segments import records_in_order, segments_of

CYCLES = 40


def test_it_decides_something_and_replays_as_it_was(tmp_path: Path) -> None:
    lived = live(SHAPES["uber-5k"].build(0.05), tmp_path, CYCLES, lambda text: None)
    assert lived.cycles == CYCLES
    assert 0 < lived.deciding_cycles < CYCLES
    again = list(replayed(History().cycles(records_in_order(segments_of(tmp_path)))))
    assert (len(again), all(each.identical for each in again)) == (CYCLES, True)
    states = [each.recorded.given.snapshot.columns.state.tolist() for each in again]
    assert states[0] != states[-1]


def test_every_run_lives_the_same(tmp_path: Path) -> None:
    workload = SHAPES["uber-5k"].build(0.05)
    first, second = (
        live(workload, tmp_path / name, CYCLES, lambda text: None) for name in ("first", "second")
    )
    assert first == second
