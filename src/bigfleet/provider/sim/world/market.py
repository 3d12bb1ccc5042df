"""The spot price of a pool: a mean-reverting walk in the logarithm of its share of the catalog.

x' = x + 0.1 (mu - x) + 0.03 z per tick of 60 s, the price kept within 0.10 and 1.00 of the catalog.
A price is published with four decimals and only when it moved by at least one per cent.
"""

import math
from dataclasses import dataclass

from bigfleet.provider.sim.world.durations import SECOND

TICK = 60 * SECOND
MEAN_SHARE = 0.30
LOWEST_SHARE, HIGHEST_SHARE = 0.10, 1.00
_PULL, _NOISE = 0.1, 0.03
_WORTH_PUBLISHING = 0.01
_HIGHEST_COUPLED = 0.9


@dataclass(slots=True)
class Market:
    catalog: float
    mean_share: float
    #: log(price / catalog), unrounded: what the walk remembers.
    x: float
    published: float
    walking: bool = True

    @classmethod
    def at_mean(cls, catalog: float, mean_price: float, walking: bool) -> "Market":
        share = mean_price / catalog if catalog > 0 else 0.0
        # A price pinned outside the band of the walk stays where the offering put it.
        walks = walking and LOWEST_SHARE <= share <= HIGHEST_SHARE
        x = math.log(share) if share > 0 else 0.0
        return cls(catalog, share, x, round(mean_price, 4), walks)

    @property
    def mean_price(self) -> float:
        return self.catalog * self.mean_share

    def tick(self, z: float) -> bool:
        """One step of the walk; whether the published price moved."""
        if not self.walking:
            return False
        moved = self.x + _PULL * (math.log(self.mean_share) - self.x) + _NOISE * z
        self.x = min(max(moved, math.log(LOWEST_SHARE)), math.log(HIGHEST_SHARE))
        price = round(self.catalog * math.exp(self.x), 4)
        if abs(price - self.published) < _WORTH_PUBLISHING * self.published:
            return False
        self.published = price
        return True

    def set_price(self, price: float) -> None:
        """What an operator says holds at once; a walk that is on leaves from there."""
        self.published = round(price, 4)
        if price > 0 and self.catalog > 0:
            self.x = math.log(price / self.catalog)

    def coupled(self, probability: float) -> float:
        """The risk of a dear pool: quadratic in the price over its mean."""
        if self.mean_price <= 0:
            return probability
        dearness = self.published / self.mean_price
        return min(max(round(probability * dearness**2, 4), 0.0001), _HIGHEST_COUPLED)
