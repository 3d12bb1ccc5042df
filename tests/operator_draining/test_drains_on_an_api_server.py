"""The driver against an API server: real HTTP, caches that lag, refusals, lost answers."""

from collections.abc import AsyncIterator

import pytest

from bigfleet.kube.kinds import NODES, PODS
from bigfleet.kube.names import FOUND_CORDONED
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import ReclaimInstruction
from tests.kube_api import FakeApiServer
from tests.operator_draining.cluster import BUDGETS, Cluster, running

S = MachineState
ONE = "bf1-one"
DONE = [(ONE, 1), (ONE, 1)]


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer() as server:
        server.put(NODES, {"metadata": {"name": "n-1"}})
        yield server


@pytest.fixture
async def cluster(server: FakeApiServer) -> AsyncIterator[Cluster]:
    async with running(server) as cluster:
        cluster.connect()
        yield cluster


async def test_a_node_is_cordoned_emptied_and_answered_for(cluster: Cluster) -> None:
    cluster.has_pod("web-0")
    cluster.has_pod("web-1")
    cluster.has_pod("elsewhere", "n-2")
    cluster.asks()
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE
    assert (cluster.is_cordoned(), cluster.mark()) == (True, ONE)
    assert {key.name for key in cluster.server.objects(PODS)} == {"elsewhere"}
    patches, evictions = cluster.server.calls("patch"), cluster.server.calls("evict")
    assert (len(patches), len(evictions)) == (1, 2)
    assert all(call.body["deleteOptions"]["preconditions"]["uid"] for call in evictions)


async def test_a_budget_is_waited_for(cluster: Cluster) -> None:
    cluster.has_pod("web-0")
    cluster.has_budget(1)
    cluster.asks()
    await cluster.until(lambda: cluster.evictions() >= 3)
    assert cluster.answers == [(ONE, 1)]
    cluster.server.remove(BUDGETS, "web", "shop")
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE


async def test_a_budget_that_never_allows_it_is_named_at_the_deadline(cluster: Cluster) -> None:
    cluster.has_pod("web-0")
    cluster.has_budget(1)
    cluster.asks(grace=1)
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == [(ONE, 1), (ONE, 0)]
    node, reason, message = cluster.events[-1]
    assert (node, reason) == ("n-1", "ReclaimBlocked")
    held = "shop/web-0 (held by budget shop/web needs 1 healthy pods and has 1 currently)"
    assert held in message
    blocked = cluster.counts.of("eviction_blocked_total", budget_namespace="shop")
    # The last one asked may have had no answer at the deadline.
    assert cluster.evictions() - 1 <= blocked <= cluster.evictions()
    cluster.tells(S.CONFIGURED)
    await cluster.until(lambda: not cluster.is_cordoned())
    assert cluster.mark() is None
    assert cluster.server.has(PODS, "web-0", "shop")


async def test_a_pod_that_stays_terminating_is_waited_for(cluster: Cluster) -> None:
    cluster.server.stays_terminating = lambda pod: True
    cluster.has_pod("web-0")
    cluster.asks()
    await cluster.until(lambda: cluster.evictions() == 1)
    cluster.has_pod("web-1")
    await cluster.until(lambda: cluster.evictions() == 2)
    assert cluster.answers == [(ONE, 1)]
    cluster.server.remove(PODS, "web-0", "shop")
    cluster.server.remove(PODS, "web-1", "shop")
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.evictions() == 2


async def test_a_cordon_set_between_reading_and_writing_is_seen_and_kept(
    cluster: Cluster,
) -> None:
    hold = cluster.server.hold("patch", "nodes")
    cluster.asks()
    await hold.reached()
    cluster.server.change(NODES, "n-1", {"spec": {"unschedulable": True}})
    hold.release()
    await cluster.until(lambda: len(cluster.answers) == 2)
    annotations = cluster.server.get(NODES, "n-1")["metadata"]["annotations"]
    assert FOUND_CORDONED in annotations
    cluster.tells(S.CONFIGURED)
    await cluster.until(lambda: cluster.mark() is None)
    assert cluster.is_cordoned()
    left = cluster.server.get(NODES, "n-1")["metadata"].get("annotations") or {}
    assert FOUND_CORDONED not in left


