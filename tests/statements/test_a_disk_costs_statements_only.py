"""A file that is damaged, foreign or on a full disk costs statements, says so, and nothing else."""

import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

import bigfleet.shard.statement_file as file_module
import bigfleet.shard.statement_keeper as module
from bigfleet.journal.digests import output_digest
from bigfleet.journal.recorder import FinishedCycle, Note
from bigfleet.model.machines import Instant
from bigfleet.model.statements import InvoiceCall, Statement, StatementGap
from bigfleet.shard.statement_file import StatementFile, Unwritten
from bigfleet.shard.statement_keeper import StatementKeeper
from tests.hazards.virtual_fleet import START, bound
from tests.statements.recorded_fleet import EPOCH, RecordedFleet, wants
from tests.statements.test_a_shard_keeps_its_statements import (
    Clock,
    keeper_at,
    kept,
    running,
    tell,
)
from tests.statements.test_what_a_statement_says import MARCH, made_of, preempted

FILE = "statements.db"


def filled(path: Path) -> Path:
    """A file with one statement, whole and in one piece."""
    with running(path) as keeper:
        tell(keeper, preempted().told)
    return path / FILE


def in_the_way(path: Path) -> Path:
    """Where the file would be, something that takes no byte."""
    blocking = path / FILE
    blocking.mkdir()
    return blocking


def test_a_file_that_is_damaged_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    file = filled(tmp_path)
    whole = file.read_bytes()
    damaged = whole[:4096] + bytes([0xFF]) * (len(whole) - 4096)
    file.write_bytes(damaged)
    heard: list[str] = []
    keeper = StatementKeeper(file, EPOCH, lambda: Clock.at, heard.append)
    keeper.start()
    tell(keeper, preempted().told)
    answer = keeper.invoices(InvoiceCall())
    keeper.close()
    assert "cannot be used" in answer.trouble
    assert "move it away and a new one is made" in answer.trouble
    assert heard == [answer.trouble]
    assert (answer.parts, answer.statements) == ((), ())
    assert file.read_bytes() == damaged


def test_a_file_of_another_program_or_a_later_version_is_not_touched(tmp_path: Path) -> None:
    file = filled(tmp_path)
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    assert "this program knows 1" in kept(tmp_path).trouble
    with sqlite3.connect(file) as connection:
        (count,) = connection.execute("SELECT count(*) FROM statements").fetchone()
    connection.close()
    assert count == 1


def test_a_row_that_is_damaged_costs_that_row_and_is_told(tmp_path: Path) -> None:
    file = filled(tmp_path)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE statements SET body = x'ffff'")
        connection.execute("INSERT INTO drafts VALUES (7, 'm-9', x'ffff')")
    connection.close()
    found = kept(tmp_path)
    assert (found.statements, found.total) == ((), 1)
    assert found.gaps[0].text == (
        "1 statements cannot be read: they are damaged; the sums have them"
    )
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM drafts").fetchone() == (0,)
    connection.close()


def test_what_a_disk_refused_is_written_when_it_takes_bytes_again(tmp_path: Path) -> None:
    blocking, heard = in_the_way(tmp_path), list[str]()
    keeper = StatementKeeper(tmp_path / FILE, EPOCH, lambda: Clock.at, heard.append)
    keeper.start()
    tell(keeper, preempted().told)
    while not keeper.trouble:
        keeper.invoices(InvoiceCall())
    assert "cannot be used" in keeper.trouble
    blocking.rmdir()
    keeper.close()
    assert [bool(each) for each in heard] == [True, False]
    assert kept(tmp_path).total == 1


def test_what_waits_for_a_disk_has_a_bound_and_the_loss_is_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_module, "MOST_UNWRITTEN", 1)
    made = [made_of("shop", taker, 2.0) for taker in ("a", "b", "c")]
    waiting = Unwritten(made=list(made))
    waiting.shorten(START, "the disk is full")
    assert waiting.made == made[2:]
    file = StatementFile(tmp_path / FILE)
    assert file.write(waiting, START)
    found = file.answer(InvoiceCall())
    file.close()
    assert (found.total, found.gaps) == (
        1,
        (StatementGap(START, "2 statements were not kept: the disk is full"),),
    )


def test_a_draft_that_ended_before_it_was_written_leaves_nothing_to_write() -> None:
    draft = made_of("shop", "ml", 2.0)
    waiting, newer = Unwritten(), Unwritten()
    waiting.begin(draft)
    newer.end(draft.cycle, draft.machine)
    waiting.add(newer)
    assert not waiting
    waiting.end(draft.cycle, draft.machine)
    assert waiting.drafts == {(draft.cycle, draft.machine): None}


