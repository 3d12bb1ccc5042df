"""`statements.db` in the data dir of a shard: statements one by one, and the sums of their months.

Months are added up when a statement is written, so that they outlive it. A file that is damaged, of
another program or on a full disk costs statements and nothing else: what is not written waits as
long as there is room, and every answer says what is missing.
"""

import sqlite3
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from bigfleet.costs.invoices import InvoiceSums
from bigfleet.costs.statements import MOST_OPEN
from bigfleet.edge.sqlite_files import FileKind, FileRefused, disk_problem, opened, transaction
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.statements import (
    InvoiceCall,
    InvoicePart,
    Invoices,
    Statement,
    StatementGap,
    month_of,
)
from bigfleet.wire.statements import MOST_STATEMENTS, bytes_of, statement_of

FILE = "statements.db"
#: Statements that are kept one by one, and for how long; gaps.
MOST_KEPT = 200_000
KEPT_DAYS = 400
MOST_GAPS = 1000
#: Sums of one answer: a year of 60 clusters that all take from each other.
MOST_PARTS = 50_000
#: Statements that wait while the disk takes none.
MOST_UNWRITTEN = 20_000
#: A drain takes two hours at most; what is older lost its end with a crash.
_OPEN_DAYS = 2
_DAY = 86_400 * SECOND
_END = 2**63 - 1
STATEMENTS = FileKind(
    # 'bfst'
    application_id=0x62667374,
    version=1,
    name="file of statements",
    tables="CREATE TABLE drafts (cycle INTEGER NOT NULL, machine TEXT NOT NULL, "
    "body BLOB NOT NULL, PRIMARY KEY (cycle, machine)) WITHOUT ROWID;"
    "CREATE TABLE statements (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
    "completed INTEGER NOT NULL, month TEXT NOT NULL, caused_by TEXT NOT NULL, "
    "borne_by TEXT NOT NULL, dollars REAL NOT NULL, pinned INTEGER NOT NULL, "
    "unknown INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE INDEX statements_by_time ON statements (completed);"
    "CREATE TABLE parts (month TEXT NOT NULL, caused_by TEXT NOT NULL, borne_by TEXT NOT NULL, "
    "dollars REAL NOT NULL, count INTEGER NOT NULL, pinned INTEGER NOT NULL, "
    "unknown INTEGER NOT NULL, PRIMARY KEY (month, caused_by, borne_by)) WITHOUT ROWID;"
    "CREATE TABLE gaps (number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, "
    "text TEXT NOT NULL);",
)


@dataclass(slots=True)
class Unwritten:
    """What the file does not have yet."""

    #: By cycle and machine; None: its action has ended, and the file may still have the draft.
    drafts: dict[tuple[int, str], Statement | None] = field(default_factory=dict)
    made: list[Statement] = field(default_factory=list)
    gaps: list[StatementGap] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.drafts or self.made or self.gaps)

    def begin(self, draft: Statement) -> None:
        self.drafts[draft.cycle, draft.machine] = draft

    def end(self, cycle: int, machine: str) -> None:
        """A draft that is not written yet never has to be."""
        if self.drafts.pop((cycle, machine), None) is None:
            self.drafts[cycle, machine] = None

    def add(self, newer: "Unwritten") -> None:
        for (cycle, machine), draft in newer.drafts.items():
            if draft is None:
                self.end(cycle, machine)
            else:
                self.begin(draft)
        self.made += newer.made
        self.gaps += newer.gaps

    def shorten(self, at: Instant, trouble: str) -> None:
        """The oldest go where a disk takes nothing for too long, and a gap says so."""
        while len(self.drafts) > MOST_OPEN:
            del self.drafts[next(iter(self.drafts))]
        lost = len(self.made) - MOST_UNWRITTEN
        if lost > 0:
            del self.made[:lost]
            self.gaps.append(StatementGap(at, f"{lost} statements were not kept: {trouble}"))
        del self.gaps[:-MOST_GAPS]


