"""No pod is evicted without a place to go: which Nodes may be drained, and which stay."""

from dataclasses import replace

import pytest

from bigfleet.model.options import SECOND
from bigfleet.model.requirements import ZONE_KEY, Operator, Requirement
from bigfleet.placement.admission import (
    MOST_UNBOUND,
    SUCCESSOR_AFTER,
    AdmissionRefusal,
    Admissions,
    Budget,
    RefusedBy,
)
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.records import NodeView, PodView
from tests.placement.small import AT, alone, node, occupancy, pod


class OneBudget:
    def __init__(self, allowed: int) -> None:
        self.allowed = allowed

    def budget_of(self, pod: PodView) -> Budget | None:
        return Budget("web", self.allowed)


def refusal(*members: PodView | NodeView) -> AdmissionRefusal | None:
    return Admissions(occupancy(*members)).why_not_drained("n1", AT)


def test_a_node_whose_pods_fit_elsewhere_may_go() -> None:
    assert refusal(node("n1"), node("n2"), pod("a", node="n1")) is None


def test_an_empty_node_passes_at_once() -> None:
    assert refusal(node("n1")) is None
    assert refusal(node("n1"), pod("daemon", node="n1", follows_node=True)) is None


def test_a_pod_that_does_not_fit_is_named_with_what_stands_against_it() -> None:
    refused = refusal(
        node("n1"), node("n2", "4"), node("n3", "2"), pod("a", "5", node="n1"), pod("b", node="n1")
    )
    assert refused is not None
    assert (refused.code, refused.pod) == (RefusedBy.NO_ROOM, pod("a", "5", node="n1"))
    assert refused.sentence == (
        "pod shop/a would find no place on the other Nodes (2 x not enough cpu)"
    )


def test_pods_that_fit_one_by_one_and_not_together_stay() -> None:
    members: list[PodView | NodeView] = [
        node("n1"),
        node("n2", "4"),
        pod("a", "3", node="n1"),
        pod("b", "3", node="n1"),
    ]
    assert refusal(*members) is not None


def test_pods_that_fit_only_if_the_scheduler_fills_nodes_stay() -> None:
    pods = [pod("a", "3", node="n3"), pod("b", "2", node="n3"), pod("c", "2", node="n3")]
    used = [pod("x", "5", node="n1"), pod("y", "4", node="n2")]
    shown = occupancy(node("n1"), node("n2"), node("n3"), *used, *pods)
    assert not shown.trial(without=["n3"]).pack(pods).left
    assert [p.key for p in shown.trial(without=["n3"]).pack_spreading(pods).left] == ["shop/c"]
    assert Admissions(shown).why_not_drained("n3", AT) is not None


@pytest.mark.parametrize(
    "other",
    [
        node("n2", cordoned=True),
        node("n2", instruction="i-7"),
        node("n2", why_not_usable="not Ready"),
        node("n2", machine=""),
        node("n2", pod_limit=0),
    ],
    ids=["cordoned", "about to go", "not usable", "not of the fleet", "full of pods"],
)
def test_only_usable_nodes_that_stay_offer_a_place(other: NodeView) -> None:
    refused = refusal(node("n1"), other, pod("a", node="n1"))
    assert refused is not None
    assert refused.code is RefusedBy.NO_ROOM


def test_requirements_and_exclusions_are_read() -> None:
    zonal = (Requirement.of(ZONE_KEY, Operator.IN, ["a"]),)
    other = node("n2", labels={ZONE_KEY: "b"})
    assert refusal(node("n1"), other, pod("a", node="n1", requirements=zonal)) is not None
    assert refusal(node("n1"), other, alone("a", node="n1"), alone("b", node="n2")) is not None


@pytest.mark.parametrize(
    ("member", "code"),
    [
        (pod("a", node="n1", owner=""), RefusedBy.NO_CONTROLLER),
        (
            pod("a", node="n1", do_not_disrupt="karpenter.sh/do-not-disrupt: true"),
            RefusedBy.DO_NOT_DISRUPT,
        ),
    ],
    ids=["no controller", "annotated"],
)
def test_a_pod_may_stand_against_the_drain_itself(member: PodView, code: RefusedBy) -> None:
    refused = refusal(node("n1"), node("n2"), member)
    assert refused is not None
    assert (refused.code, refused.pod) == (code, member)


