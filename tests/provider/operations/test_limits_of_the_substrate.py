"""Token buckets and breakers per API class."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.edge.clock import SECOND
from bigfleet.provider import CapacityUnavailable, ManualClock, Rate, Retryable
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.operations.limits import Breaker, Limits, bucket_of
from bigfleet.provider.testing import settle


@given(
    st.floats(0.5, 50),
    st.floats(1, 20),
    st.lists(st.floats(0, 3), min_size=1, max_size=60),
)
def test_a_bucket_lets_through_its_burst_and_then_its_rate(
    per_second: float, burst: float, gaps: list[float]
) -> None:
    bucket = bucket_of(Rate(per_second, burst))
    now, sent = SECOND, []
    for gap in gaps:
        now += round(gap * SECOND)
        sent.append(now + round(bucket.take(now) * SECOND))
    for first in range(len(sent)):
        for last in range(first, len(sent)):
            seconds = (sent[last] - sent[first]) / SECOND
            assert last - first + 1 <= burst + per_second * seconds + 1 + 1e-6


async def test_callers_of_one_class_wait_for_each_other() -> None:
    clock = ManualClock()
    limits = Limits({"write": Rate(1, burst=1)}, clock, ProviderMetrics())
    done: list[int] = []

    async def call(number: int) -> None:
        async with limits.limit("write"):
            done.append(number)

    tasks = [asyncio.create_task(call(number)) for number in range(3)]
    await settle()
    assert done == [0]
    await clock.advance(1)
    assert done == [0, 1]
    await clock.advance(1)
    assert done == [0, 1, 2]
    await asyncio.gather(*tasks)


def failing(breaker: Breaker, calls: int, bad: int, now: int) -> None:
    for number in range(calls):
        breaker.record(number >= bad, now)


def test_a_breaker_opens_at_half_of_twenty_and_not_before() -> None:
    breaker = Breaker()
    failing(breaker, 19, 19, SECOND)
    assert breaker.wait(SECOND) == 0
    calm = Breaker()
    failing(calm, 20, 9, SECOND)
    assert calm.wait(SECOND) == 0
    sick = Breaker()
    failing(sick, 20, 10, SECOND)
    assert sick.wait(SECOND) == 15


@pytest.mark.parametrize("ok", [True, False], ids=["and closes", "and stays open"])
def test_an_open_breaker_lets_one_call_try(ok: bool) -> None:
    breaker = Breaker()
    failing(breaker, 20, 20, SECOND)
    later = 17 * SECOND
    assert breaker.wait(later) == 0
    assert breaker.wait(later) > 0
    breaker.record(ok, later)
    assert (breaker.wait(later) == 0) is ok


async def test_no_stock_is_an_answer_and_a_busy_api_is_a_failure() -> None:
    limits = Limits({}, ManualClock(), ProviderMetrics())

    async def call(error: Exception) -> None:
        async with limits.limit("write"):
            raise error

    for _ in range(20):
        with pytest.raises(CapacityUnavailable):
            await call(CapacityUnavailable("none"))
    assert limits._breakers["write"].opened_at == 0
    for _ in range(10):
        with pytest.raises(Retryable):
            await call(Retryable("busy"))
    assert limits._breakers["write"].opened_at > 0
