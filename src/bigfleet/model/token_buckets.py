"""A bucket of tokens, filled at a steady rate: so many a second, and so many at once."""

from dataclasses import dataclass, field

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND


@dataclass(slots=True)
class TokenBucket:
    """Full until it is first used."""

    per_second: float
    burst: float
    #: Below zero, as many are promised to callers that wait.
    tokens: float = field(init=False)
    _counted_at: Instant | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def there(self, at: Instant) -> int:
        """Whole tokens that may be taken without waiting."""
        self._fill(at)
        return int(self.tokens)

    def take(self, at: Instant) -> float:
        """Takes one, on credit if need be: first come, first served. The seconds until it is
        there."""
        self._fill(at)
        self.tokens -= 1
        return max(0.0, -self.tokens / self.per_second)

    def give_back(self) -> None:
        """A caller gave up before its token was there."""
        self.tokens += 1

    def _fill(self, at: Instant) -> None:
        if self._counted_at is not None:
            flowed = max(0, at - self._counted_at) / SECOND * self.per_second
            self.tokens = min(self.burst, self.tokens + flowed)
        self._counted_at = at
