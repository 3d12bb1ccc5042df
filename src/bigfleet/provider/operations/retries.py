"""How long to wait before the next attempt, and when there is none."""

import random
from dataclasses import dataclass

from bigfleet.model.backoffs import Backoff


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Exponential with full jitter: the spread keeps many failures from returning together."""

    first_seconds: float = 1.0
    longest_seconds: float = 30.0
    attempts: int = 8

    def delay(self, retries: int, after: float | None, chance: random.Random) -> float | None:
        """Seconds before retry number `retries` + 1, None when it is not to be tried."""
        if retries >= self.attempts:
            return None
        ceiling = Backoff(self.first_seconds, self.longest_seconds).seconds(retries + 1)
        return max(after or 0.0, chance.uniform(0.0, ceiling))