class StatementFile:
    """Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        #: Why the file cannot be read, and why not written; empty: it can.
        self._unread = ""
        self._unwritten = ""

    @property
    def trouble(self) -> str:
        """Empty: there is none."""
        return self._unwritten or self._unread

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def drafts(self, now: Instant) -> list[Statement]:
        """Of an earlier start, whose ends are to come; those whose ends were lost are deleted."""
        found: list[Statement] = []
        try:
            connection = self._opened()
            for cycle, machine, body in connection.execute("SELECT * FROM drafts").fetchall():
                draft = _readable(body)
                if draft is not None and draft.decided_at >= now - _OPEN_DAYS * _DAY:
                    found.append(draft)
                else:
                    _delete_draft(connection, cycle, machine)
        except (sqlite3.Error, FileRefused) as problem:
            self._unread = self._refused(problem)
        return found

    def write(self, unwritten: Unwritten, now: Instant) -> bool:
        """All of it or nothing; False: `trouble` says why."""
        try:
            connection = self._opened()
            with transaction(connection):
                _write_all(connection, unwritten)
                _forget_old(connection, now)
        except (sqlite3.Error, FileRefused) as problem:
            self._unwritten = self._refused(problem)
            return False
        self._unwritten = self._unread = ""
        return True

    def answer(self, call: InvoiceCall) -> Invoices:
        try:
            found = _answer(self._opened(), call)
        except (sqlite3.Error, FileRefused) as problem:
            self._unread = self._refused(problem)
            return Invoices((), (), trouble=self.trouble)
        self._unread = ""
        return replace(found, trouble=self.trouble)

    # -- within ----------------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = opened(self._path, STATEMENTS)
        return self._connection

    def _refused(self, problem: sqlite3.Error | FileRefused) -> str:
        """Why; the file is opened again the next time, and checked then."""
        self.close()
        if isinstance(problem, FileRefused):
            remedy = "" if problem.passing else "; move it away and a new one is made"
            return f"{self._path} cannot be used: {problem}{remedy}"
        return f"{self._path}: {disk_problem(self._path, problem)}"


def _readable(body: bytes) -> Statement | None:
    try:
        return statement_of(body)
    except ValueError:
        return None


def _delete_draft(connection: sqlite3.Connection, cycle: int, machine: str) -> None:
    place = (cycle, machine)
    connection.execute("DELETE FROM drafts WHERE cycle = ? AND machine = ?", place)


def _write_all(connection: sqlite3.Connection, unwritten: Unwritten) -> None:
    for (cycle, machine), draft in unwritten.drafts.items():
        if draft is None:
            _delete_draft(connection, cycle, machine)
        else:
            row = (cycle, machine, bytes_of(draft))
            connection.execute("INSERT OR REPLACE INTO drafts VALUES (?, ?, ?)", row)
    for made in unwritten.made:
        _add(connection, made)
    rows = [(gap.at, gap.text) for gap in unwritten.gaps]
    connection.executemany("INSERT INTO gaps (at, text) VALUES (?, ?)", rows)


def _add(connection: sqlite3.Connection, made: Statement) -> None:
    """Once: a shard that was killed may see the same end again."""
    part = InvoiceSums().add(made)
    row = (made.id, made.completed_at, part.month, part.caused_by, part.borne_by)
    amounts = (part.dollars, part.pinned, part.unknown)
    new = connection.execute(
        "INSERT OR IGNORE INTO statements (id, completed, month, caused_by, borne_by, dollars,"
        " pinned, unknown, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, *amounts, bytes_of(made)),
    )
    if new.rowcount:
        connection.execute(
            "INSERT INTO parts VALUES (?, ?, ?, ?, 1, ?, ?) ON CONFLICT DO UPDATE SET"
            " dollars = dollars + excluded.dollars, count = count + 1,"
            " pinned = pinned + excluded.pinned, unknown = unknown + excluded.unknown",
            (*row[2:], *amounts),
        )


def _forget_old(connection: sqlite3.Connection, now: Instant) -> None:
    (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM statements").fetchone()
    oldest = max(0, now - KEPT_DAYS * _DAY)
    connection.execute("DELETE FROM statements WHERE number <= ?", (last - MOST_KEPT,))
    connection.execute("DELETE FROM statements WHERE completed < ?", (oldest,))
    connection.execute("DELETE FROM parts WHERE month < ?", (month_of(oldest),))
    (gaps,) = connection.execute("SELECT coalesce(max(number), 0) FROM gaps").fetchone()
    connection.execute("DELETE FROM gaps WHERE number <= ? OR at < ?", (gaps - MOST_GAPS, oldest))


# -- answers ---------------------------------------------------------------------------------------


def _answer(connection: sqlite3.Connection, call: InvoiceCall) -> Invoices:
    (kept,) = connection.execute("SELECT coalesce(min(completed), 0) FROM statements").fetchone()
    span = (call.since, call.until or _END)
    found = connection.execute(
        "SELECT at, text FROM gaps WHERE at >= ? AND at < ? ORDER BY number", span
    )
    gaps = [StatementGap(*row) for row in found]
    if _is_whole_months(call):
        parts = _parts_of_months(connection, call)
    else:
        parts = _parts_of_span(connection, span)
        if kept > call.since and _has_older(connection, kept, call.since):
            since = instant_text(kept)
            text = f"statements are kept one by one since {since}; whole months are exact before"
            gaps.append(StatementGap(kept, text))
    total = sum(part.count for part in parts)
    if len(parts) > MOST_PARTS:
        text = f"the sums of {len(parts) - MOST_PARTS} pairs of clusters are left out, those with"
        gaps.append(StatementGap(kept, f"{text} the fewest dollars; ask for one month"))
        parts = sorted(parts, key=lambda part: -part.dollars)[:MOST_PARTS]
    page = _statements(connection, call, span)
    if page.unreadable:
        text = f"{page.unreadable} statements cannot be read: they are damaged; the sums have them"
        gaps.append(StatementGap(kept, text))
    return Invoices(
        tuple(sorted(parts, key=lambda part: (part.month, part.caused_by, part.borne_by))),
        page.statements,
        total,
        page.following,
        tuple(gaps),
        kept_since=kept,
    )


def _is_whole_months(call: InvoiceCall) -> bool:
    ends = (each for each in (call.since, call.until) if each)
    return all(instant_text(each)[8:] == "01T00:00:00Z" for each in ends)


def _parts_of_months(connection: sqlite3.Connection, call: InvoiceCall) -> list[InvoicePart]:
    first = month_of(call.since) if call.since else ""
    last = month_of(call.until) if call.until else "9999-99"
    rows = connection.execute(
        "SELECT month, caused_by, borne_by, dollars, count, pinned, unknown FROM parts"
        " WHERE month >= ? AND month < ?",
        (first, last),
    )
    return [InvoicePart(*row) for row in rows]


def _parts_of_span(
    connection: sqlite3.Connection, span: tuple[Instant, Instant]
) -> list[InvoicePart]:
    rows = connection.execute(
        "SELECT month, caused_by, borne_by, sum(dollars), count(*), sum(pinned), sum(unknown)"
        " FROM statements WHERE completed >= ? AND completed < ?"
        " GROUP BY month, caused_by, borne_by",
        span,
    )
    return [InvoicePart(*row) for row in rows]


def _has_older(connection: sqlite3.Connection, kept: Instant, since: Instant) -> bool:
    """Whether months have more than what is kept one by one."""
    (summed,) = connection.execute(
        "SELECT coalesce(sum(count), 0) FROM parts WHERE month >= ? AND month <= ?",
        (month_of(since) if since else "", month_of(kept)),
    ).fetchone()
    (single,) = connection.execute(
        "SELECT count(*) FROM statements WHERE month >= ? AND month <= ?",
        (month_of(since) if since else "", month_of(kept)),
    ).fetchone()
    return bool(summed > single)


class _Page(NamedTuple):
    #: Newest first.
    statements: tuple[Statement, ...]
    #: What to ask for next; 0: these were the last.
    following: int = 0
    unreadable: int = 0


def _statements(
    connection: sqlite3.Connection, call: InvoiceCall, span: tuple[Instant, Instant]
) -> _Page:
    if call.limit < 0:
        return _Page(())
    most = min(call.limit or MOST_STATEMENTS, MOST_STATEMENTS)
    rows = connection.execute(
        "SELECT number, body FROM statements WHERE completed >= ? AND completed < ?"
        " AND number < ? ORDER BY number DESC LIMIT ?",
        (*span, call.before or _END, most + 1),
    ).fetchall()
    following = rows[most - 1][0] if len(rows) > most else 0
    read = [_readable(body) for _, body in rows[:most]]
    found = tuple(each for each in read if each is not None)
    return _Page(found, following, len(read) - len(found))
