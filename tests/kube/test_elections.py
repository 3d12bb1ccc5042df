"""Who of several replicas acts: never two."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bigfleet.edge.clock import SECOND, ManualClock, settle
from bigfleet.edge.driver import RealClock
from bigfleet.edge.logs import NullLog
from bigfleet.kube.kinds import LEASES
from bigfleet.kube.leases import Election, micro_time
from tests.kube.lease_network import KEY, LEASE, Leases, Line
from tests.kube.waiting import driven
from tests.kube_api import FakeApiServer, api_for


def candidate(
    leases: Leases,
    clock: ManualClock,
    identity: str,
    delay: Callable[[], float | None] = lambda: 0.0,
    draw: Callable[[], float] = lambda: 0.5,
) -> tuple[Election, Line]:
    line = Line(leases, clock, delay)
    named = partial(Election, name=KEY.name, namespace=KEY.namespace, identity=identity)
    return named(line, clock, draw, NullLog()), line


@asynccontextmanager
async def running(
    clock: ManualClock | None, *elections: Election
) -> AsyncIterator[list[asyncio.Task[None]]]:
    tasks = [asyncio.ensure_future(election.run()) for election in elections]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        ended = asyncio.gather(*tasks, return_exceptions=True)
        if clock is not None:
            await driven(clock, ended)
        await ended


class Suspended(ManualClock):
    def jump(self, seconds: float) -> None:
        """Time passes and no task runs, as in a process that was stopped."""
        self._now += round(seconds * SECOND)


async def test_the_first_candidate_holds_and_the_second_waits() -> None:
    leases, clock = Leases(), ManualClock()
    a, _ = candidate(leases, clock, "a")
    b, _ = candidate(leases, clock, "b")
    async with running(clock, a, b):
        await clock.advance(60)
        assert (a.holding, b.holding, b.observed) == (True, False, True)
        assert leases.holder == "a"
        assert leases.spec["leaseTransitions"] == 0


async def test_a_holder_that_stops_gives_the_lease_back_and_the_next_has_it_at_once() -> None:
    leases, clock = Leases(), ManualClock()
    a, _ = candidate(leases, clock, "a")
    b, _ = candidate(leases, clock, "b")
    async with running(clock, a) as (task,):
        await clock.advance(1)
        async with running(clock, b):
            await clock.advance(10)
            task.cancel()
            await settle()
            assert (leases.holder, a.holding) == ("", False)
            await clock.advance(2.5)
            assert b.holding
            assert leases.spec["leaseTransitions"] == 1


async def test_who_stops_without_holding_leaves_the_lease_alone() -> None:
    leases, clock = Leases(), ManualClock()
    a, _ = candidate(leases, clock, "a")
    b, _ = candidate(leases, clock, "b")
    async with running(clock, a):
        await clock.advance(1)
        async with running(clock, b):
            await clock.advance(10)
        assert leases.holder == "a"
        assert a.holding


async def test_a_release_reaches_over_a_renewal_that_was_on_its_way() -> None:
    leases, clock = Leases(), ManualClock()
    a, line = candidate(leases, clock, "a")
    async with running(clock, a) as (task,):
        await clock.advance(1)
        delays = [0.0, 4.0]
        line.delay = lambda: delays.pop(0) if delays else 0.0
        await clock.advance(2)
        task.cancel()
        await settle()
        assert leases.holder == ""


async def test_a_release_is_tried_again_where_such_a_renewal_comes_in_between() -> None:
    leases, clock = Leases(), ManualClock()
    a, line = candidate(leases, clock, "a")
    async with running(clock, a) as (task,):
        await clock.advance(1)
        line.delay = lambda: 0.5
        task.cancel()
        # It has been read, and what shall replace it is on its way.
        await clock.advance(1.2)
        found = leases.storage.find(LEASE, KEY)
        renewed = {**found["spec"], "renewTime": micro_time(clock.now())}
        leases.storage.replace(LEASE, KEY, {**found, "spec": renewed})
        await clock.advance(3)
        assert leases.holder == ""


async def test_a_crashed_holder_is_followed_after_the_duration() -> None:
    leases, clock = Leases(), ManualClock()
    a, line = candidate(leases, clock, "a")
    b, _ = candidate(leases, clock, "b")
    async with running(clock, a, b):
        await clock.advance(10)
        line.delay = lambda: None
        began = clock.now()
        await driven_until(clock, lambda: b.holding)
        waited = (clock.now() - began) / SECOND
    assert 13 <= waited <= 20


async def test_a_holder_that_hears_nothing_stops_by_itself_before_another_may_follow() -> None:
    leases, clock = Leases(), ManualClock()
    a, line = candidate(leases, clock, "a")
    async with running(clock, a):
        await clock.advance(7)
        line.delay = lambda: None
        sent = clock.now()
        lost = asyncio.ensure_future(a.wait_lost())
        await driven_until(clock, lost.done)
        assert 8 <= (clock.now() - sent) / SECOND <= 10
        assert leases.holder == "a"


async def test_the_deadline_counts_from_the_sending_however_slow_the_answer() -> None:
    leases, clock = Leases(), ManualClock()
    a, line = candidate(leases, clock, "a")
    delays = [0.0, 0.0, 0.0, 4.0]
    line.delay = lambda: delays.pop(0) if delays else None
    async with running(clock, a):
        sent = clock.now()
        await clock.advance(4)
        assert a.holding
        await driven_until(clock, lambda: not a.holding)
        assert clock.now() - sent == 10 * SECOND


async def test_after_a_pause_of_the_process_it_does_not_hold_even_before_any_timer_ran() -> None:
    leases, clock = Leases(), Suspended()
    a, _ = candidate(leases, clock, "a")
    async with running(clock, a):
        await clock.advance(1)
        held = a.holding
        clock.jump(10.1)
        assert (held, a.holding) == (True, False)
        await asyncio.wait_for(a.wait_lost(), 60)


async def test_a_confirmation_that_comes_too_late_confirms_nothing() -> None:
    leases, clock = Leases(), Suspended()
    a, line = candidate(leases, clock, "a")
    async with running(clock, a):
        await clock.advance(0.5)
        # The answer of the next renewal is ready, but the process sleeps through it.
        delays = [0.0, 1.0]
        line.delay = lambda: delays.pop(0) if delays else None
        await clock.advance(2)
        clock.jump(12)
        await clock.advance(0)
        assert not a.holding


async def test_a_deleted_lease_is_lost_and_taken_anew() -> None:
    leases, clock = Leases(), ManualClock()
    a, _ = candidate(leases, clock, "a")
    async with running(clock, a):
        await clock.advance(1)
        leases.storage.remove(LEASE, KEY)
        await clock.advance(3)
        assert (a.holding, leases.holder) == (True, "a")


async def test_a_lease_that_an_admin_gave_to_another_is_let_go() -> None:
    leases, clock = Leases(), ManualClock()
    a, _ = candidate(leases, clock, "a")
    async with running(clock, a):
        await clock.advance(1)
        spec = {"spec": {"holderIdentity": "z"}}
        leases.storage.merge_patch(LEASE, KEY, spec)
        await clock.advance(2.5)
        assert (a.holding, leases.holder) == (False, "z")


async def test_a_renewal_whose_answer_was_lost_does_not_cost_the_lease() -> None:
    leases, clock = Leases(), ManualClock()
    a, line = candidate(leases, clock, "a")
    async with running(clock, a):
        await clock.advance(1)
        lost = asyncio.ensure_future(a.wait_lost())
        delays: list[float | None] = [0.0, None]
        line.delay = lambda: delays.pop(0) if delays else 0.0
        await clock.advance(60)
        assert a.holding
        assert not lost.done()
        lost.cancel()


# A seed says nothing when it is made smaller: no shrinking.
@settings(max_examples=settings().max_examples // 10, phases=(Phase.explicit, Phase.generate))
@given(seed=st.integers(0, 2**32), slowest=st.sampled_from([0.05, 0.5, 4.0]))
def test_two_never_hold_at_once_on_any_line(seed: int, slowest: float) -> None:
    asyncio.run(contested(Random(seed), slowest))


class LineDelays:
    """Delays of one candidate's line, with outages of many seconds in between."""

    def __init__(self, chance: Random, clock: ManualClock, slowest: float) -> None:
        self._chance = chance
        self._clock = clock
        self._slowest = slowest
        self._cut_until = 0

    def delay(self) -> float | None:
        now = self._clock.now()
        if now < self._cut_until:
            return None
        if self._chance.random() < 0.08:
            self._cut_until = now + round(self._chance.uniform(0, 30) * SECOND)
        return self._chance.random() * self._slowest


