"""What holds operations back: lanes, API limits, waits between attempts, and offerings that rest.

Limits per API class of the substrate: a token bucket, and a breaker that spares a sick API.

Both are shared by all kinds of operations. The breaker opens when half of the last twenty calls
failed; fifteen seconds later one call tries, and its end decides. Answers such as "no stock" are
answers: only failures of the API count against it.

Offerings that rest after a stock-out or a used-up quota: no Create of them is accepted.

How long to wait before the next attempt, and when there is none.

A lane per kind: so many operations run at once, the rest wait in order.

Lanes are separate, so that a burst of one kind cannot starve another.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code
from bigfleet.model.token_buckets import TokenBucket
from bigfleet.provider.backend import BackendError, OfferingKey, OperationContext, Rate, Retryable
from bigfleet.provider.ledger.decisions import Refusal
from bigfleet.provider.ledger.transitions import Reason
from bigfleet.provider.metrics import ProviderMetrics


@dataclass(slots=True)
class Cooldowns:
    _resting: dict[OfferingKey, tuple[Instant, Reason, str]] = field(default_factory=dict)

    def rest(self, offering: OfferingKey, reason: Reason, text: str, until: Instant) -> None:
        self._resting[offering] = (until, reason, text)

    def why_not(self, offering: OfferingKey, now: Instant) -> Refusal | None:
        resting = self._resting.get(offering)
        if resting is None:
            return None
        until, reason, text = resting
        if until <= now:
            del self._resting[offering]
            return None
        name = f"{offering.instance_type} in {offering.zone}"
        seconds = (until - now) / SECOND
        return Refusal(
            Code.RESOURCE_EXHAUSTED, f"{name} rests for {seconds:.0f} s: {text}", reason.value
        )


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


class Lane:
    def __init__(self, places: int, clock: Clock) -> None:
        self._free = places
        self._clock = clock
        self._waiting: deque[asyncio.Future[bool]] = deque()

    def try_enter(self) -> bool:
        """Takes a place if one is free; then no call waits, for `leave` hands places over."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    async def enter(self, seconds: float) -> bool:
        """Waits for a place; False once the patience is over."""
        if self.try_enter():
            return True
        place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(seconds, _resolver(place, False))
        self._waiting.append(place)
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.result():
                self.leave()
            raise
        finally:
            timer.cancel()

    def leave(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(True)
                return
        self._free += 1


def _resolver(place: asyncio.Future[bool], value: bool) -> Callable[[], None]:
    def resolve() -> None:
        if not place.done():
            place.set_result(value)

    return resolve


class MachineLocks:
    """One lock per machine, made when it is needed and dropped when it is not."""

    def __init__(self) -> None:
        #: All and only the machines whose lock is held or waited for, with by how many.
        self._held: dict[str, tuple[asyncio.Lock, int]] = {}

    def __len__(self) -> int:
        return len(self._held)

    @asynccontextmanager
    async def hold(self, machine_id: str) -> AsyncIterator[None]:
        lock, users = self._held.get(machine_id) or (asyncio.Lock(), 0)
        self._held[machine_id] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._held[machine_id]
            if users == 1:
                del self._held[machine_id]
            else:
                self._held[machine_id] = (lock, users - 1)


@dataclass(frozen=True, slots=True)
class LimitedContext(OperationContext):
    """Operations under the limits of the substrate's API; notes are not kept."""

    limits: Limits

    def limit(self, api_class: str) -> AbstractAsyncContextManager[None]:
        return self.limits.limit(api_class)
