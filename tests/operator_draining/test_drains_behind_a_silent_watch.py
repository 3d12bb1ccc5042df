"""A watch whose line lost its other end looks fresh and tells nothing; so the server is asked."""

from collections.abc import AsyncIterator

import pytest

from bigfleet.kube.kinds import NODES, PODS
from bigfleet.model.machines import MachineState
from tests.kube_api import ApiCall, FakeApiServer
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
    """Connected, with watches that are open."""
    async with running(server) as cluster:
        await server.until(lambda: server.watches("pods") and server.watches("nodes"))
        cluster.connect()
        yield cluster


def checks(cluster: Cluster) -> list[ApiCall]:
    lists = cluster.server.calls("list", "pods")
    return [call for call in lists if call.query.get("fieldSelector") == "spec.nodeName=n-1"]


async def test_a_pod_the_watch_never_told_of_is_evicted_before_the_node_is_called_empty(
    cluster: Cluster,
) -> None:
    cluster.server.freeze_watches("pods")
    cluster.has_pod("unheard-of")
    cluster.asks()
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE
    assert len(cluster.pods_on_nodes) == 0, "the cache never heard of it"
    assert [call.name for call in cluster.server.calls("evict")] == ["unheard-of"]
    assert not cluster.server.objects(PODS)


async def test_a_pod_the_watch_never_told_of_is_held_by_its_budget_until_the_deadline(
    cluster: Cluster,
) -> None:
    cluster.server.freeze_watches("pods")
    cluster.has_pod("unheard-of")
    cluster.has_budget(1)
    cluster.asks(grace=1)
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == [(ONE, 1), (ONE, 0)]
    assert "shop/unheard-of (held by budget shop/web" in cluster.events[-1][2]
    assert cluster.server.has(PODS, "unheard-of", "shop")


async def test_a_watch_that_wakes_up_goes_on_where_the_server_was_asked(cluster: Cluster) -> None:
    cluster.server.freeze_watches("pods")
    cluster.has_pod("unheard-of")
    cluster.has_budget(1)
    cluster.asks()
    await cluster.until(lambda: cluster.evictions() >= 1)
    cluster.server.freeze_watches("pods", frozen=False)
    await cluster.until(lambda: len(cluster.pods_on_nodes) == 1)
    cluster.server.remove(BUDGETS, "web", "shop")
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE


async def test_the_server_is_asked_once_and_not_from_its_memory(cluster: Cluster) -> None:
    cluster.has_pod("web-0")
    cluster.asks()
    await cluster.until(lambda: len(cluster.answers) == 2)
    (call,) = checks(cluster)
    assert call.namespace == ""
    assert not {"resourceVersion", "resourceVersionMatch", "limit"} & call.query.keys()


async def test_a_server_that_refuses_to_say_is_asked_again(cluster: Cluster) -> None:
    cluster.server.fail("list", "pods", status=403, times=2)
    cluster.asks()
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE
    assert len(checks(cluster)) == 3


async def test_a_server_that_never_says_makes_it_none_at_the_deadline(cluster: Cluster) -> None:
    cluster.server.fail("list", "pods", status=403, times=10_000, message="no lists today")
    cluster.asks(grace=1)
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == [(ONE, 1), (ONE, 0)]
    assert "no lists today" in cluster.events[-1][2]


async def test_an_answer_that_comes_after_the_drain_was_called_off_means_nothing(
    cluster: Cluster,
) -> None:
    hold = cluster.server.hold("list", "pods")
    cluster.asks()
    await hold.reached()
    cluster.tells(S.CONFIGURED)
    hold.release()
    await cluster.until(lambda: not cluster.is_cordoned())
    assert cluster.answers == [(ONE, 1)]


async def test_a_node_the_watch_never_told_of_is_not_called_absent(cluster: Cluster) -> None:
    cluster.server.freeze_watches("nodes")
    cluster.has_node("n-9")
    cluster.tells(S.CONFIGURED, 9)
    cluster.asks("n-9")
    await cluster.until(lambda: len(cluster.server.calls("get", "nodes")) >= 2)
    assert cluster.answers == [(ONE, 0)]
    cluster.server.freeze_watches("nodes", frozen=False)
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == [(ONE, 0), (ONE, 1)]
    assert cluster.is_cordoned("n-9")
    assert cluster.counts.of("reclaims_total", result="node_missing") == 0


def uncordoned_by_hand(cluster: Cluster) -> None:
    """While the watch of Nodes tells nothing of it."""
    cluster.server.change(NODES, "n-1", {"spec": {"unschedulable": None}})


async def test_a_node_uncordoned_unheard_of_is_cordoned_again_before_it_is_called_empty(
    cluster: Cluster,
) -> None:
    hold = cluster.server.hold("list", "pods")
    cluster.asks()
    await hold.reached()
    cluster.server.freeze_watches("nodes")
    uncordoned_by_hand(cluster)
    hold.release()
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE
    assert (cluster.is_cordoned(), cluster.mark()) == (True, ONE)
    assert len(cluster.server.calls("patch", "nodes")) == 2
    assert len(checks(cluster)) == 2, "what was so before the second cordon does not count"


async def test_pods_that_came_to_a_node_uncordoned_unheard_of_are_evicted(
    cluster: Cluster,
) -> None:
    hold = cluster.server.hold("get", "nodes")
    cluster.asks()
    await hold.reached()
    cluster.server.freeze_watches()
    uncordoned_by_hand(cluster)
    cluster.has_pod("unheard-of")
    hold.release()
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE
    assert cluster.is_cordoned()
    assert not cluster.server.objects(PODS)


async def test_a_drained_node_costs_one_list_and_one_read(cluster: Cluster) -> None:
    cluster.has_pod("web-0")
    cluster.asks()
    await cluster.until(lambda: len(cluster.answers) == 2)
    (read,) = cluster.server.calls("get", "nodes")
    assert (read.name, read.query) == ("n-1", {})
    assert len(checks(cluster)) == 1


async def test_a_node_that_went_unheard_of_is_empty(cluster: Cluster) -> None:
    hold = cluster.server.hold("list", "pods")
    cluster.asks()
    await hold.reached()
    cluster.server.freeze_watches("nodes")
    cluster.server.remove(NODES, "n-1")
    hold.release()
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE
    assert len(cluster.server.calls("patch", "nodes")) == 1


async def test_a_node_made_anew_unheard_of_is_not_called_empty(cluster: Cluster) -> None:
    hold = cluster.server.hold("list", "pods")
    cluster.asks()
    await hold.reached()
    cluster.server.freeze_watches("nodes")
    cluster.server.remove(NODES, "n-1")
    cluster.has_node("n-1")
    hold.release()
    await cluster.until(lambda: len(cluster.server.calls("get", "nodes")) >= 2)
    assert cluster.answers == [(ONE, 1)]
    cluster.server.freeze_watches("nodes", frozen=False)
    await cluster.until(lambda: len(cluster.answers) == 2)
    assert cluster.answers == DONE
    assert cluster.is_cordoned()
