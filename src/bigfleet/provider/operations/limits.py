"""Limits per API class of the substrate: a token bucket, and a breaker that spares a sick API.

Both are shared by all kinds of operations. The breaker opens when half of the last twenty calls
failed; fifteen seconds later one call tries, and its end decides. Answers such as "no stock" are
answers: only failures of the API count against it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.model.machines import Instant
from bigfleet.model.token_buckets import TokenBucket
from bigfleet.provider.backend import BackendError, Rate, Retryable
from bigfleet.provider.metrics import ProviderMetrics

CALLS, SHARE = 20, 0.5
OPEN_SECONDS = 15.0


def bucket_of(rate: Rate) -> TokenBucket:
    """A rate without a burst lets a second's calls out at once."""
    return TokenBucket(rate.per_second, rate.burst or max(1.0, rate.per_second))


@dataclass(slots=True)
class Breaker:
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=CALLS))
    #: 0: closed.
    opened_at: Instant = 0
    trying: bool = False

    def wait(self, now: Instant) -> float:
        """Seconds until it is worth asking again; 0: go ahead."""
        if not self.opened_at:
            return 0.0
        left = OPEN_SECONDS - (now - self.opened_at) / SECOND
        if left > 0:
            return left
        if self.trying:
            return 1.0
        self.trying = True
        return 0.0

    def record(self, ok: bool, now: Instant) -> None:
        if self.trying:
            self.trying = False
            self.opened_at = 0 if ok else now
            self.recent.clear()
            return
        self.recent.append(ok)
        bad = sum(1 for good in self.recent if not good)
        if len(self.recent) == CALLS and bad >= SHARE * CALLS:
            self.opened_at = now

    def forget_try(self) -> None:
        self.trying = False


class Limits:
    def __init__(self, rates: Mapping[str, Rate], clock: Clock, metrics: ProviderMetrics) -> None:
        self._clock = clock
        self._metrics = metrics
        self._buckets = {name: bucket_of(rate) for name, rate in rates.items()}
        self._breakers: dict[str, Breaker] = {}

    @asynccontextmanager
    async def limit(self, api_class: str) -> AsyncIterator[None]:
        breaker = self._breakers.setdefault(api_class, Breaker())
        await self._wait(api_class, breaker)
        ok = False
        try:
            yield
            ok = True
        except asyncio.CancelledError:
            breaker.forget_try()
            raise
        except BackendError as error:
            ok = not isinstance(error, Retryable)
            raise
        finally:
            breaker.record(ok, self._clock.now())
            labels = {"class": api_class, "outcome": "ok" if ok else "error"}
            self._metrics.counts.add("substrate_calls_total", 1, **labels)

    async def _wait(self, api_class: str, breaker: Breaker) -> None:
        began = self._clock.now()
        while seconds := breaker.wait(self._clock.now()):
            await self._clock.sleep(seconds)
        bucket = self._buckets.get(api_class)
        if bucket is not None and (seconds := bucket.take(self._clock.now())):
            await self._clock.sleep(seconds)
        waited = (self._clock.now() - began) / SECOND
        if waited > 0:
            self._metrics.counts.add("throttled_seconds_total", waited)
