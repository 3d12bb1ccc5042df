"""People name any address of a coordinator; the leader answers them."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import pytest

from bigfleet.model.coordinator_calls import NO_LEADER, STORE_DOWN, UNCLEAR, NotLeader
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.leader_lines import Search
from tests.coordinator_wire import samples
from tests.coordinator_wire.scripted import PATIENCE, ScriptedCoordinator, serving

#: Half of it is lost to a server that stays silent, and the rest is plenty.
SHORT = 6.0


@contextmanager
def silent() -> Iterator[str]:
    """Takes connections and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def dead() -> str:
    """An address on which no server listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


@asynccontextmanager
async def replicas(*coordinators: ScriptedCoordinator) -> AsyncIterator[list[str]]:
    """Their addresses."""
    async with AsyncExitStack() as stack:
        rigs = [await stack.enter_async_context(serving(each)) for each in coordinators]
        yield [rig.address for rig in rigs]


async def test_a_follower_sends_its_caller_to_the_leader_it_knows() -> None:
    follower, leader = ScriptedCoordinator(), ScriptedCoordinator()
    async with replicas(follower, leader) as (one, other):
        follower.follows = other
        async with CoordinatorAdminClient([one], deadline=PATIENCE) as client:
            assert await client.shards() == samples.SHARDS
    assert (follower.asked, leader.asked) == ([], [("shards",)])


async def test_the_last_leader_is_asked_first() -> None:
    follower, leader = ScriptedCoordinator(), ScriptedCoordinator()
    async with replicas(follower, leader) as (one, other):
        follower.follows = other
        async with CoordinatorAdminClient([one], deadline=PATIENCE) as client:
            await client.shards()
            follower.follows = None
            await client.shards()
    assert (follower.asked, leader.asked) == ([], [("shards",), ("shards",)])


async def test_one_that_knows_no_leader_is_passed_over() -> None:
    lost, leader = ScriptedCoordinator(follows=""), ScriptedCoordinator()
    async with (
        replicas(lost, leader) as addresses,
        CoordinatorAdminClient(addresses, deadline=PATIENCE) as client,
    ):
        assert await client.shards() == samples.SHARDS


async def test_a_dead_address_is_passed_over() -> None:
    async with (
        replicas(ScriptedCoordinator()) as addresses,
        CoordinatorAdminClient([dead(), *addresses], deadline=PATIENCE) as client,
    ):
        assert await client.shards() == samples.SHARDS


async def test_an_address_that_stays_silent_costs_its_share_of_the_time_only() -> None:
    with silent() as nobody:
        async with (
            replicas(ScriptedCoordinator()) as addresses,
            CoordinatorAdminClient([nobody, *addresses], deadline=SHORT) as client,
        ):
            assert await client.shards() == samples.SHARDS


async def test_a_leader_that_is_named_but_gone_is_looked_for_elsewhere() -> None:
    stale, leader = ScriptedCoordinator(follows=dead()), ScriptedCoordinator()
    async with (
        replicas(stale, leader) as addresses,
        CoordinatorAdminClient(addresses, deadline=PATIENCE) as client,
    ):
        assert await client.shards() == samples.SHARDS


async def test_a_leader_that_loses_its_office_names_its_successor() -> None:
    first, second = ScriptedCoordinator(), ScriptedCoordinator()
    async with (
        replicas(first, second) as (one, other),
        CoordinatorAdminClient([one], deadline=PATIENCE) as client,
    ):
        await client.shards()
        first.follows = other
        await client.shards()
    assert (first.asked, second.asked) == ([("shards",)], [("shards",)])


async def test_two_that_name_each_other_do_not_redirect_a_caller_for_ever() -> None:
    one, other = ScriptedCoordinator(), ScriptedCoordinator()
    async with replicas(one, other) as (here, there):
        one.follows, other.follows = there, here
        async with CoordinatorAdminClient([here], deadline=PATIENCE) as client:
            with pytest.raises(Rejected, match="none of the coordinators leads") as rejected:
                await client.shards()
    assert rejected.value.code is Code.UNAVAILABLE


async def test_if_every_address_fails_each_is_told_with_its_error() -> None:
    first, second = dead(), dead()
    async with CoordinatorAdminClient([first, second], deadline=PATIENCE) as client:
        with pytest.raises(Rejected) as rejected:
            await client.shards()
    assert rejected.value.code is Code.UNAVAILABLE
    assert first in rejected.value.text
    assert second in rejected.value.text


async def test_what_a_leader_refuses_is_refused_and_no_other_replica_is_asked() -> None:
    leader = ScriptedCoordinator(raises=Rejected(Code.NOT_FOUND, "no such shard"))
    other = ScriptedCoordinator()
    async with (
        replicas(leader, other) as addresses,
        CoordinatorAdminClient(addresses, deadline=PATIENCE) as client,
    ):
        with pytest.raises(Rejected, match="no such shard"):
            await client.reports(shard_id="x")
    assert other.asked == []


async def test_a_tail_is_of_the_leader() -> None:
    follower, leader = ScriptedCoordinator(), ScriptedCoordinator()
    async with replicas(follower, leader) as (one, other):
        follower.follows = other
        async with CoordinatorAdminClient([dead(), one], deadline=PATIENCE) as client:
            assert [event async for event in client.events()] == [samples.EVENT]
    assert (follower.asked, leader.asked) == ([], [("events", 0, False)])


async def test_a_tail_without_a_leader_says_why() -> None:
    async with (
        replicas(ScriptedCoordinator(follows="")) as addresses,
        CoordinatorAdminClient(addresses, deadline=PATIENCE) as client,
    ):
        with pytest.raises(Rejected, match="does not lead") as rejected:
            await anext(client.events())
    assert rejected.value.code is Code.UNAVAILABLE


def asked(search: Search, **answers: Rejected) -> list[str]:
    """Everybody the search leads to, by these answers."""
    found = []
    while (address := search.next()) is not None:
        found.append(address)
        search.on_rejected(address, answers[address])
    return found


GONE = Rejected(Code.UNAVAILABLE, "gone")
LATE = Rejected(Code.DEADLINE_EXCEEDED, "late")


def test_the_last_leader_comes_first_and_no_address_twice() -> None:
    search = Search(["a", "b", "c"], "b")
    assert asked(search, a=GONE, b=GONE, c=GONE) == ["b", "a", "c"]


def test_a_leader_that_was_named_comes_next() -> None:
    search = Search(["a", "b", "c"])
    assert asked(search, a=NotLeader("no", "c"), b=GONE, c=GONE) == ["a", "c", "b"]


def test_a_leader_that_was_late_is_asked_again_if_another_replica_still_names_it() -> None:
    search = Search(["a", "b"])
    assert asked(search, a=LATE, b=NotLeader("no", "a")) == ["a", "b", "a"]


def test_the_verdict_is_what_went_wrong_last_beside_not_leading() -> None:
    search = Search(["a", "b", "c"])
    asked(search, a=LATE, b=GONE, c=Rejected(Code.FAILED_PRECONDITION, "no"))
    assert search.verdict().code is Code.UNAVAILABLE
    assert search.verdict().text == "none of the coordinators leads: a: late; b: gone; c: no"


def test_a_change_that_may_have_happened_is_told_and_not_made_again() -> None:
    search = Search(["a", "b"])
    unclear = Rejected(Code.UNAVAILABLE, "this may or may not have happened", UNCLEAR)
    search.next()
    with pytest.raises(Rejected, match="may or may not"):
        search.on_rejected("a", unclear)


def test_no_leader_is_told_apart_from_no_answer() -> None:
    no = Rejected(Code.FAILED_PRECONDITION, "no")
    full = Rejected(Code.UNAVAILABLE, "the disk is full", STORE_DOWN)
    for answers, reason in (
        ({"a": GONE, "b": GONE}, ""),
        ({"a": GONE, "b": no}, NO_LEADER),
        ({"a": no}, NO_LEADER),
        ({"a": full}, STORE_DOWN),
        ({"a": full, "b": no}, NO_LEADER),
    ):
        search = Search(list(answers))
        asked(search, **answers)
        verdict = search.verdict()
        assert (verdict.code, verdict.reason) == (Code.UNAVAILABLE, reason)


def test_of_one_that_was_asked_twice_the_trouble_is_told_and_not_that_it_does_not_lead() -> None:
    search = Search(["a", "b"])
    assert search.next() == "a"
    search.on_rejected("a", GONE)
    assert search.next() == "b"
    search.on_rejected("b", NotLeader("no", "a"))
    assert search.next() == "a"
    search.on_rejected("a", Rejected(Code.FAILED_PRECONDITION, "no more"))
    assert search.verdict().text == "none of the coordinators leads: a: gone; b: no"


def test_one_address_is_told_in_its_own_words() -> None:
    search = Search(["a"])
    asked(search, a=LATE)
    assert (search.verdict().code, search.verdict().text) == (Code.DEADLINE_EXCEEDED, "late")
