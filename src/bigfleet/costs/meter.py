"""The meter: rates of cycles, added up over the time they held into hours.

Between two cycles the rates of the first one hold, and a machine that began or ceased to be billed
counts from the moment it did. Time in which no cycle was observed is left out, never filled: a gap
longer than the longest is not observed, and neither is time a clock took back.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bigfleet.costs.rates import CostSheet
from bigfleet.costs.red_flags import offering_text
from bigfleet.engine.kernels.compiled import Floats, Int64s
from bigfleet.model.costs import AMOUNTS, SHARED, Amounts
from bigfleet.model.figures import CostAxis
from bigfleet.model.machines import CapacityType, Instant, Machine, MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND

HOUR: Instant = 3_600 * SECOND
#: Of rates that hold longer than this nothing is known.
LONGEST_GAP_SECONDS = 300.0
K = TypeVar("K", bound=Hashable)


class ChargeKey(NamedTuple):
    """Machines that are billed alike."""

    cluster: str
    instance_type: str
    zone: str
    capacity_type: str
    priority: str


class BillingChange(NamedTuple):
    """A machine that began to be billed, or (None) ceased to be."""

    at: Instant
    machine: str
    record: Machine | None


def is_billed(machine: Machine | None) -> bool:
    return machine is not None and (
        not machine.host.empty or machine.state is MachineState.CREATING
    )


class Totals(Generic[K]):
    """Amounts by key."""

    def __init__(self) -> None:
        self._row_of: dict[K, int] = {}
        self._values = np.zeros((16, len(AMOUNTS)))

    def __len__(self) -> int:
        return len(self._row_of)

    def rows_of(self, keys: Iterable[K]) -> Int64s:
        rows = np.array([self._row_of.setdefault(key, len(self._row_of)) for key in keys], np.int64)
        if (size := len(self._row_of)) > len(self._values):
            grown = np.zeros((2 * size, len(AMOUNTS)))
            grown[: len(self._values)] = self._values
            self._values = grown
        return rows

    def add(self, rows: Int64s, amounts: NDArray[np.float64]) -> None:
        """Distinct rows."""
        self._values[rows] += amounts

    def items(self) -> Iterator[tuple[K, Floats]]:
        return ((key, self._values[row]) for key, row in self._row_of.items())


@dataclass(slots=True)
class OfferingHour:
    lowest_price: float
    highest_price: float
    expected_interruptions: float = 0.0
    interruptions: int = 0


@dataclass(slots=True)
class Hour:
    """What was added up of an hour since it was last taken."""

    observed_seconds: float = 0.0
    charges: Totals[ChargeKey] = field(default_factory=Totals)
    needs: Totals[str] = field(default_factory=Totals)
    #: By `offering_text`.
    offerings: dict[str, OfferingHour] = field(default_factory=dict)


class _Metered(NamedTuple):
    key: ChargeKey
    need: str
    amounts: Floats


class _Added:
    """What single machines add to hours, or take from them."""

    def __init__(self) -> None:
        self.charges: dict[tuple[Instant, ChargeKey], Floats] = {}
        self.needs: dict[tuple[Instant, str], Floats] = {}

    def add(self, begins: Instant, metered: _Metered, share: float) -> None:
        amounts = metered.amounts * share
        charge, need = (begins, metered.key), (begins, metered.need)
        self.charges[charge] = self.charges.get(charge, 0.0) + amounts
        self.needs[need] = self.needs.get(need, 0.0) + amounts


class _Sample:
    """A cycle's rates, grouped."""

    def __init__(self, sheet: CostSheet, at: Instant) -> None:
        self.at = at
        self._sheet = sheet
        names = [sheet.column(axis) for axis in _AXES]
        code = np.zeros(len(sheet), np.int64)
        for column in names:
            code = code * column.size + column.number
        _, first, self._group = np.unique(code, return_index=True, return_inverse=True)
        self.keys = [
            ChargeKey(*(column.name(int(column.number[row])) for column in names))
            for row in first.tolist()
        ]
        self.rates = _sums(sheet, self._group.ravel(), len(first))
        needs = sheet.column(CostAxis.NEED)
        there, self._need = np.unique(needs.number, return_inverse=True)
        self.needs = [needs.name(number) for number in there.tolist()]
        self.need_rates = _sums(sheet, self._need.ravel(), len(there))
        self.offerings = self._offerings()

    def place_of(self, machine: str) -> int:
        """Among the billed machines; -1: it is not billed."""
        row = self._sheet.snapshot.row_of(machine)
        place = int(np.searchsorted(self._sheet.rows, row))
        found = row >= 0 and place < len(self._sheet) and self._sheet.rows[place] == row
        return place if found else -1

    def of_machine(self, place: int) -> "_Metered":
        amounts = self._sheet.amounts
        return _Metered(
            self.keys[int(self._group.ravel()[place])],
            self.needs[int(self._need.ravel()[place])],
            np.array([amounts[name][place] for name in AMOUNTS]),
        )

    def of_record(self, machine: Machine) -> _Metered:
        """Of a machine that no cycle has seen yet: what it is billed, and who ordered it."""
        stamp, price = machine.assigned, machine.price_per_hour
        ordered_by = stamp.cluster if machine.state is MachineState.CREATING else ""
        cluster = machine.cluster or ordered_by
        kind = CapacityType(machine.capacity_type).label
        priority = str(stamp.priority) if cluster else SHARED
        key = ChargeKey(cluster, machine.instance_type, machine.zone, kind, priority)
        need = SHARED
        if cluster:
            ordered = NeedKey(cluster, stamp.need_fingerprint, stamp.group)
            need = f"need/{cluster}/{ordered.need_id}"
        worth = self._sheet.costs.imputed_of(machine.instance_type, kind) if price == 0 else None
        amounts = Amounts(
            machines=1.0,
            committed=float(price == 0),
            unvalued=float(price == 0 and worth is None),
            billed=price,
            imputed=worth or 0.0,
        )
        return _Metered(key, need, np.array(amounts.all))

    def _offerings(self) -> dict[str, tuple[float, float]]:
        """The lowest price of each, and how many interruptions an hour makes likely."""
        sheet = self._sheet
        rows = sheet.snapshot.tables.offerings.table.rows
        expected = np.bincount(
            sheet.offering,
            weights=(sheet.state == int(MachineState.CONFIGURED))
            * sheet.snapshot.offerings.probability[sheet.offering],
            minlength=len(rows),
        )
        found: dict[str, tuple[float, float]] = {}
        for row in np.unique(sheet.snapshot.columns.offering).tolist():
            name, price = offering_text(rows[row]), rows[row].price_per_hour
            lowest, likely = found.get(name, (price, 0.0))
            found[name] = min(lowest, price), likely + float(expected[row])
        return found