def test_an_annotated_node_stays_even_when_it_is_empty() -> None:
    refused = refusal(node("n1", do_not_disrupt="bigfleet.lucy.sh/do-not-disrupt: true"))
    assert refused is not None
    assert refused.sentence == "Node n1 is annotated bigfleet.lucy.sh/do-not-disrupt: true"


@pytest.mark.parametrize(("allowed", "passes"), [(0, False), (1, True)], ids=["none", "one"])
def test_a_budget_that_allows_none_refuses(allowed: int, passes: bool) -> None:
    shown = occupancy(node("n1"), node("n2"), pod("a", node="n1"))
    refused = Admissions(shown, OneBudget(allowed)).why_not_drained("n1", AT)
    assert (refused is None) == passes


def test_an_unknown_node_is_refused() -> None:
    refused = Admissions(Occupancy()).why_not_drained("n9", AT)
    assert refused is not None
    assert refused.code is RefusedBy.UNKNOWN_NODE


def two_drains() -> tuple[Occupancy, Admissions]:
    """n1 and n2 have a pod of 5 each; n3 has room for one."""
    shown = occupancy(
        node("n1"), node("n2"), node("n3"), pod("a", "5", node="n1"), pod("b", "5", node="n2")
    )
    admissions = Admissions(shown)
    assert admissions.why_not_drained("n1", AT) is None
    admissions.admit("n1")
    return shown, admissions


def test_promised_room_is_taken_until_the_pod_is_bound() -> None:
    _, admissions = two_drains()
    assert admissions.why_not_drained("n2", AT) is not None
    admissions.forget("n1")
    assert admissions.why_not_drained("n2", AT) is None


def test_promised_room_is_taken_while_the_successor_is_not_there_and_while_it_waits() -> None:
    shown, admissions = two_drains()
    admissions.on_evicted(shown.pods["uid-a"], AT)
    shown.remove_pod("uid-a", AT)
    assert admissions.why_not_drained("n2", AT + SECOND) is not None
    successor = replace(pod("a2", "5"), unschedulable_since=AT)
    shown.put_pod(successor, AT)
    admissions.on_pod_added(successor)
    assert admissions.why_not_drained("n2", AT + SUCCESSOR_AFTER) is not None
    assert admissions.why_called_off("n1", AT + SUCCESSOR_AFTER) is None


def test_a_successor_that_does_not_come_in_time_counts_as_none() -> None:
    shown, admissions = two_drains()
    admissions.on_evicted(shown.pods["uid-a"], AT)
    shown.remove_pod("uid-a", AT)
    assert admissions.why_not_drained("n2", AT + SUCCESSOR_AFTER) is None


def test_a_drain_is_called_off_when_the_rest_no_longer_fits() -> None:
    shown, admissions = two_drains()
    assert admissions.why_called_off("n1", AT) is None
    shown.put_pod(pod("c", "4", node="n3"), AT)
    called_off = admissions.why_called_off("n1", AT)
    assert called_off is not None
    assert called_off.pod == shown.pods["uid-a"]


def test_pods_the_scheduler_has_not_judged_are_expected_to_take_room() -> None:
    members: list[PodView | NodeView] = [node("n1"), node("n2", "4"), pod("a", "3", node="n1")]
    assert refusal(*members, pod("fresh", "3")) is not None
    assert refusal(*members, pod("stuck", "3", stuck_since=AT)) is None


def test_evictions_go_largest_first_and_leave_at_most_five_without_a_node() -> None:
    pods = [pod(f"p{n}", f"{n}00m", "1Mi", node="n1") for n in range(1, 8)]
    shown = occupancy(node("n1"), node("n2"), *pods)
    admissions = Admissions(shown)
    assert admissions.next_evictions("n1", AT) == []
    admissions.admit("n1")
    first = admissions.next_evictions("n1", AT)
    assert [each.key for each in first] == [f"shop/p{n}" for n in (7, 6, 5, 4, 3)]
    assert len(first) == MOST_UNBOUND
    for each in first:
        admissions.on_evicted(each, AT)
    assert admissions.next_evictions("n1", AT) == []
    shown.remove_pod("uid-p7", AT)
    bound = pod("q7", "700m", node="n2")
    shown.put_pod(bound, AT)
    admissions.on_pod_added(bound)
    assert [each.key for each in admissions.next_evictions("n1", AT)] == ["shop/p2"]


def test_nothing_is_left_of_a_drain_that_ended() -> None:
    _, admissions = two_drains()
    admissions.forget("n1")
    assert admissions.sizes() == {"admitted": 0, "successors": 0}
