"""Red flags: money that is probably spent otherwise than meant, each with what to look at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bigfleet.costs.rates import CostSheet
from bigfleet.engine.kernels.compiled import Bools
from bigfleet.model.batches import NEVER, Offering
from bigfleet.model.costs import RedFlag, Severity
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources

#: Of one answer.
MOST_FLAGS = 100
#: A price that moved by more in a day.
MOVED = 0.20
#: Interruptions below which nothing is said, and how many times the declared ones count as more.
FEWEST_INTERRUPTIONS, MANY_TIMES = 5, 2.0
_SPOT = CapacityType.SPOT.label


@dataclass(frozen=True, slots=True)
class OfferingDay:
    """What was seen of an offering within a day."""

    lowest_price: float
    highest_price: float
    #: By the declared probability, of the machines that were Configured.
    expected_interruptions: float = 0.0
    interruptions: int = 0


def offering_text(offering: Offering) -> str:
    kind = CapacityType(offering.capacity_type).label
    return f"{offering.instance_type or '-'}/{offering.zone or '-'}/{kind}"


def red_flags(
    sheet: CostSheet,
    holds: Mapping[CapacityType, float],
    now: Instant | None,
    days: Mapping[str, OfferingDay] | None,
) -> tuple[tuple[RedFlag, ...], tuple[str, ...]]:
    """The flags, dangers first, and sentences about what cannot be told. `days`: by offering, None
    where only one cycle is known."""
    flags = [*_pinned_on_spot(sheet), *_dear_on_spot(sheet)]
    unknown = []
    if now is None:
        unknown.append("Idle past its hold: unknown, the fleet file says no time")
    else:
        flags += _idle_past_hold(sheet, holds, now)
    if days is None:
        unknown.append(
            "prices that moved within a day, and interruptions above the declared probability: "
            "unknown, they take a day of a live shard"
        )
    else:
        flags += [*_moved_prices(days), *_interrupted_more(days)]
    flags.sort(key=lambda flag: (flag.severity is not Severity.DANGER, flag.code, -flag.count))
    return tuple(flags[:MOST_FLAGS]), tuple(unknown)


def _pinned_on_spot(sheet: CostSheet) -> Iterable[RedFlag]:
    on_spot = _configured_spot(sheet)
    pinned = on_spot & np.isinf(sheet.snapshot.stamps.interruption_penalty[sheet.stamp])
    if count := int(pinned.sum()):
        text = f"{_spot_machines(count)} workloads never to be interrupted"
        yield RedFlag(Severity.DANGER, "pinned-on-spot", _SPOT, count, text)


def _dear_on_spot(sheet: CostSheet) -> Iterable[RedFlag]:
    """By price and risk of the same type, else of the same size: from which penalty on On-Demand
    would cost less."""
    on_spot = _configured_spot(sheet)
    penalty = sheet.snapshot.stamps.interruption_penalty[sheet.stamp]
    offerings = sheet.snapshot.tables.offerings.table.rows
    used = np.unique(sheet.snapshot.columns.offering)
    steady = _cheapest_on_demand([offerings[row] for row in used.tolist()])
    for row in np.unique(sheet.offering[on_spot]).tolist():
        spot = offerings[row]
        other = steady.get(spot.instance_type) or steady.get(_size_of(spot))
        if other is None:
            continue
        risk = spot.interruption_probability - other.interruption_probability
        if risk <= 0:
            continue
        crossover = max(0.0, (other.price_per_hour - spot.price_per_hour) / risk)
        dear = on_spot & (sheet.offering == row) & (penalty > crossover) & np.isfinite(penalty)
        if count := int(dear.sum()):
            kind = "On-Demand" + _of_other_type(spot, other)
            text = (
                f"{_spot_machines(count, spot.instance_type)} workloads that declare more "
                f"than ${crossover:,.2f} for an interruption: {kind} at "
                f"${other.price_per_hour:,.2f}/h would cost less"
            )
            yield RedFlag(Severity.WARN, "penalty-on-spot", offering_text(spot), count, text)


_Size = tuple[Resources, Resources]


def _size_of(offering: Offering) -> _Size:
    return offering.resources, offering.allocatable


def _of_other_type(spot: Offering, other: Offering) -> str:
    return f" of {other.instance_type}" if other.instance_type != spot.instance_type else ""


def _cheapest_on_demand(offerings: Sequence[Offering]) -> dict[str | _Size, Offering]:
    """By type and by size."""
    found: dict[str | _Size, Offering] = {}
    for each in offerings:
        if each.capacity_type == CapacityType.ON_DEMAND and each.instance_type:
            for key in (each.instance_type, _size_of(each)):
                known = found.get(key)
                if known is None or each.price_per_hour < known.price_per_hour:
                    found[key] = each
    return found


def _idle_past_hold(
    sheet: CostSheet, holds: Mapping[CapacityType, float], now: Instant
) -> Iterable[RedFlag]:
    since = sheet.snapshot.columns.idle_since[sheet.rows]
    capacity = sheet.snapshot.offerings.capacity_type[sheet.offering]
    idle = (sheet.state == int(MachineState.IDLE)) & (since != NEVER)
    for kind, seconds in sorted(holds.items()):
        # Twice the hold: one that is over is only now being released.
        late = idle & (capacity == int(kind)) & (now - since > 2 * seconds * SECOND)
        if count := int(late.sum()):
            what = "machine is" if count == 1 else "machines are"
            text = (
                f"{count} {kind.label} {what} Idle for more than twice the {seconds:g} s hold: "
                "bigfleet why-not machine/ID says what keeps one"
            )
            yield RedFlag(Severity.WARN, "idle-past-hold", kind.label, count, text)


def _moved_prices(days: Mapping[str, OfferingDay]) -> Iterable[RedFlag]:
    for name, day in sorted(days.items()):
        if day.lowest_price > 0 and day.highest_price > day.lowest_price * (1 + MOVED):
            text = (
                f"the price of {name} was between ${day.lowest_price:.4f} and "
                f"${day.highest_price:.4f} within a day"
            )
            yield RedFlag(Severity.WARN, "price-moved", name, 1, text)


def _interrupted_more(days: Mapping[str, OfferingDay]) -> Iterable[RedFlag]:
    for name, day in sorted(days.items()):
        seen, expected = day.interruptions, day.expected_interruptions
        if seen >= FEWEST_INTERRUPTIONS and seen > MANY_TIMES * expected:
            text = (
                f"{seen} machines of {name} were taken away within a day, where its declared "
                f"probability makes {expected:.1f} likely"
            )
            yield RedFlag(Severity.WARN, "interruptions", name, seen, text)


def _configured_spot(sheet: CostSheet) -> Bools:
    capacity = sheet.snapshot.offerings.capacity_type[sheet.offering]
    configured = sheet.state == int(MachineState.CONFIGURED)
    found: Bools = configured & (capacity == int(CapacityType.SPOT))
    return found


def _spot_machines(count: int, kind: str = "") -> str:
    of = f" of {kind}" if kind else ""
    return f"{count} Spot machine{of} runs" if count == 1 else f"{count} Spot machines{of} run"
