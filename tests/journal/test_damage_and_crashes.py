"""A damaged byte is told with its cycle; a killed writer loses its last record at most."""

import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.frames import BrokenFrame, frame_of, records_in, sound_length
from bigfleet.journal.history import BrokenJournal, History
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.journal.replay import replayed
from bigfleet.journal.segments import (
    UnreadableJournal,
    cut_torn_tail,
    records_in_order,
    segments_in,
    segments_of,
)
from bigfleet.model.machines import CapacityType, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import SECOND, EngineOptions
from tests.journal.lives import START, LivingFleet

#: Fewer than the queue of the writer holds: none is dropped.
LIVED = 60
#: Records a life as a shard does, by the writing thread, and is killed within its 25th write: so
#: many bytes of it reach the file. It says how many records are whole after every write.
CHILD = f"""
import os
import signal
import sys
from pathlib import Path
from time import monotonic
from bigfleet.journal.journal_file import JournalFile, JournalLimits, RealDisk
from bigfleet.journal.writer import JournalWriter
from tests.journal.lives import START, LivingFleet

class KillingDisk(RealDisk):
    writes = 0

    def write(self, file, content):
        self.writes += 1
        if self.writes == 25:
            super().write(file, content[:int(sys.argv[2])])
            os.kill(os.getpid(), signal.SIGKILL)
        super().write(file, content)

cycles = list(LivingFleet(11).cycles({LIVED}))
file = JournalFile(Path(sys.argv[1]), "shard-0", 3, "0.3.0", JournalLimits(), KillingDisk())
writer = JournalWriter(file, lambda: START, monotonic)
writer.listen(lambda records: print(len(records), flush=True))
writer.start()
for cycle in cycles:
    writer.offer(cycle)
writer.close()
"""


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("journal")
    file = JournalFile(directory, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in LivingFleet(11).cycles(12):
        file.record(cycle, START)
    file.close()
    return segments_in(directory)[0].path


@settings(max_examples=150)
@given(place=st.integers(0, 2**32), flipped=st.integers(1, 255))
def test_any_flipped_byte_is_told_with_the_cycle_and_never_as_another_decision(
    journal: Path, tmp_path_factory: pytest.TempPathFactory, place: int, flipped: int
) -> None:
    content = bytearray(journal.read_bytes())
    content[place % len(content)] ^= flipped
    damaged = tmp_path_factory.mktemp("damaged") / journal.name
    damaged.write_bytes(content)
    seen: list[bool] = []
    again = replayed(History().cycles(records_in_order(segments_of(damaged))))
    with pytest.raises((UnreadableJournal, BrokenJournal), match=r"cycle \d+"):
        seen.extend(each.identical for each in again)
    assert all(seen)
    assert cut_torn_tail(damaged) == 0


def test_a_damaged_length_does_not_pass_for_a_torn_end() -> None:
    frames = [frame_of(b"one"), frame_of(b"two"), frame_of(b"three")]
    content = bytearray(b"".join(frames))
    content[len(frames[0]) + 2] ^= 0x40
    with pytest.raises(BrokenFrame, match="head was damaged") as found:
        list(records_in(memoryview(bytes(content))))
    assert not found.value.torn
    assert sound_length(memoryview(bytes(content))) == len(content)


def test_zeros_that_a_lost_block_left_are_a_torn_end() -> None:
    sound = frame_of(b"one")
    content = memoryview(sound + bytes(100))
    with pytest.raises(BrokenFrame) as found:
        list(records_in(content))
    assert found.value.torn
    assert sound_length(content) == len(sound)


@pytest.mark.parametrize("bytes_written", [5, 40], ids=["within its head", "within its content"])
def test_a_writer_killed_in_a_write_loses_at_most_what_it_was_writing(
    tmp_path: Path, bytes_written: int
) -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), str(bytes_written)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    (segment,) = segments_in(tmp_path)
    torn = segment.path.stat().st_size
    records = list(records_in_order(segments_of(tmp_path)))
    assert len(records) == sum(map(int, child.stdout.split()))
    found = list(History().cycles(records))
    cycles = [each.given.cycle for each in found]
    assert cycles == list(range(1, len(cycles) + 1))
    assert 0 < len(cycles) < LIVED
    assert all(each.identical for each in replayed(found))
    # The next life of the shard begins a segment of its own, and the torn end is gone.
    after = JournalFile(tmp_path, "shard-0", 4, "0.3.0", JournalLimits())
    after.prepare()
    assert segment.path.stat().st_size == torn - bytes_written
    after.record(next(iter(LivingFleet(11).cycles(1))), START)
    after.close()
    again = list(History().cycles(records_in_order(segments_of(tmp_path))))
    assert len(again) == len(found) + 1
    assert all(each.identical for each in replayed(again))


def test_a_quiet_cycle_costs_at_most_a_hundred_bytes(tmp_path: Path) -> None:
    inventory, cycles = Inventory(), 300
    for number in range(50):
        inventory.insert(
            Machine(f"m-{number}", MachineState.SPECULATIVE, CapacityType.ON_DEMAND),
        )
    snapshot, needs = inventory.snapshot(), NeedsTable().freeze()
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    sizes = []
    for cycle in range(1, cycles + 1):
        now = START + cycle * SECOND + cycle * 12_345
        given = EngineInput(cycle, now, snapshot, needs, EngineMemory(), EngineOptions())
        file.record(FinishedCycle(given, given.decide()), now)
        file.sync()
        sizes.append(file.written_bytes)
    file.close()
    assert sizes[0] < sizes[1]
    assert max(after - before for before, after in pairwise(sizes)) <= 100