async def test_a_cordon_the_server_refuses_is_tried_again(cluster: Cluster) -> None:
    cluster.server.fail("patch", "nodes", status=403, times=1)
    cluster.asks()
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE
    assert len(cluster.server.calls("patch", "nodes")) == 2


async def test_a_cordon_whose_answer_was_lost_is_not_lost(cluster: Cluster) -> None:
    cluster.server.fail("patch", "nodes", status=0, done_anyway=True)
    cluster.asks()
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE
    assert cluster.mark() == ONE


async def test_an_eviction_the_server_failed_at_is_asked_again(cluster: Cluster) -> None:
    cluster.has_pod("web-0")
    cluster.server.fail("evict", "pods", status=500, times=2)
    cluster.asks()
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.evictions() == 3


async def test_a_session_that_ends_cuts_evictions_off(cluster: Cluster) -> None:
    hold = cluster.server.hold("evict", "pods")
    for number in range(40):
        cluster.has_pod(f"web-{number}")
    cluster.asks()
    await hold.reached()
    await cluster.until(lambda: len(hold.waiting) == 32)
    cluster.draining.on_disconnected()
    hold.release()
    before = len(cluster.server.writes())
    cluster.has_pod("late")
    await cluster.until(lambda: len(cluster.pods_on_nodes.all_on("n-1")) > 0)
    await cluster.until(lambda: not cluster.draining._under_way)
    assert cluster.answers == [(ONE, 1)]
    waited_for = {call.name for call in hold.waiting}
    asked = {done.call.name for done in cluster.server.writes("pods")}
    assert asked <= waited_for
    assert len(cluster.server.writes()) - before <= 32
    cluster.connect(ReclaimInstruction(ONE, ("n-1",), 600))
    await cluster.until(lambda: len(cluster.answers) == 3)
    assert cluster.answers == [(ONE, 1), *DONE]


async def test_evictions_that_were_called_off_while_they_waited_are_not_asked(
    server: FakeApiServer,
) -> None:
    async with running(server, concurrency=1) as cluster:
        cluster.connect()
        cluster.has_pod("web-0")
        cluster.has_pod("web-1")
        hold = server.hold("evict", "pods")
        cluster.asks()
        await hold.reached()
        cluster.tells(S.CONFIGURED)
        hold.release()
        await cluster.until(lambda: not cluster.is_cordoned())
        assert cluster.evictions() == 1


async def test_an_operator_killed_in_the_middle_is_followed_by_one_that_goes_on(
    server: FakeApiServer,
) -> None:
    async with running(server) as first:
        first.connect()
        first.has_pod("web-0")
        first.has_budget(1)
        first.asks()
        await first.until(lambda: first.evictions() >= 1)
    server.remove(BUDGETS, "web", "shop")
    async with running(server) as second:
        assert second.is_cordoned()
        second.connect(ReclaimInstruction(ONE, ("n-1",), 500))
        await second.until(lambda: len(second.answers) == 2)
        assert second.answers == DONE
    assert len(server.calls("patch", "nodes")) == 1


async def test_a_successor_gives_back_what_is_no_longer_asked_for(
    server: FakeApiServer,
) -> None:
    async with running(server) as first:
        first.connect()
        first.asks()
        await first.until(first.is_cordoned)
    async with running(server) as second:
        second.connect()
        await second.until(lambda: not second.is_cordoned())
        assert second.mark() is None


async def test_many_nodes_are_drained_at_once(server: FakeApiServer) -> None:
    async with running(server, concurrency=4) as cluster:
        for number in range(1, 13):
            cluster.has_node(f"n-{number}")
            cluster.has_pod(f"web-{number}", f"n-{number}")
        await cluster.until(lambda: len(cluster.pods_on_nodes) == 12)
        cluster.connect(machines=12)
        for number in range(1, 13):
            cluster.asks(f"n-{number}", instruction=f"bf1-{number}")
        await cluster.until(lambda: len(cluster.answers) == 24)
        assert cluster.server.objects(PODS) == {}
        assert cluster.counts.of("reclaims_total", result="evicted") == 12


async def test_a_node_that_is_not_there_is_answered_for_when_the_cache_is_complete(
    cluster: Cluster,
) -> None:
    cluster.tells(S.CONFIGURED, 9)
    cluster.asks("n-9")
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == [(ONE, 0), (ONE, 1)]
    assert cluster.counts.of("reclaims_total", result="node_missing") == 1
