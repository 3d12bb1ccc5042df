"""The ledger of costs on disk: dollars and machine-hours by hour, for as long as it is kept.

Rows are increments that are added up, so that a process that ends in the middle of an hour goes on
where it was. Used by one thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from bigfleet.costs.meter import HOUR, ChargeKey, Hour
from bigfleet.costs.red_flags import OfferingDay
from bigfleet.edge.sqlite_files import FileKind, opened, transaction
from bigfleet.engine.kernels.compiled import Floats
from bigfleet.model.costs import (
    AMOUNTS,
    NO_TEAM,
    SHARED,
    Amounts,
    Charge,
    CostCall,
    CostPeriod,
    CostRow,
    by_bill,
    sum_of,
)
from bigfleet.model.figures import OTHERS, CostAxis
from bigfleet.model.machines import Instant

KEPT_HOURS = 400 * 24
#: Of an hour, those that cost most; the clusters of the others are `other`.
MOST_CHARGES, MOST_NEEDS = 1_000, 200
#: Of one answer.
MOST_ROWS, MOST_UNOBSERVED = 1_000, 48
MOST_TOLD_CHARGES = 50_000
#: An hour that lacks less was observed.
_WHOLE_SECONDS = 3_599.0
_AMOUNTS = ", ".join(f"{name} REAL NOT NULL" for name in AMOUNTS)
FILE = FileKind(
    application_id=int.from_bytes(b"BFco"),
    version=1,
    name="ledger of costs",
    tables=f"""
        CREATE TABLE hours (hour INTEGER PRIMARY KEY, observed REAL NOT NULL);
        CREATE TABLE charges (
            hour INTEGER, cluster TEXT, type TEXT, zone TEXT, capacity TEXT, priority TEXT,
            {_AMOUNTS}, PRIMARY KEY (hour, cluster, type, zone, capacity, priority)
        ) WITHOUT ROWID;
        CREATE TABLE needs (
            hour INTEGER, need TEXT, {_AMOUNTS}, PRIMARY KEY (hour, need)
        ) WITHOUT ROWID;
        CREATE TABLE offerings (
            hour INTEGER, offering TEXT, lowest REAL, highest REAL, expected REAL, seen INTEGER,
            PRIMARY KEY (hour, offering)
        ) WITHOUT ROWID;
    """,
)
_COLUMN = {
    CostAxis.CLUSTER: "cluster",
    CostAxis.TEAM: "cluster",
    CostAxis.TYPE: "type",
    CostAxis.ZONE: "zone",
    CostAxis.CAPACITY: "capacity",
    CostAxis.PRIORITY: "priority",
}
_SUMS = ", ".join(f"SUM({name})" for name in AMOUNTS)
_ADDED = ", ".join(f"{name} = {name} + excluded.{name}" for name in AMOUNTS)
K = TypeVar("K", ChargeKey, str)
_BILLED, _MACHINES = AMOUNTS.index("billed"), AMOUNTS.index("machines")


def whole_hours(call: CostCall, now: Instant) -> CostCall:
    """Not before those that are kept, not after the one that is running."""
    first = now - now % HOUR - KEPT_HOURS * HOUR
    begins = max(call.begins - call.begins % HOUR, first)
    return replace(call, begins=begins, ends=-(-min(call.ends, now) // HOUR) * HOUR)


class CostFile:
    def __init__(self, path: Path) -> None:
        """Raises FileRefused."""
        self._connection = opened(path, FILE)

    def close(self) -> None:
        self._connection.close()

    # -- writing ---------------------------------------------------------------------------------

    def add(self, hours: Mapping[Instant, Hour]) -> None:
        """All of it or nothing; raises sqlite3.Error."""
        with transaction(self._connection):
            for begins, hour in hours.items():
                self._add(begins, hour)

    def forget_before(self, begins: Instant) -> None:
        with transaction(self._connection):
            for table in ("hours", "charges", "needs", "offerings"):
                self._connection.execute(f"DELETE FROM {table} WHERE hour < ?", (begins,))

    def _add(self, begins: Instant, hour: Hour) -> None:
        run = self._connection.executemany
        if hour.observed_seconds:
            run(
                "INSERT INTO hours VALUES (?, ?) ON CONFLICT DO UPDATE SET "
                "observed = observed + excluded.observed",
                [(begins, hour.observed_seconds)],
            )
        run(
            _inserting("charges", "hour, cluster, type, zone, capacity, priority"),
            [(begins, *key, *values) for key, values in _largest_charges(hour)],
        )
        run(
            _inserting("needs", "hour, need"),
            [(begins, need, *values) for need, values in _largest_needs(hour)],
        )
        run(
            "INSERT INTO offerings VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "lowest = MIN(lowest, excluded.lowest), highest = MAX(highest, excluded.highest), "
            "expected = expected + excluded.expected, seen = seen + excluded.seen",
            [
                (
                    begins,
                    name,
                    seen.lowest_price,
                    seen.highest_price,
                    seen.expected_interruptions,
                    seen.interruptions,
                )
                for name, seen in hour.offerings.items()
            ],
        )

    # -- reading ---------------------------------------------------------------------------------

    def rows(self, call: CostCall, teams: Mapping[str, str]) -> tuple[tuple[CostRow, ...], Amounts]:
        """What costs most first, and the total. Teams are those of now, for past hours too."""
        table, column = "charges", _COLUMN.get(call.by, "")
        if call.by is CostAxis.NEED:
            table, column = "needs", "need"
        found = self._connection.execute(
            f"SELECT {column}, {_SUMS} FROM {table} WHERE hour >= ? AND hour < ? GROUP BY 1",
            (call.begins, call.ends),
        )
        amounts: dict[str, Amounts] = {}
        for name, *values in found:
            if call.by is CostAxis.TEAM and name not in (SHARED, OTHERS):
                name = teams.get(name, NO_TEAM)
            amounts[name] = amounts.get(name, Amounts()).plus(Amounts(*values))
        rows = by_bill(CostRow(name, each) for name, each in amounts.items())
        shown, rest = rows[:MOST_ROWS], rows[MOST_ROWS:]
        if rest:
            others = sum_of(row.amounts for row in rest)
            shown = by_bill((*shown, CostRow(OTHERS, others)))
        return shown, sum_of(amounts.values())

    def charges(self, begins: Instant, ends: Instant) -> tuple[Charge, ...]:
        """Raises ValueError where there are too many for one answer."""
        found = self._connection.execute(
            f"SELECT hour, cluster, type, zone, capacity, {_SUMS} FROM charges "
            "WHERE hour >= ? AND hour < ? GROUP BY 1, 2, 3, 4, 5 LIMIT ?",
            (begins, ends, MOST_TOLD_CHARGES + 1),
        ).fetchall()
        if len(found) > MOST_TOLD_CHARGES:
            text = f"more than {MOST_TOLD_CHARGES} charges; ask for fewer hours at a time"
            raise ValueError(text)
        return tuple(
            Charge(hour, cluster, kind, zone, capacity, Amounts(*values))
            for hour, cluster, kind, zone, capacity, *values in found
        )

    def period(self, begins: Instant, ends: Instant, now: Instant) -> CostPeriod:
        """Which of these hours were observed; the one that is running is not called partial."""
        observed = dict(
            self._connection.execute(
                "SELECT hour, observed FROM hours WHERE hour >= ? AND hour < ?", (begins, ends)
            )
        )
        first = self._connection.execute("SELECT MIN(hour) FROM hours").fetchone()[0]
        until = min(ends, now - now % HOUR + HOUR)
        missing = [hour for hour in range(begins, until, HOUR) if hour not in observed]
        running = now - now % HOUR
        partial = [h for h, s in observed.items() if s < _WHOLE_SECONDS and h != running]
        return CostPeriod(
            begins,
            ends,
            sum(observed.values()),
            tuple(missing[:MOST_UNOBSERVED]),
            len(missing),
            len(partial),
            first or 0,
        )

    def days(self, now: Instant) -> dict[str, OfferingDay]:
        """By offering, what the last day showed of it."""
        found = self._connection.execute(
            "SELECT offering, MIN(CASE WHEN highest > 0 THEN lowest END), MAX(highest), "
            "SUM(expected), SUM(seen) FROM offerings WHERE hour > ? GROUP BY 1",
            (now - 24 * HOUR,),
        )
        return {
            name: OfferingDay(lowest or 0.0, highest, expected, seen)
            for name, lowest, highest, expected, seen in found
        }


def _inserting(table: str, keys: str) -> str:
    count = len(keys.split(", ")) + len(AMOUNTS)
    places = ", ".join("?" * count)
    return f"INSERT INTO {table} VALUES ({places}) ON CONFLICT DO UPDATE SET {_ADDED}"


def _largest_charges(hour: Hour) -> Iterable[tuple[ChargeKey, Sequence[float]]]:
    """Those that cost less keep their type, zone and capacity type."""
    shown, rest = _split(list(hour.charges.items()), MOST_CHARGES)
    others: dict[ChargeKey, list[float]] = {}
    for key, values in rest:
        other = key._replace(cluster=OTHERS, priority=OTHERS)
        known = others.setdefault(other, [0.0] * len(AMOUNTS))
        others[other] = [mine + theirs for mine, theirs in zip(known, values, strict=True)]
    return [*((key, list(map(float, values))) for key, values in shown), *others.items()]


def _largest_needs(hour: Hour) -> Iterable[tuple[str, Sequence[float]]]:
    shown, rest = _split(list(hour.needs.items()), MOST_NEEDS)
    found = [(key, list(map(float, values))) for key, values in shown]
    if rest:
        columns = zip(*(values for _, values in rest), strict=True)
        found.append((OTHERS, [float(sum(column)) for column in columns]))
    return found


def _split(
    items: list[tuple[K, Floats]], most: int
) -> tuple[list[tuple[K, Floats]], list[tuple[K, Floats]]]:
    items.sort(key=lambda item: (-item[1][_BILLED], -item[1][_MACHINES], item[0]))
    return items[:most], items[most:]
