"""Notes of what happened beside the cycles: bounded, together, and no decision depends on them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.journal.frames import records_in
from bigfleet.journal.history import History
from bigfleet.journal.journal_file import JournalFile, JournalLimits, RealDisk
from bigfleet.journal.recorder import Note
from bigfleet.journal.replay import replayed
from bigfleet.journal.segments import (
    UnreadableJournal,
    records_in_order,
    records_of,
    segments_in,
    segments_of,
)
from bigfleet.journal.writer import MOST_NOTES, MOST_WAITING, JournalWriter
from bigfleet.model.actions import ActionKind
from bigfleet.model.journal import GAP, JournalEvent, JournalRecord
from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import ActionView, Disposition, StoryEvent, StorySource
from bigfleet.wire.journal_records import EVENT_RECORD, NOTES, OUTCOME, STORY, kind_of
from tests.journal.lives import START, LivingFleet
from tests.journal.test_recorded_cycles_replay import SEEDS

KINDS = (OUTCOME, STORY, EVENT_RECORD, NOTES)
#: Records cycles and notes for ever, and says after each cycle how many notes are written.
CHILD = """
import sys
from pathlib import Path
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from tests.journal.lives import START, LivingFleet
from tests.journal.test_notes_beside_the_cycles import notes_of

file = JournalFile(Path(sys.argv[1]), "shard-0", 3, "0.3.0", JournalLimits())
file.prepare()
for cycle in LivingFleet(11).cycles(10**9):
    file.record(cycle, START)
    file.note(notes_of(cycle.given.cycle))
    file.sync()
    print(cycle.given.cycle, flush=True)
