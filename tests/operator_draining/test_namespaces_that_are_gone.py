"""What was counted of a namespace goes with its last pod, once it has been read."""

import pytest

from bigfleet.edge.counts import Counts
from bigfleet.kube.objects import ObjectKey
from bigfleet.operator.metrics import BlockedNamespaces, OperatorMetrics
from bigfleet.operator.pods_on_nodes import PodOnNode, PodsOnNodes

SHOP, BANK = ObjectKey("shop", "web"), ObjectKey("bank", "web")


class Scraped:
    def __init__(self) -> None:
        self.pods, self.counts = PodsOnNodes(), Counts()
        blocked = BlockedNamespaces(self.counts, self.pods.has_placed)
        self._metrics = OperatorMetrics(self.counts, blocked.on_scrape, "")

    def block(self, namespace: str) -> None:
        self.counts.add("eviction_blocked_total", budget_namespace=namespace)

    def blocked(self, namespace: str) -> float | None:
        """What a scrape reads; None: there is no such series."""
        start = f'bigfleet_operator_eviction_blocked_total{{budget_namespace="{namespace}"}} '
        lines = self._metrics.text().decode().splitlines()
        return next((float(line[len(start) :]) for line in lines if line.startswith(start)), None)


@pytest.fixture
def scraped() -> Scraped:
    found = Scraped()
    for key in (SHOP, BANK):
        found.pods.put(PodOnNode(key, f"uid-{key.namespace}", "node-1"))
        found.block(key.namespace)
    return found


def test_a_namespace_with_a_pod_on_a_node_keeps_its_series(scraped: Scraped) -> None:
    assert [scraped.blocked("shop") for _ in range(3)] == [1, 1, 1]


def test_the_last_of_a_namespace_is_read_once_more_and_then_gone(scraped: Scraped) -> None:
    scraped.pods.remove(SHOP)
    assert [scraped.blocked("shop") for _ in range(3)] == [1, None, None]
    assert scraped.blocked("bank") == 1


def test_what_is_counted_after_the_last_pod_is_read_too(scraped: Scraped) -> None:
    scraped.pods.remove(SHOP)
    assert scraped.blocked("shop") == 1
    scraped.block("shop")
    assert [scraped.blocked("shop") for _ in range(2)] == [2, None]


def test_a_namespace_whose_pods_come_back_in_between_keeps_its_series(scraped: Scraped) -> None:
    pod = PodOnNode(SHOP, "uid-2", "node-2")
    scraped.pods.remove(SHOP)
    assert scraped.blocked("shop") == 1
    scraped.pods.put(pod)
    assert scraped.blocked("shop") == 1
    scraped.pods.remove(SHOP)
    assert [scraped.blocked("shop") for _ in range(2)] == [1, None]


def test_pods_that_move_or_wait_for_a_node_are_counted_rightly(scraped: Scraped) -> None:
    scraped.pods.put(PodOnNode(SHOP, "uid-shop", "node-2"))
    assert scraped.pods.has_placed("shop")
    scraped.pods.put(PodOnNode(SHOP, "uid-3"))
    assert not scraped.pods.has_placed("shop")
    scraped.pods.remove(SHOP)
    scraped.pods.remove(SHOP)
    assert not scraped.pods.has_placed("shop")
    assert scraped.pods.has_placed("bank")
