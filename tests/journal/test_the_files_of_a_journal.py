"""Segments on disk: torn tails are cut, damage is named, a full disk costs records only."""

import errno
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from bigfleet.journal.history import History
from bigfleet.journal.journal_file import JournalFile, JournalLimits, RealDisk
from bigfleet.journal.replay import replayed
from bigfleet.journal.segments import (
    UnreadableJournal,
    cut_torn_tail,
    records_in_order,
    segments_in,
    segments_of,
)
from bigfleet.model.options import SECOND
from tests.journal.lives import START, LivingFleet

SEED = 11
DAY = 24 * 3600 * SECOND


class SmallDisk(RealDisk):
    """Has room for so many bytes in all; a write beyond writes what fits."""

    def __init__(self, directory: Path, room: int) -> None:
        self._directory = directory
        self.room = room

    def write(self, file: BinaryIO, content: bytes) -> None:
        used = sum(path.stat().st_size for path in self._directory.iterdir())
        fits = content[: max(0, self.room - used)]
        super().write(file, fits)
        if len(fits) < len(content):
            raise OSError(errno.ENOSPC, "No space left on device")


def written(directory: Path, cycles: int, limits: JournalLimits, disk: RealDisk) -> JournalFile:
    file = JournalFile(directory, "shard-0", 3, "0.3.0", limits, disk)
    file.prepare()
    for cycle in LivingFleet(SEED).cycles(cycles):
        file.record(cycle, START)
    file.close()
    return file


def read_cycles(directory: Path) -> tuple[list[int], History]:
    history = History()
    found = list(history.cycles(records_in_order(segments_of(directory))))
    assert all(each.identical for each in replayed(found))
    return [each.given.cycle for each in found], history


def test_what_was_written_is_read_back_in_order(tmp_path: Path) -> None:
    written(tmp_path, 30, JournalLimits(segment_bytes=2000), RealDisk())
    assert len(segments_in(tmp_path)) > 2
    cycles, history = read_cycles(tmp_path)
    assert cycles == list(range(1, 31))
    assert history.gaps == []


def test_every_segment_can_be_read_by_itself(tmp_path: Path) -> None:
    written(tmp_path, 30, JournalLimits(segment_bytes=2000), RealDisk())
    segments = segments_in(tmp_path)
    for segment in segments[:-2]:
        segment.path.unlink()
    cycles, _ = read_cycles(tmp_path)
    assert cycles == list(range(segments[-2].first_cycle, 31))


def test_old_segments_are_deleted_whole(tmp_path: Path) -> None:
    limits = JournalLimits(max_bytes=6000, segment_bytes=2000)
    file = written(tmp_path, 60, limits, RealDisk())
    assert sum(segment.size for segment in segments_in(tmp_path)) < 12_000
    cycles, _ = read_cycles(tmp_path)
    assert cycles[-1] == 60
    assert cycles[0] > 1
    assert file.first_cycle == cycles[0]


def test_segments_that_are_too_old_are_deleted_and_what_is_left_begins_with_a_key_frame(
    tmp_path: Path,
) -> None:
    written(tmp_path, 30, JournalLimits(segment_bytes=2000), RealDisk())
    before = segments_in(tmp_path)
    for segment in before[:-2]:
        os.utime(segment.path, ns=(START - DAY, START - DAY))
    for segment in before[-2:]:
        os.utime(segment.path, ns=(START, START))
    limits = JournalLimits(max_age_seconds=3600.0)
    file = JournalFile(tmp_path, "shard-0", 4, "0.3.0", limits)
    file.prepare()
    for cycle in LivingFleet(SEED).cycles(2):
        file.record(cycle, START)
    file.close()
    kept = segments_in(tmp_path)
    assert [each.path for each in kept[:-1]] == [each.path for each in before[-2:]]
    cycles, _ = read_cycles(tmp_path)
    assert cycles == [*range(before[-2].first_cycle, 31), 1, 2]


def test_what_an_earlier_process_recorded_is_not_of_this_epoch(tmp_path: Path) -> None:
    written(tmp_path, 30, JournalLimits(), RealDisk())
    file = JournalFile(tmp_path, "shard-0", 4, "0.3.0", JournalLimits())
    file.prepare()
    assert file.first_cycle == 0
    for cycle in LivingFleet(SEED).cycles(5):
        file.record(cycle, START)
    file.close()
    assert file.first_cycle == 1


@pytest.mark.parametrize("lost", [1, 7, 8, 9, 40])
def test_a_crash_within_a_write_loses_the_last_record_only(tmp_path: Path, lost: int) -> None:
    written(tmp_path, 10, JournalLimits(), RealDisk())
    (segment,) = segments_in(tmp_path)
    whole = segment.path.read_bytes()
    segment.path.write_bytes(whole[:-lost])
    cycles, _ = read_cycles(tmp_path)
    assert cycles == list(range(1, 10))
    assert cut_torn_tail(segment.path) > 0
    assert cut_torn_tail(segment.path) == 0


def test_a_flipped_byte_is_named_with_the_cycle_before_it(tmp_path: Path) -> None:
    written(tmp_path, 10, JournalLimits(), RealDisk())
    (segment,) = segments_in(tmp_path)
    content = bytearray(segment.path.read_bytes())
    content[len(content) // 2] ^= 1
    segment.path.write_bytes(content)
    with pytest.raises(UnreadableJournal, match=r"after cycle \d+: at byte \d+"):
        read_cycles(tmp_path)


def test_a_disk_others_have_filled_costs_cycles_and_the_journal_says_which(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path, 3000)
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits(), disk)
    file.prepare()
    lost = []
    for cycle in LivingFleet(SEED).cycles(40):
        if cycle.given.cycle == 20:
            disk.room = 0
        if cycle.given.cycle == 30:
            disk.room = 10**6
        file.record(cycle, START)
        file.sync()
        if file.trouble:
            assert "No space left on device" in file.trouble
            lost.append(cycle.given.cycle)
    file.close()
    assert {*range(20, 30)} <= {*lost}
    assert file.gaps == len(lost)
    assert file.trouble == ""
    cycles, history = read_cycles(tmp_path)
    assert cycles == list(range(30, 41))
    assert "No space left on device" in history.gaps[-1].text


def test_quiet_cycles_that_wait_are_lost_with_the_write_that_fails(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path, 10**6)
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits(), disk)
    file.prepare()
    for cycle in LivingFleet(SEED).cycles(40):
        if cycle.given.cycle == 20:
            disk.room = 0
        if cycle.given.cycle == 30:
            disk.room = 10**6
        file.record(cycle, START)
    file.close()
    _, history = read_cycles(tmp_path)
    (gap,) = history.gaps
    first, count = int(gap.attributes["firstCycle"]), int(gap.attributes["cycles"])
    assert first <= 20
    assert first + count == 30
    assert file.gaps == count


def test_a_full_disk_gives_up_the_oldest_segment_and_goes_on(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path, 8000)
    file = written(tmp_path, 60, JournalLimits(segment_bytes=1500), disk)
    assert file.gaps == 0
    cycles, _ = read_cycles(tmp_path)
    assert cycles[-1] == 60
    assert cycles[0] > 1


def test_a_directory_without_a_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableJournal, match="is not a journal"):
        segments_of(tmp_path)
