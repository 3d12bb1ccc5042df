"""How fast we ask: a bucket of tokens, filled at a steady rate, so that a burst is bounded.

First come, first served: a caller reserves the next token at once and waits for its time.
"""

from bigfleet.edge.clock import SECOND, Clock


class RateLimiter:
    def __init__(self, clock: Clock, qps: float, burst: int) -> None:
        if qps <= 0 or burst < 1:
            text = f"qps {qps} and burst {burst} would let nothing through"
            raise ValueError(f"{text}; set qps above 0 and burst to 1 or more")
        self._clock = clock
        self._nanos_per_token = SECOND / qps
        self._burst = burst
        #: Tokens there are; below zero as many are promised to those who wait.
        self._tokens = float(burst)
        self._counted_at = clock.now()

    def reserve(self) -> float:
        """Takes a token, now or in the future; the seconds until it is there."""
        now = self._clock.now()
        grown = (now - self._counted_at) / self._nanos_per_token
        self._tokens = min(self._burst, self._tokens + max(0.0, grown)) - 1
        self._counted_at = now
        return max(0.0, -self._tokens * self._nanos_per_token / SECOND)

    async def take(self) -> None:
        if (seconds := self.reserve()) > 0:
            try:
                await self._clock.sleep(seconds)
            except BaseException:
                # A cancelled caller sends nothing: its token goes to the next.
                self._tokens += 1
                raise
