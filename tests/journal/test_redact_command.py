"""`bigfleet replay DIR --redact OUT`, from file to file."""

from pathlib import Path

from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.journal.frames import records_in
from bigfleet.journal.journal_file import JournalLimits, RealDisk
from bigfleet.journal.segments import segments_in
from tests.journal.test_the_files_of_a_journal import written


def test_the_redacted_files_replay_identically_and_name_nothing(tmp_path: Path) -> None:
    directory, out = tmp_path / "journal", tmp_path / "out"
    written(directory, 30, JournalLimits(segment_bytes=2000), RealDisk())
    done = CliRunner().invoke(cli, ["replay", str(directory), "--redact", str(out)])
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(cli, ["replay", str(out)])
    assert again.exit_code == 0, again.output
    assert again.output.startswith("30 of 30 cycles identical")
    names = [segment.path.name for segment in segments_in(directory)]
    assert [segment.path.name for segment in segments_in(out)] == names
    for segment in segments_in(out):
        for _, record in records_in(memoryview(segment.path.read_bytes())):
            assert b"shard-0" not in record


def test_a_directory_that_exists_is_not_written_to(tmp_path: Path) -> None:
    directory = tmp_path / "journal"
    written(directory, 3, JournalLimits(), RealDisk())
    done = CliRunner().invoke(cli, ["replay", str(directory), "--redact", str(tmp_path)])
    assert done.exit_code == 2
    assert "exists; name a directory that does not" in done.output
