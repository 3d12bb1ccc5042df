"""How likely a spot machine is lost within an hour: a forecast, and what was seen lately.

The forecast is a bucket, as clouds publish it. A notice makes the loss certain for its offering's
neighbours too, for a while: the observed risk starts at 1 and halves over time until the forecast
is the larger of the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bigfleet.edge.clock import SECOND
from bigfleet.model.machines import CapacityType, Instant
from bigfleet.provider.backend import OfferingKey

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
