"""What was recorded decides the same again: every cycle, whatever happened in between."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.recorder import FinishedCycle, Recorder
from bigfleet.journal.replay import replayed
from bigfleet.wire.journal_records import record_of
from tests.journal.lives import LivingFleet

SEEDS = st.integers(0, 2**40)
CYCLES = 25


def recorded(cycles: list[FinishedCycle]) -> list[bytes]:
    recorder = Recorder("shard-0", 3, "0.3.0")
    records = [record for cycle in cycles for record in recorder.record(cycle)]
    return [*records, *recorder.flush()]


def read(records: list[bytes]) -> list[RecordedCycle]:
    return list(History().cycles(map(record_of, records)))


@settings(max_examples=60)
@given(seed=SEEDS)
def test_every_cycle_of_a_living_fleet_replays_identically(seed: int) -> None:
    cycles = list(LivingFleet(seed).cycles(CYCLES))
    history = read(recorded(cycles))
    assert [each.given.cycle for each in history] == [each.given.cycle for each in cycles]
    different = [r.recorded.given.cycle for r in replayed(history) if not r.identical]
    assert different == []