def test_sums_beyond_the_room_of_an_answer_are_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_module, "MOST_PARTS", 1)
    file = StatementFile(tmp_path / FILE)
    made = [made_of("shop", "ml", 8.0), made_of("shop", "web", 2.0)]
    assert file.write(Unwritten(made=made), MARCH)
    found = file.answer(InvoiceCall())
    file.close()
    assert [part.caused_by for part in found.parts] == ["ml"]
    assert found.total == 2
    assert "the sums of 1 pairs of clusters are left out" in found.gaps[0].text


@pytest.mark.parametrize(
    "name",
    ["a\0b", "=1+1", "<img onerror=x>", "\u202egnp.tohs", "x" * 253, "'; DROP TABLE parts;--"],
)
def test_names_of_any_kind_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    file, made = StatementFile(tmp_path / FILE), replace(made_of(name, "ml", 2.0), machine=name)
    assert file.write(Unwritten(made=[made]), MARCH)
    found = file.answer(InvoiceCall())
    file.close()
    assert found.statements == (made,)
    assert [part.borne_by for part in found.parts] == [name]


def test_a_cycle_that_cannot_be_read_is_a_gap_and_the_others_are_read(tmp_path: Path) -> None:
    told = preempted().told
    first = next(each for each in told if isinstance(each, FinishedCycle))
    broken = FinishedCycle(first.given, None)  # type: ignore[arg-type]
    with running(tmp_path) as keeper:
        tell(keeper, [broken, *told])
    found = kept(tmp_path)
    assert found.total == 1
    assert f"what cycle {EPOCH}:{first.given.cycle} took was not read" in found.gaps[0].text


# -- the cycle's path ------------------------------------------------------------------------------


class KeepingFleet(RecordedFleet):
    """Tells a keeper while it lives, as a shard does."""

    def __init__(self, keeper: StatementKeeper | None) -> None:
        self._keeper = keeper
        self.digests: list[bytes] = []
        super().__init__([bound(f"m-{number}", "") for number in range(4)], {"m-1": 20, "m-2": 3})

    def run(self, cycles: int) -> None:
        for _ in range(cycles):
            before = len(self.told)
            super().run(1)
            self._tell(self.told[before:])

    def _tell(self, told: Iterable[FinishedCycle | Note]) -> None:
        for each in told:
            if isinstance(each, FinishedCycle):
                self.digests.append(output_digest(each.decision))
                if self._keeper is not None:
                    self._keeper.offer(each)
            elif self._keeper is not None:
                self._keeper.note(each)

    def live(self) -> list[bytes]:
        """Preempts, Reclaims and a pause; the bytes of every decision."""
        self.report("shop", wants("shop", 3, 10, 8))
        self.report("ml")
        self.run(6)
        self.report("ml", wants("ml", 3, 1000, 64))
        self.run(30)
        self.report("ml", wants("ml", 1, 1000, 64))
        self.run(10)
        self.report("shop")
        self.run(10)
        return self.digests


@pytest.mark.parametrize("file", ["whole", "damaged", "in the way"])
def test_actions_are_the_same_bytes_with_and_without_statements(tmp_path: Path, file: str) -> None:
    if file == "damaged":
        (tmp_path / FILE).write_bytes(b"\xff" * 40_000)
    elif file == "in the way":
        in_the_way(tmp_path)
    with running(tmp_path) as keeper:
        fleet = KeepingFleet(keeper)
        with_statements = fleet.live()
    assert len(fleet.preempted) >= 2
    assert with_statements == KeepingFleet(None).live()
    assert bool(keeper.trouble) == (file != "whole")


def test_no_cycle_waits_for_a_disk_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = threading.Lock()
    hangs.acquire()

    class Hanging(StatementFile):
        def drafts(self, now: Instant) -> list[Statement]:
            with hangs:
                return super().drafts(now)

    monkeypatch.setattr(module, "StatementFile", Hanging)
    keeper = keeper_at(tmp_path)
    keeper.start()
    fleet = KeepingFleet(keeper)
    lived = fleet.live()  # ends although nothing is read
    hangs.release()
    keeper.close()
    monkeypatch.undo()
    assert lived == KeepingFleet(None).live()
    assert kept(tmp_path).total >= 2
