"""A data dir has one shard, and each of its starts a higher epoch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bigfleet.edge.files import DirLock
from bigfleet.model.errors import StartRefused
from bigfleet.shard.store import next_epoch
from tests.store.disks import full_disk


def test_a_second_process_on_the_same_dir_is_refused_and_told_whose_it_is(tmp_path: Path) -> None:
    lock = DirLock(tmp_path / "data", "shard")
    code = (
        "import sys; from pathlib import Path; from bigfleet.edge.files import DirLock; "
        "DirLock(Path(sys.argv[1]), 'shard')"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "data")]
    second = subprocess.run(words, capture_output=True, text=True)
    lock.release()
    assert second.returncode != 0
    assert f"is in use by process {os.getpid()}; stop that one" in second.stderr


def test_the_lock_goes_with_its_holder(tmp_path: Path) -> None:
    DirLock(tmp_path, "shard").release()
    DirLock(tmp_path, "shard").release()


def test_a_data_dir_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartRefused, match="name another with --data-dir"):
        DirLock(tmp_path / "file" / "data", "shard")


def test_each_start_has_the_next_epoch_and_the_first_is_one(tmp_path: Path) -> None:
    assert [next_epoch(tmp_path) for _ in range(3)] == [1, 2, 3]
    assert (tmp_path / "epoch").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"seven", b"-3\n", b"0", b"1.5", b"\xff\xfe", b"9" * 40])
def test_an_epoch_that_cannot_be_read_refuses_the_start_and_stays(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "epoch").write_bytes(content)
    with pytest.raises(StartRefused, match="Write a number into it that is surely higher"):
        next_epoch(tmp_path)
    assert (tmp_path / "epoch").read_bytes() == content


def test_an_epoch_that_cannot_be_written_refuses_the_start_and_stays(tmp_path: Path) -> None:
    (tmp_path / "epoch").write_text("41\n")
    with full_disk(), pytest.raises(StartRefused, match="cannot be written"):
        next_epoch(tmp_path)
    assert next_epoch(tmp_path) == 42