_AXES = (
    CostAxis.CLUSTER,
    CostAxis.TYPE,
    CostAxis.ZONE,
    CostAxis.CAPACITY,
    CostAxis.PRIORITY,
)


def _sums(sheet: CostSheet, group: Int64s, size: int) -> NDArray[np.float64]:
    amounts = sheet.amounts
    sums = np.zeros((size, len(AMOUNTS)))
    for place, name in enumerate(AMOUNTS):
        sums[:, place] = np.bincount(group, weights=amounts[name], minlength=size)
    return sums


class Meter:
    """Used by one thread at a time."""

    def __init__(self) -> None:
        self._sample: _Sample | None = None
        #: Changes after the last sample.
        self._later: list[BillingChange] = []
        self._hours: dict[Instant, Hour] = {}

    def observe(self, sheet: CostSheet, at: Instant, changes: Sequence[BillingChange]) -> None:
        """`at`: when the cycle began. `changes`: those since the last call, in their order."""
        before, waiting = self._sample, [*self._later, *changes]
        if before is not None and at <= before.at:
            # The clock went back: what lies between is told by nothing.
            if at < before.at:
                self._sample, self._later = _Sample(sheet, at), []
            else:
                self._later = waiting
            return
        due = [change for change in waiting if change.at < at]
        self._later = [change for change in waiting if change.at >= at]
        if before is not None and at - before.at <= LONGEST_GAP_SECONDS * SECOND:
            self._add(before, at)
            self._add_changes(before, at, due)
        self._sample = sample = _Sample(sheet, at)
        self._look_at_prices(sample)

    def lose(self) -> None:
        """What happens until the next cycle is not observed."""
        self._sample, self._later = None, []

    def wait(self, changes: Sequence[BillingChange]) -> None:
        """No cycle has ended since the last one that was observed."""
        self._later.extend(changes)

    def interrupted(self, offering: str, at: Instant) -> None:
        """A machine was taken away from the cluster that it served."""
        hour = self._hour(at - at % HOUR)
        seen = hour.offerings.setdefault(offering, OfferingHour(0.0, 0.0))
        seen.interruptions += 1

    def taken(self) -> dict[Instant, Hour]:
        """What was added up since the last call, by the beginning of each hour."""
        found, self._hours = self._hours, {}
        return found

    def give_back(self, hours: dict[Instant, Hour]) -> None:
        """What could not be kept: the next call of `taken` has it again."""
        for begins, hour in hours.items():
            into = self._hour(begins)
            into.observed_seconds += hour.observed_seconds
            for mine, theirs in ((into.charges, hour.charges), (into.needs, hour.needs)):
                for key, amounts in theirs.items():
                    mine.add(mine.rows_of([key]), amounts[None])  # type: ignore[list-item]
            for name, seen in hour.offerings.items():
                _seen_again(into.offerings, name, seen)

    def _hour(self, begins: Instant) -> Hour:
        return self._hours.setdefault(begins, Hour())

    def _add(self, sample: _Sample, until: Instant) -> None:
        for begins, seconds in pieces(sample.at, until):
            hour, share = self._hour(begins), seconds / 3_600
            hour.observed_seconds += seconds
            hour.charges.add(hour.charges.rows_of(sample.keys), sample.rates * share)
            hour.needs.add(hour.needs.rows_of(sample.needs), sample.need_rates * share)
            for name, (price, likely) in sample.offerings.items():
                seen = OfferingHour(price, price, likely * share)
                _seen_again(hour.offerings, name, seen)

    def _add_changes(
        self, sample: _Sample, until: Instant, changes: Iterable[BillingChange]
    ) -> None:
        """Each from its moment on; one that tells what the sample shows already is left out."""
        begun: dict[str, _Metered] = {}
        ceased: set[str] = set()
        added = _Added()
        for at, machine, record in changes:
            place = sample.place_of(machine) if machine not in ceased else -1
            is_billed_now = machine in begun or place >= 0
            if (record is not None) == is_billed_now:
                continue
            if record is not None:
                begun[machine] = metered = sample.of_record(record)
                sign = 1.0
            else:
                known = begun.pop(machine) if machine in begun else None
                metered = sample.of_machine(place) if known is None else known
                ceased.add(machine)
                sign = -1.0
            for begins, seconds in pieces(max(at, sample.at), until):
                added.add(begins, metered, sign * seconds / 3_600)
        for (begins, key), amounts in added.charges.items():
            hour = self._hour(begins)
            hour.charges.add(hour.charges.rows_of([key]), amounts[None])
        for (begins, need), amounts in added.needs.items():
            hour = self._hour(begins)
            hour.needs.add(hour.needs.rows_of([need]), amounts[None])

    def _look_at_prices(self, sample: _Sample) -> None:
        """Also of a cycle whose rates never come to hold."""
        hour = self._hour(sample.at - sample.at % HOUR)
        for name, (price, _) in sample.offerings.items():
            _seen_again(hour.offerings, name, OfferingHour(price, price))


def _seen_again(offerings: dict[str, OfferingHour], name: str, seen: OfferingHour) -> None:
    known = offerings.get(name)
    if known is None:
        offerings[name] = seen
        return
    known.interruptions += seen.interruptions
    known.expected_interruptions += seen.expected_interruptions
    if known.highest_price == 0:
        known.lowest_price, known.highest_price = seen.lowest_price, seen.highest_price
    elif seen.highest_price > 0:
        known.lowest_price = min(known.lowest_price, seen.lowest_price)
        known.highest_price = max(known.highest_price, seen.highest_price)


def pieces(begins: Instant, ends: Instant) -> Iterator[tuple[Instant, float]]:
    """The beginnings of the hours between, and how many seconds lie in each."""
    while begins < ends:
        hour = begins - begins % HOUR
        until = min(ends, hour + HOUR)
        yield hour, (until - begins) / SECOND
        begins = until
