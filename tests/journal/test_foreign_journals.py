"""What is not a journal, is of a later version, or of another shard: told with the file, and never
answered from."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.cli.main import cli
from bigfleet.journal.frames import frame_of
from bigfleet.journal.segments import segment_name
from bigfleet.model.journal import FORMAT_VERSION, JournalHeader, JournalRecord
from bigfleet.wire.journal_records import record_bytes, record_of
from tests.journal.lives import LivingFleet
from tests.journal.test_recorded_cycles_replay import recorded

SEED = 11
#: Every verb that is asked of a journal in its own way.
VERBS: tuple[tuple[str, ...], ...] = (
    ("replay", "{}"),
    ("needs", "--journal", "{}"),
    ("why", "cluster/shop", "--journal", "{}"),
    ("whatif", "--zone-loss", "a", "--journal", "{}"),
    ("reports", "thrash", "--journal", "{}"),
)


def asked(verb: tuple[str, ...], journal: Path) -> Result:
    return CliRunner().invoke(cli, [word.format(journal) for word in verb])


def life(shard_id: str = "shard-0", epoch: int = 3, format_version: int = FORMAT_VERSION) -> bytes:
    """Some cycles, under another header."""

    def changed(record: JournalRecord) -> JournalRecord:
        if not isinstance(record.body, JournalHeader):
            return record
        head = replace(record.body, shard_id=shard_id, epoch=epoch, format_version=format_version)
        return replace(record, body=head)

    told = map(record_of, recorded(list(LivingFleet(SEED).cycles(5))))
    return b"".join(frame_of(record_bytes(changed(each))) for each in told)


def unknown_record() -> bytes:
    return frame_of(pb.JournalRecord(seq=99, cycle=6).SerializeToString())


FOREIGN: dict[str, tuple[Callable[[], bytes], str]] = {
    "a text": (lambda: b"this is a text and not a journal\n" * 9, "its head was damaged"),
    "packed": (lambda: gzip.compress(life()), "its head was damaged"),
    "frames of something else": (lambda: frame_of(b"\xff\xff\xff"), "not a record of a journal"),
    "a later format": (
        lambda: life(format_version=FORMAT_VERSION + 1),
        f"this version reads up to {FORMAT_VERSION}",
    ),
    "a later kind of record": (
        lambda: life() + unknown_record(),
        "it holds nothing this version knows; was it written by a later one?",
    ),
}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_cannot_be_read_is_told_with_the_file(
    kind: str, verb: tuple[str, ...], tmp_path: Path
) -> None:
    content, why = FOREIGN[kind]
    file = tmp_path / segment_name(3, 1)
    file.write_bytes(content())
    answer = asked(verb, tmp_path)
    assert answer.exit_code == 2
    assert f"{file}, " in answer.stderr
    assert "after cycle " in answer.stderr
    assert why in answer.stderr
    assert answer.stdout == ""


def test_segments_of_two_shards_are_not_one_journal(tmp_path: Path) -> None:
    (tmp_path / segment_name(3, 1)).write_bytes(life())
    (tmp_path / segment_name(4, 1)).write_bytes(life(shard_id="shard-7", epoch=4))
    answer = asked(("replay", "{}"), tmp_path)
    assert answer.exit_code == 2
    assert "of two shards, shard-0 before it and shard-7 from here on" in answer.stderr


@pytest.mark.parametrize("verb", VERBS[1:], ids=lambda verb: verb[0])
def test_a_journal_that_has_just_begun_has_no_cycle_to_ask_about(
    verb: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / segment_name(3, 1)).write_bytes(b"")
    answer = asked(verb, tmp_path)
    assert answer.exit_code == 3
    assert "9223372036854775808" not in answer.stderr