async def contested(chance: Random, slowest: float) -> None:
    """Hardly any room between deadline and duration, so that any time counted wrongly shows."""
    leases, clock = Leases(), ManualClock()
    named = partial(Election, name=KEY.name, namespace=KEY.namespace)
    tight = partial(named, duration=10.1, renew_deadline=10, retry=0.3)
    elections = [
        tight(
            Line(leases, clock, LineDelays(chance, clock, slowest).delay),
            clock,
            chance.random,
            NullLog(),
            identity=name,
        )
        for name in "abc"
    ]
    tasks = [asyncio.create_task(election.run()) for election in elections]
    try:
        await settle()
        for _ in range(400):
            await to_next_timer(clock)
            assert sum(election.holding for election in elections) <= 1
            if chance.random() < 0.005:
                turn = chance.randrange(3)
                tasks[turn].cancel()
                await driven_until(clock, tasks[turn].done)
                tasks[turn] = asyncio.create_task(elections[turn].run())
                await settle()
    finally:
        for task in tasks:
            task.cancel()
        await driven_until(clock, lambda: all(task.done() for task in tasks))


async def to_next_timer(clock: ManualClock) -> None:
    due = clock.next_due()
    assert due is not None
    await clock.advance((due - clock.now()) / SECOND)


async def driven_until(clock: ManualClock, holds: Callable[[], object]) -> None:
    """From timer to timer; fails when no task waits for anything any more."""
    await settle()
    while not holds():
        await to_next_timer(clock)