"""
KILLED = 30


def event(text: str) -> JournalEvent:
    return JournalEvent("rollup_accepted", "shop", text, {"rows": "7"})


def notes_of(cycle: int) -> list[Note]:
    """One of each kind."""
    at = START + cycle
    story = StoryEvent(
        at, StorySource.PROVIDER, "it stands", machine=f"m-{cycle}", to_state=MachineState.IDLE
    )
    ended = ActionView(
        *(cycle, 0, ActionKind.PROVISION, f"m-{cycle}"),
        disposition=Disposition.ENQUEUED,
        outcome="success",
        at=at,
    )
    return [Note(cycle, at, body) for body in (ended, story, event(f"cycle {cycle}"))]


def written(directory: Path, seed: int, cycles: int, *, noted: bool) -> None:
    file = JournalFile(directory, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in LivingFleet(seed).cycles(cycles):
        file.record(cycle, START)
        if noted:
            assert file.note(notes_of(cycle.given.cycle)) == 0
    file.close()


def noted_in(directory: Path) -> list[JournalRecord]:
    segments = segments_of(directory)
    return [
        record
        for segment in segments
        for record in records_of(segment.path, last=segment is segments[-1], kinds=KINDS)
    ]


def of_notes(record: JournalRecord) -> Note:
    assert isinstance(record.body, ActionView | StoryEvent | JournalEvent)
    return Note(record.cycle, record.at, record.body)


def outcome_of_replay(
    directory: Path,
) -> Iterator[tuple[int, int, bool, tuple[bytes, bytes] | None]]:
    found = History().cycles(records_in_order(segments_of(directory)))
    for each in replayed(found):
        output = each.recorded.output
        digests = None if output is None else (output.digest, output.claimed_digest)
        yield each.recorded.given.cycle, each.recorded.given.at, each.identical, digests


@settings(max_examples=15)
@given(seed=SEEDS)
def test_a_journal_with_and_without_notes_replays_the_same(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    plain, noted = tmp_path_factory.mktemp("plain"), tmp_path_factory.mktemp("noted")
    written(plain, seed, 12, noted=False)
    written(noted, seed, 12, noted=True)
    with_notes = list(outcome_of_replay(noted))
    assert with_notes == list(outcome_of_replay(plain))
    assert all(identical for _, _, identical, _ in with_notes)
    wanted = [note for cycle in range(1, 13) for note in notes_of(cycle)]
    assert list(map(of_notes, noted_in(noted))) == wanted
    numbers = [record.seq for record in records_in_order(segments_of(noted))]
    assert numbers == sorted(set(numbers))


def test_notes_written_together_weigh_little(tmp_path: Path) -> None:
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    file.record(next(LivingFleet(11).cycles(1)), START)
    before = file.written_bytes
    file.note([note for cycle in range(100) for note in notes_of(cycle)])
    file.close()
    assert (file.written_bytes - before) / 300 < 12


@pytest.mark.parametrize("place", range(0, 60, 7))
def test_a_flipped_byte_in_a_note_is_told_with_the_cycle(tmp_path: Path, place: int) -> None:
    written(tmp_path, 11, 3, noted=True)
    path = segments_in(tmp_path)[0].path
    content = bytearray(path.read_bytes())
    starts = [
        at for at, record in records_in(memoryview(bytes(content))) if kind_of(record) == NOTES
    ]
    content[starts[1] + place] ^= 0x10
    path.write_bytes(content)
    seen: list[bool] = []
    again = replayed(History().cycles(records_in_order(segments_of(tmp_path))))
    with pytest.raises(UnreadableJournal, match="after cycle 2: at byte"):
        seen.extend(each.identical for each in again)
    assert seen
    assert all(seen)
    with pytest.raises(UnreadableJournal, match="at byte"):
        noted_in(tmp_path)


def test_a_killed_writer_loses_at_most_the_last_record_of_its_notes(tmp_path: Path) -> None:
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
    cycles = [cycle for cycle, _, _, _ in outcome_of_replay(tmp_path)]
    noted = list(map(of_notes, noted_in(tmp_path)))
    whole = len(noted) // 3
    assert len(noted) == 3 * whole
    assert cycles[-1] - 1 <= whole <= cycles[-1]
    assert whole >= told
    assert noted == [note for cycle in range(1, whole + 1) for note in notes_of(cycle)]


class GatedDisk(RealDisk):
    """Writes nothing before the gate is open."""

    def __init__(self) -> None:
        self.gate, self.reached = Event(), Event()

    def write(self, file: BinaryIO, content: bytes) -> None:
        self.reached.set()
        self.gate.wait()
        super().write(file, content)


def test_a_slow_disk_costs_notes_that_are_counted_and_nothing_else(tmp_path: Path) -> None:
    disk, cycles = GatedDisk(), list(LivingFleet(11).cycles(4))
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits(), disk)
    writer = JournalWriter(file, lambda: START, lambda: 0.0)
    writer.start()
    writer.offer(cycles[0])
    disk.reached.wait()
    room = [writer.note(Note(1, START, event(str(each)))) for each in range(MOST_NOTES + 50)]
    assert room.count(False) == 50
    for cycle in cycles[1:]:
        writer.offer(cycle)
    disk.gate.set()
    writer.close()
    assert writer.gaps == 50
    assert [cycle for cycle, _, _, _ in outcome_of_replay(tmp_path)] == [1, 2, 3, 4]
    noted = [record.body for record in noted_in(tmp_path)]
    assert noted.count(event("0")) == 1
    (lost,) = [body for body in noted if isinstance(body, JournalEvent) and body.kind == GAP]
    assert lost.attributes == {"notes": "50"}
    assert lost.text.startswith("50 notes of what happened beside the cycles are not recorded")
    assert len(noted) == MOST_NOTES + 1


def test_cycles_beyond_the_queue_of_a_slow_disk_are_one_gap_with_their_number(
    tmp_path: Path,
) -> None:
    """The cycle that hands its record over never waits for the disk."""
    disk, cycles = GatedDisk(), list(LivingFleet(11).cycles(MOST_WAITING + 12))
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits(), disk)
    writer = JournalWriter(file, lambda: START, lambda: 0.0)
    writer.start()
    writer.offer(cycles[0])
    disk.reached.wait()
    for cycle in cycles[1:-1]:
        writer.offer(cycle)
    assert writer.gaps == 10
    disk.gate.set()
    writer.close()
    history = History()
    kept = list(history.cycles(records_in_order(segments_of(tmp_path))))
    assert [each.given.cycle for each in kept] == list(range(1, MOST_WAITING + 2))
    assert all(each.identical for each in replayed(kept))
    (gap,) = history.gaps
    assert gap.attributes == {"firstCycle": str(MOST_WAITING + 2), "cycles": "10"}
    assert "they came faster than they could be written" in gap.text


HOSTILE = ["", "\0", "\x1b[31mred", "<img onerror=x>", "\u202eright to left", "\n\n", "é" * 1000]


@settings(max_examples=30)
@given(texts=st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20)), max_size=8))
def test_hostile_texts_are_kept_as_they_are(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("journal")
    file = JournalFile(directory, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    file.record(next(LivingFleet(11).cycles(1)), START)
    assert file.note([Note(1, START, event(text)) for text in texts]) == 0
    file.close()
    assert [record.body for record in noted_in(directory)] == [event(text) for text in texts]


def test_what_is_no_text_at_all_is_lost_alone_and_counted(tmp_path: Path) -> None:
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    writer = JournalWriter(file, lambda: START, lambda: 0.0)
    writer.start()
    writer.offer(next(LivingFleet(11).cycles(1)))
    for text in ("before", "\ud800", "after"):
        writer.note(Note(1, START, event(text)))
    writer.close()
    assert file.trouble == ""
    assert writer.gaps == 1
    noted = [record.body for record in noted_in(tmp_path)]
    assert noted[:2] == [event("before"), event("after")]
    assert isinstance(noted[2], JournalEvent)
    assert noted[2].attributes == {"notes": "1"}
