"""Pods that run and pods that wait, counted as they come and go."""

from dataclasses import replace
from random import Random

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.cluster_reports import PodCounts
from bigfleet.operator.pods_on_nodes import NotMoved, PodOnNode, PodsOnNodes


def pod(name: str, node: str = "", why: NotMoved | None = None) -> PodOnNode:
    is_terminal = why is NotMoved.TERMINAL
    return PodOnNode(ObjectKey("shop", name), name, node, why, is_terminal)


def test_pods_on_nodes_run_and_pods_without_one_wait() -> None:
    pods = PodsOnNodes()
    for each in (pod("a", "n-1"), pod("b", "n-1"), pod("c")):
        pods.put(each)
    assert pods.counts == PodCounts(2, 1)


def test_pods_of_daemon_sets_mirrors_and_ended_ones_do_not_count() -> None:
    pods = PodsOnNodes()
    for why in NotMoved:
        pods.put(pod(str(why), "n-1", why))
    assert pods.counts == PodCounts(0, 0)


def test_one_that_is_asked_to_end_runs_until_it_has_ended() -> None:
    pods = PodsOnNodes()
    pods.put(replace(pod("a", "n-1"), is_deleting=True))
    assert pods.counts == PodCounts(1, 0)
    pods.put(pod("a", "n-1", NotMoved.TERMINAL))
    assert pods.counts == PodCounts(0, 0)


def test_counts_follow_every_change() -> None:
    chance, pods = Random(5), PodsOnNodes()
    known: dict[str, PodOnNode] = {}
    for _ in range(500):
        name = f"p-{chance.randrange(20)}"
        if chance.random() < 0.3:
            pods.remove(ObjectKey("shop", name))
            known.pop(name, None)
        else:
            known[name] = pod(
                name, chance.choice(["", "n-1"]), chance.choice([None, NotMoved.DAEMON_SET])
            )
            pods.put(known[name])
        running = sum(bool(each.node) and not each.why_not_evicted for each in known.values())
        waiting = sum(not each.node for each in known.values())
        assert pods.counts == PodCounts(running, waiting)
