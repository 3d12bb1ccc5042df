"""A living shard keeps its statements on disk, beside the cycles: restarts, gaps, bounds, disks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import bigfleet.shard.statement_file as file_module
import bigfleet.shard.statement_keeper as module
from bigfleet.costs.invoices import InvoiceSums
from bigfleet.journal.recorder import FinishedCycle, Note
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import ActionView
from bigfleet.model.statements import InvoiceCall, Invoices, Statement, span_of_month
from bigfleet.shard.statement_keeper import StatementKeeper
from tests.hazards.virtual_fleet import START
from tests.statements.recorded_fleet import EPOCH, RecordedFleet, live_statements
from tests.statements.test_one_statement_per_taken_machine import lived
from tests.statements.test_what_a_statement_says import preempted

NOVEMBER = span_of_month("2023-11") or (0, 0)


class Clock:
    at: Instant = START


def keeper_at(path: Path, clock: Clock | None = None, epoch: int = EPOCH) -> StatementKeeper:
    told = clock or Clock()
    return StatementKeeper(path / "statements.db", epoch, lambda: told.at)


def tell(keeper: StatementKeeper, told: list[FinishedCycle | Note]) -> None:
    for each in told:
        if isinstance(each, FinishedCycle):
            keeper.offer(each)
        else:
            keeper.note(each)


@contextmanager
def running(
    path: Path, clock: Clock | None = None, epoch: int = EPOCH
) -> Iterator[StatementKeeper]:
    keeper = keeper_at(path, clock, epoch)
    keeper.start()
    try:
        yield keeper
    finally:
        keeper.close()


def kept(path: Path, call: InvoiceCall | None = None) -> Invoices:
    """What the next start of the shard would tell."""
    with running(path, epoch=EPOCH + 1) as keeper:
        return keeper.invoices(call or InvoiceCall())


@pytest.fixture(scope="module")
def busy() -> RecordedFleet:
    return next(fleet for fleet in map(lived, range(50)) if len(live_statements(fleet.told)) >= 4)


@pytest.fixture(autouse=True)
def _room_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CYCLES", 1000)


def test_what_is_kept_is_what_was_made(busy: RecordedFleet, tmp_path: Path) -> None:
    with running(tmp_path) as keeper:
        tell(keeper, busy.told)
    made, found = live_statements(busy.told), kept(tmp_path)
    assert list(reversed(found.statements)) == made
    sums = InvoiceSums()
    for each in made:
        sums.add(each)
    assert (found.parts, found.total, found.gaps) == (sums.parts(), len(made), ())
    assert found.kept_since == made[0].completed_at


def test_a_drain_that_ends_after_a_restart_is_one_statement_of_its_decision(tmp_path: Path) -> None:
    fleet = preempted()
    (made,) = live_statements(fleet.told)
    place = next(i for i, each in enumerate(fleet.told) if _ends(each, made.machine, "Preempt"))
    with running(tmp_path) as before:
        tell(before, fleet.told[:place])
    with running(tmp_path, epoch=EPOCH + 1) as after:
        tell(after, fleet.told[place:])
    assert kept(tmp_path).statements == (made,)


def test_an_end_that_is_seen_again_after_a_crash_counts_once(tmp_path: Path) -> None:
    fleet = preempted()
    for _ in range(2):
        with running(tmp_path) as keeper:
            tell(keeper, fleet.told)
    found = kept(tmp_path)
    assert (found.total, len(found.statements)) == (1, 1)


def test_declared_dollars_are_counted_by_kind(tmp_path: Path) -> None:
    with running(tmp_path) as keeper:
        tell(keeper, preempted().told)
    assert keeper.declared == {"Preempt": 10.0, "Reclaim": 0.0}


def test_cycles_that_come_too_fast_are_a_gap_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CYCLES", 2)
    keeper, told = keeper_at(tmp_path), preempted().told
    # Its thread does not run yet: nothing is read.
    cycles = [each for each in told if isinstance(each, FinishedCycle)]
    tell(keeper, [*cycles[:5]])
    keeper.start()
    keeper.close()
    (gap,) = kept(tmp_path).gaps
    assert gap.text == f"3 cycles from {EPOCH}:3 on were not read: they came faster than they" + (
        " could be read"
    )


def test_ends_that_come_too_fast_are_a_gap_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ENDS", 1)
    keeper = keeper_at(tmp_path)
    ends = [each for each in preempted().told if _ends(each, "m-1", "Preempt")]
    assert [keeper.note(each) for each in ends * 2] == [True, False]  # type: ignore[arg-type]
    keeper.start()
    keeper.close()
    assert "the ends of 1 actions were not read" in kept(tmp_path).gaps[0].text


def test_months_outlive_single_statements(
    busy: RecordedFleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_module, "MOST_KEPT", 2)
    with running(tmp_path) as keeper:
        tell(keeper, busy.told)
    made, found = live_statements(busy.told), kept(tmp_path, InvoiceCall(*NOVEMBER))
    assert list(found.statements) == [made[-1], made[-2]]
    assert (found.total, found.gaps) == (len(made), ())
    part = kept(tmp_path, InvoiceCall(since=made[0].completed_at))
    assert part.total == 2
    assert "statements are kept one by one since" in part.gaps[0].text
    assert kept(tmp_path, InvoiceCall(since=made[-2].completed_at)).gaps == ()


def test_what_is_older_than_the_days_it_is_kept_for_is_forgotten(tmp_path: Path) -> None:
    clock, told = Clock(), preempted().told
    with running(tmp_path, clock) as keeper:
        tell(keeper, told)
    clock.at += 500 * 86_400 * SECOND
    with running(tmp_path, clock) as keeper:
        tell(keeper, [_later(each, clock.at) for each in told])
    (part,) = kept(tmp_path).parts
    assert (part.month, part.count) == ("2025-03", 1)


def test_statements_come_in_pages(busy: RecordedFleet, tmp_path: Path) -> None:
    with running(tmp_path) as keeper:
        tell(keeper, busy.told)
    made, found, before = live_statements(busy.told), list[Statement](), 0
    while True:
        page = kept(tmp_path, InvoiceCall(limit=2, before=before))
        assert 0 < len(page.statements) <= 2
        found += page.statements
        before = page.next
        if not before:
            break
    assert found == list(reversed(made))
    assert kept(tmp_path, InvoiceCall(limit=-1)).statements == ()


def test_a_file_that_is_not_ours_costs_statements_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "statements.db").write_bytes(b"not a database" * 1000)
    with running(tmp_path) as keeper:
        tell(keeper, preempted().told)
        assert "cannot be used" in keeper.invoices(InvoiceCall()).trouble
    assert keeper.declared["Preempt"] == 10.0


def _ends(told: FinishedCycle | Note, machine: str, kind: str) -> bool:
    return (
        isinstance(told, Note)
        and isinstance(told.body, ActionView)
        and (told.body.machine, told.body.kind.label) == (machine, kind)
    )


def _later(told: FinishedCycle | Note, at: Instant) -> FinishedCycle | Note:
    """The same under another cycle's number, as a later start would tell it."""
    if isinstance(told, FinishedCycle):
        given = replace(told.given, cycle=told.given.cycle + 1000)
        actions = [replace(view, cycle=given.cycle, at=at) for view in told.actions]
        return replace(told, given=given, actions=actions)
    if isinstance(told.body, ActionView):
        return replace(told, body=replace(told.body, cycle=told.body.cycle + 1000, at=at))
    return told
