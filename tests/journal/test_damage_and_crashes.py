"""A damaged byte is told with its cycle; a killed writer loses its last record at most."""

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

KILLED = 40
#: Records a life for ever, and says so after each cycle.
CHILD = """
import sys
from itertools import pairwise
from pathlib import Path
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from tests.journal.lives import START, LivingFleet

file = JournalFile(Path(sys.argv[1]), "shard-0", 3, "0.3.0", JournalLimits())
file.prepare()
for cycle in LivingFleet(11).cycles(10**9):
    file.record(cycle, START)
    file.sync()
    print(cycle.given.cycle, flush=True)
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


def test_a_killed_writer_loses_at_most_what_it_was_writing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as child:
        assert child.stdout is not None
        told = 0
        while told < KILLED:
            told = int(child.stdout.readline())
        child.kill()
        told = max([told, *map(int, child.stdout.read().split("\n")[:-1])])
    found = list(History().cycles(records_in_order(segments_of(tmp_path))))
    cycles = [each.given.cycle for each in found]
    assert cycles == list(range(1, len(cycles) + 1))
    assert len(cycles) >= told
    assert all(each.identical for each in replayed(found))


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
