"""What an offering costs, and how likely its machines are lost.

PriceBook: what an offering costs, from a pinned seed and live refreshes.

A type that once had a price never costs nothing because a refresh failed to name it. Moves of less
than one percent are held back: each would be a revision of every machine of that offering.

How likely a spot machine is lost within an hour: a forecast, and what was seen lately.

The forecast is a bucket, as clouds publish it. A notice makes the loss certain for its offering's
neighbours too, for a while: the observed risk starts at 1 and halves over time until the forecast
is the larger of the two.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bigfleet.edge.clock import SECOND
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import CapacityType, Instant
from bigfleet.provider.backend import OfferingKey, Price, PriceTable
from bigfleet.provider.blocks.offerings import CAPACITY_NAMES

#: Middles of "below 5 %", "5-10 %", "10-15 %", "15-20 %" and "above 20 %".
BUCKETS = (0.025, 0.075, 0.125, 0.175, 0.30)
UNKNOWN_RISK = 0.125
#: Spot capacity that was just taken back stays scarce for minutes, not for days.
HALF_LIFE_SECONDS = 1800.0


@dataclass(slots=True)
class InterruptionModel:
    #: Instance type -> number of its bucket.
    forecast: Mapping[str, int] = field(default_factory=dict)
    half_life_seconds: float = HALF_LIFE_SECONDS
    _seen: dict[OfferingKey, Instant] = field(default_factory=dict)

    def observe(self, offering: OfferingKey, at: Instant) -> None:
        """A notice arrived."""
        self._seen[offering] = max(at, self._seen.get(offering, at))

    def risk(self, offering: OfferingKey, now: Instant) -> float:
        """In (0, 1] for spot, 0 for everything else."""
        if offering.capacity_type is not CapacityType.SPOT:
            return 0.0
        bucket = self.forecast.get(offering.instance_type)
        expected = UNKNOWN_RISK
        if bucket is not None:
            expected = BUCKETS[min(max(bucket, 0), len(BUCKETS) - 1)]
        seen = self._seen.get(offering)
        if seen is None:
            return expected
        age = max(0.0, (now - seen) / SECOND)
        return float(max(expected, 0.5 ** (age / self.half_life_seconds)))


#: The smallest move that is told.
HELD_BACK = 0.01


class _Quoted(msgspec.Struct, kw_only=True):
    instance_type: str
    price: float
    #: Empty: any zone.
    zone: str = ""
    #: Empty: any capacity type but spot.
    capacity_type: str = ""
    interruption_probability: float | None = None


@dataclass(slots=True)
class PriceBook:
    #: What a quote is multiplied with to be dollars.
    currency_factor: float = 1.0
    refreshed_at: Instant = 0
    _prices: dict[OfferingKey, float] = field(default_factory=dict)
    _risks: dict[OfferingKey, float] = field(default_factory=dict)

    @classmethod
    def seeded(cls, path: Path | str, currency_factor: float = 1.0) -> "PriceBook":
        """A JSON array of {instance_type, price, zone, capacity_type, interruption_probability}."""
        book = cls(currency_factor)
        try:
            quotes = msgspec.json.decode(Path(path).read_bytes(), type=list[_Quoted])
        except (OSError, msgspec.DecodeError) as error:
            raise BadInput([Problem(str(path), str(error))]) from None
        problems = []
        for number, quote in enumerate(quotes):
            kind = CAPACITY_NAMES.get(quote.capacity_type, CapacityType.UNSPECIFIED)
            if quote.capacity_type and kind is CapacityType.UNSPECIFIED:
                text = f"capacity_type is one of {', '.join(CAPACITY_NAMES)}"
                problems.append(Problem(f"{path}[{number}]", text))
                continue
            key = OfferingKey(quote.instance_type, quote.zone, kind)
            book._set(key, Price(quote.price, quote.interruption_probability))
        if problems:
            raise BadInput(problems)
        return book

    def price(self, offering: OfferingKey) -> float | None:
        """Dollars an hour; None where it was never told."""
        return self._found(self._prices, offering)

    def risk(self, offering: OfferingKey) -> float | None:
        found = self._found(self._risks, offering)
        if offering.capacity_type is not CapacityType.SPOT:
            return 0.0 if found is None else found
        return UNKNOWN_RISK if not found else min(1.0, found)

    def refresh(self, prices: Mapping[OfferingKey, Price], now: Instant) -> PriceTable:
        """Takes live prices over; the table of those that really moved."""
        moved = {key: price for key, price in prices.items() if self._set(key, price)}
        self.refreshed_at = now
        return PriceTable(
            {
                key: Price(self._prices[key], price.interruption_probability)
                for key, price in moved.items()
            }
        )

    def age_seconds(self, now: Instant) -> float:
        """Since the last refresh; infinite where only the seed is known."""
        return (now - self.refreshed_at) / SECOND if self.refreshed_at else math.inf

    def _set(self, key: OfferingKey, price: Price) -> bool:
        """Whether it is worth telling."""
        moved = False
        dollars = price.price_per_hour * self.currency_factor
        before = self._prices.get(key)
        sound = math.isfinite(dollars) and dollars >= 0 and not (before and dollars == 0)
        if sound and (before is None or abs(dollars - before) > HELD_BACK * before):
            self._prices[key] = dollars
            moved = True
        risk = price.interruption_probability
        if risk is not None and 0.0 <= risk <= 1.0 and self._risks.get(key) != risk:
            self._risks[key] = risk
            moved = True
        return moved

    def _found(self, table: dict[OfferingKey, float], offering: OfferingKey) -> float | None:
        """The most exact entry: zone and capacity type, then capacity type, zone, type alone."""
        kind, unsaid = offering.capacity_type, CapacityType.UNSPECIFIED
        keys = [offering, offering._replace(zone="")]
        if kind is not CapacityType.SPOT:
            keys += [
                offering._replace(capacity_type=unsaid),
                offering._replace(zone="", capacity_type=unsaid),
            ]
        return next((table[key] for key in keys if key in table), None)
