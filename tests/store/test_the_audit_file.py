"""The audit file: complete lines, rotated by size, and never in the way of the shard."""

from pathlib import Path
from queue import SimpleQueue

import orjson

from bigfleet.shard.audit import AuditFile
from tests.store.disks import full_disk

PATIENCE = 60
LINE = {"time": "2026-01-01T00:00:00Z", "cycle": 7, "kind": "Bootstrap", "machine": "m-1"}


def lines_of(path: Path) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_one_line_is_one_object(tmp_path: Path) -> None:
    audit = AuditFile(tmp_path / "audit.jsonl", 10**6, 3)
    audit.write(LINE)
    audit.write({**LINE, "machine": "two\nlines"})
    audit.close(PATIENCE)
    assert lines_of(tmp_path / "audit.jsonl") == [LINE, {**LINE, "machine": "two\nlines"}]


def test_a_later_start_goes_on_where_the_last_ended(tmp_path: Path) -> None:
    for number in range(2):
        audit = AuditFile(tmp_path / "audit.jsonl", 10**6, 3)
        audit.write({"start": number})
        audit.close(PATIENCE)
    assert lines_of(tmp_path / "audit.jsonl") == [{"start": 0}, {"start": 1}]


def test_a_file_of_its_size_makes_room_and_the_oldest_go(tmp_path: Path) -> None:
    audit = AuditFile(tmp_path / "audit.jsonl", 15, 2)
    for number in range(5):
        audit.write({"number": number})
        assert audit.flush(PATIENCE)
    audit.close(PATIENCE)
    found = {path.name: lines_of(path) for path in tmp_path.iterdir()}
    assert found == {
        "audit.jsonl": [{"number": 4}],
        "audit.jsonl.1": [{"number": 3}],
        "audit.jsonl.2": [{"number": 2}],
    }


def test_a_full_disk_loses_lines_counts_them_and_says_so_once(tmp_path: Path) -> None:
    told: SimpleQueue[str] = SimpleQueue()
    audit = AuditFile(tmp_path / "audit.jsonl", 10**6, 3, told.put)
    audit.write({"number": 0})
    assert audit.flush(PATIENCE)
    with full_disk():
        for number in range(1, 4):
            audit.write({"number": number})
            assert audit.flush(PATIENCE)
    audit.write({"number": 4})
    audit.close(PATIENCE)
    assert lines_of(tmp_path / "audit.jsonl") == [{"number": 0}, {"number": 4}]
    assert audit.lost == 3
    assert "audit.jsonl" in told.get_nowait()
    assert told.get_nowait() == ""
    assert told.empty()


def test_a_full_queue_loses_the_newest_and_never_blocks(tmp_path: Path) -> None:
    audit = AuditFile(tmp_path / "audit.jsonl", 10**6, 3, capacity=0)
    audit.write(LINE)
    audit.close(PATIENCE)
    assert audit.lost == 1
    assert not (tmp_path / "audit.jsonl").exists()


def test_a_file_that_cannot_be_opened_is_told_and_tried_again(tmp_path: Path) -> None:
    told: SimpleQueue[str] = SimpleQueue()
    audit = AuditFile(tmp_path / "logs" / "audit.jsonl", 10**6, 3, told.put)
    audit.write(LINE)
    assert "lines are lost until that ends" in told.get(timeout=PATIENCE)
    (tmp_path / "logs").mkdir()
    audit.write(LINE)
    audit.close(PATIENCE)
    assert lines_of(tmp_path / "logs" / "audit.jsonl") == [LINE]
