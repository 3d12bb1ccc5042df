"""The scheduler of simulated clusters: pod by pod, by policy, without moving anything."""

from bigfleet.sim.scheduler import Binding, Policy, schedule
from tests.placement.small import node, occupancy, pod


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
