"""One past cycle costs what lies between it and the key frame before it, not a whole segment."""

from pathlib import Path

import pytest

from bigfleet.journal.digests import output_digest
from bigfleet.journal.history import LATEST, History, cycle_at
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.segments import UnreadableJournal, records_in_order, segments_of
from bigfleet.model.journal import JournalHeader, Keyframe
from tests.journal.lives import START, LivingFleet

SEED, EPOCH, CYCLES = 11, 3, 60


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One segment with several key frames."""
    directory = tmp_path_factory.mktemp("journal")
    file = JournalFile(directory, "shard-0", EPOCH, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in LivingFleet(SEED).cycles(CYCLES):
        file.record(cycle, START)
    file.close()
    assert len(segments_of(directory)) == 1
    return directory


@pytest.fixture(scope="module")
def keyframes(journal: Path) -> list[int]:
    records = records_in_order(segments_of(journal))
    found = [record.cycle for record in records if isinstance(record.body, Keyframe)]
    assert len(found) > 2
    return found


def test_reading_begins_at_the_last_key_frame_up_to_the_cycle(
    journal: Path, keyframes: list[int]
) -> None:
    for cycle in range(1, CYCLES + 1):
        header, frame, *_ = records_in_order(segments_of(journal), (EPOCH, cycle))
        assert isinstance(header.body, JournalHeader)
        assert isinstance(frame.body, Keyframe)
        assert frame.cycle == max(each for each in keyframes if each <= cycle)


def test_every_cycle_found_is_the_one_that_was_recorded(journal: Path) -> None:
    whole = list(History().cycles(records_in_order(segments_of(journal))))
    for recorded in whole:
        found = cycle_at(segments_of(journal), (EPOCH, recorded.given.cycle))
        assert found is not None
        again, then = found.recorded.given, recorded.given
        assert (again.cycle, again.now, again.memory) == (then.cycle, then.now, then.memory)
        assert output_digest(again.decide()) == output_digest(then.decide())


def test_the_latest_cycle_is_found_from_the_last_key_frame(journal: Path) -> None:
    found = cycle_at(segments_of(journal), LATEST)
    assert found is not None
    assert found.recorded.given.cycle == CYCLES


def test_damage_before_what_is_wanted_is_still_told(
    journal: Path, keyframes: list[int], tmp_path: Path
) -> None:
    (segment,) = segments_of(journal)
    content = bytearray(segment.path.read_bytes())
    content[40] ^= 1
    (tmp_path / segment.path.name).write_bytes(content)
    with pytest.raises(UnreadableJournal, match="damaged"):
        cycle_at(segments_of(tmp_path), (EPOCH, keyframes[-1]))


def test_damage_behind_what_is_wanted_is_not_met(
    journal: Path, keyframes: list[int], tmp_path: Path
) -> None:
    (segment,) = segments_of(journal)
    content = bytearray(segment.path.read_bytes())
    content[-1] ^= 1
    (tmp_path / segment.path.name).write_bytes(content)
    assert cycle_at(segments_of(tmp_path), (EPOCH, keyframes[1])) is not None
