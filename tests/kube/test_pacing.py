"""How fast we ask."""

import asyncio

import pytest

from bigfleet.edge.clock import SECOND, ManualClock, settle
from bigfleet.kube.answers import NotFound
from bigfleet.kube.api import RateLimiter
from bigfleet.kube.kinds import LEASES, NODES
from tests.kube.waiting import driven
from tests.kube_api import FakeApiServer, api_for


async def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    clock = ManualClock()
    began = clock.now()
    limiter = RateLimiter(clock, qps=10, burst=5)
    passed: list[float] = []

    async def one() -> None:
        await limiter.take()
        passed.append(round((clock.now() - began) / SECOND, 3))

    await driven(clock, asyncio.gather(*(one() for _ in range(9))))
    assert passed == [0, 0, 0, 0, 0, 0.1, 0.2, 0.3, 0.4]


async def test_rest_fills_the_bucket_to_the_burst_and_no_further() -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock, qps=10, burst=3)
    assert [limiter.reserve() for _ in range(3)] == [0, 0, 0]
    await clock.advance(1000)
    assert [limiter.reserve() for _ in range(4)] == [0, 0, 0, pytest.approx(0.1)]


async def test_who_gives_up_waiting_leaves_the_turn_to_the_next() -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock, qps=1, burst=1)
    await limiter.take()
    waiting = asyncio.ensure_future(limiter.take())
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert limiter.reserve() == pytest.approx(1)


@pytest.mark.parametrize(("qps", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_pace_that_lets_nothing_through_is_refused(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="would let nothing through"):
        RateLimiter(ManualClock(), qps, burst)


async def test_calls_are_paced_and_leases_overtake_them() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server, api_for(server, clock, qps=1, burst=2) as api:
        server.put(NODES, {"metadata": {"name": "n-1"}})
        for _ in range(2):
            await api.get(NODES, "n-1")
        third = asyncio.ensure_future(api.get(NODES, "n-1"))
        await settle()
        with pytest.raises(NotFound):
            await api.get(LEASES, "bigfleet", "default")
        assert len(server.calls("get", "nodes")) == 2
        await driven(clock, third)
        assert len(server.calls("get", "nodes")) == 3
