"""The scheduler of simulated clusters: pod by pod, by policy; a heap only makes it fast."""

from random import Random

import pytest

from bigfleet.placement.packing import TrialPlacements
from bigfleet.sim.scheduler import Binding, Policy, schedule
from tests.placement.small import node, occupancy, pod


def test_a_pod_that_fits_nowhere_hears_how_many_nodes_lack_what() -> None:
    shown = occupancy(node("n1", "1"), node("n2", "1"), node("n3", cordoned=True), pod("a", "2"))
    [judged] = schedule(shown, shown.all_waiting()).unschedulable
    assert judged.text == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."
    )


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("seed", range(20))
def test_the_heap_of_nodes_chooses_as_looking_at_every_node_does(seed: int, policy: Policy) -> None:
    chance = Random(seed)
    nodes = [node(f"n{n:02}", str(chance.randint(2, 9)), "16Gi") for n in range(12)]
    pods = [
        pod(f"p{n:02}", f"{chance.choice((500, 700, 1500))}m", f"{chance.randint(1, 3)}Gi")
        for n in range(60)
    ]
    shown = occupancy(*nodes, *pods)
    trial = TrialPlacements(shown.rooms, shown.taking_pods())
    expected = {}
    for each in shown.all_waiting():
        fitting = [n for n in trial.open_nodes if trial.why_not(each, n) is None]
        if policy is Policy.LEAST_ALLOCATED:
            fitting.sort(key=lambda name: -trial.room(name).free_share())
        if fitting:
            trial.take(each, fitting[0])
            expected[each.uid] = fitting[0]
    placed = schedule(shown, shown.all_waiting(), policy)
    assert {each.pod: each.node for each in placed.bindings} == expected


def test_first_fit_fills_nodes_by_name() -> None:
    shown = occupancy(node("n1", "2"), node("n2", "8"), pod("a"), pod("b"), pod("c"))
    placed = schedule(shown, shown.all_waiting(), Policy.FIRST_FIT)
    assert [each.node for each in placed.bindings] == ["n1", "n1", "n2"]


def test_least_allocated_spreads() -> None:
    shown = occupancy(node("n1", "4", "4Gi"), node("n2", "4", "4Gi"), pod("a"), pod("b"))
    placed = schedule(shown, shown.all_waiting())
    assert {each.node for each in placed.bindings} == {"n1", "n2"}


def test_higher_priority_comes_first() -> None:
    shown = occupancy(node("n1", "1"), pod("low"), pod("high", priority=10))
    placed = schedule(shown, shown.all_waiting())
    assert placed.bindings == (Binding("uid-high", "n1"),)
    assert [each.pod for each in placed.unschedulable] == ["uid-low"]


def test_cordoned_and_unusable_nodes_get_nothing() -> None:
    shown = occupancy(node("n1", cordoned=True), node("n2", why_not_usable="not Ready"), pod("a"))
    assert schedule(shown, shown.all_waiting()).bindings == ()
