"""How fast we ask the API server: a bucket of tokens by a clock."""

from bigfleet.edge.clock import Clock
from bigfleet.model.token_buckets import TokenBucket


class RateLimiter:
    def __init__(self, clock: Clock, qps: float, burst: int) -> None:
        if qps <= 0 or burst < 1:
            text = f"qps {qps} and burst {burst} would let nothing through"
            raise ValueError(f"{text}; set qps above 0 and burst to 1 or more")
        self._clock = clock
        self._bucket = TokenBucket(qps, burst)

    def reserve(self) -> float:
        """Takes a token, now or in the future; the seconds until it is there."""
        return self._bucket.take(self._clock.now())

    async def take(self) -> None:
        if (seconds := self.reserve()) > 0:
            try:
                await self._clock.sleep(seconds)
            except BaseException:
                self._bucket.give_back()
                raise