@pytest.mark.parametrize("times", [(15, 15, 2), (10, 15, 2), (15, 10, 10)])
def test_times_that_could_let_two_hold_are_refused(times: tuple[float, float, float]) -> None:
    duration, deadline, retry = times
    with pytest.raises(ValueError, match="must rise in this order"):
        Election(
            Line(Leases(), ManualClock(), lambda: 0.0),
            ManualClock(),
            lambda: 0.5,
            NullLog(),
            name="l",
            namespace="n",
            identity="a",
            duration=duration,
            renew_deadline=deadline,
            retry=retry,
        )


async def test_over_http_the_lease_reads_as_other_tools_expect_it() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        named = partial(Election, name="bigfleet-operator", namespace="bigfleet")
        election = named(api, RealClock(), lambda: 0.5, NullLog(), identity="pod-1_x")
        async with running(None, election):
            await asyncio.wait_for(election.wait_held(), 60)
            spec = server.get(LEASES, "bigfleet-operator", "bigfleet")["spec"]
        assert server.get(LEASES, "bigfleet-operator", "bigfleet")["spec"]["holderIdentity"] == ""
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("pod-1_x", 15)
    assert len(spec["renewTime"]) == len("2026-01-01T00:00:00.000000Z")


def test_times_in_a_lease_have_six_digits_always() -> None:
    assert micro_time(1_700_000_000 * SECOND) == "2023-11-14T22:13:20.000000Z"
    assert micro_time(1_700_000_000 * SECOND + 1_234_999) == "2023-11-14T22:13:20.001234Z"
