"""A Node with a taint is a place only for pods that tolerate it."""

import pytest

from bigfleet.model.taints import Taint, Toleration
from bigfleet.placement.admission import Admissions, RefusedBy
from tests.placement.situation import Situation
from tests.placement.small import AT, node, occupancy, pod

GPU = Taint("dedicated", "NoSchedule", "gpu")
TOLERATES_GPU = Toleration("dedicated", "Equal", "gpu", "NoSchedule")


def test_a_pod_that_does_not_tolerate_the_taint_of_the_only_other_node_stays() -> None:
    shown = occupancy(node("n1"), node("n2", taints=(GPU,)), pod("a", node="n1"))
    refused = Admissions(shown).why_not_drained("n1", AT)
    assert refused is not None
    assert refused.code is RefusedBy.NO_ROOM
    assert refused.sentence == (
        "pod shop/a would find no place on the other Nodes "
        "(1 x the taint dedicated=gpu:NoSchedule, which it does not tolerate)"
    )


def test_a_pod_that_tolerates_the_taint_may_move_there() -> None:
    moving = pod("a", node="n1", tolerations=(TOLERATES_GPU,))
    shown = occupancy(node("n1"), node("n2", taints=(GPU,)), moving)
    assert Admissions(shown).why_not_drained("n1", AT) is None


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration("dedicated", "Equal", "gpu", "NoSchedule"),
        Toleration("dedicated", "", "gpu", "NoSchedule"),
        Toleration("dedicated", "Equal", "gpu", ""),
        Toleration("dedicated", "Exists", "", "NoSchedule"),
        Toleration("dedicated", "Exists", "", ""),
        Toleration("", "Exists", "", "NoSchedule"),
        Toleration("", "Exists", "", ""),
    ],
    ids=str,
)
def test_tolerations_that_tolerate(toleration: Toleration) -> None:
    assert toleration.tolerates(GPU)


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration("dedicated", "Equal", "batch", "NoSchedule"),
        Toleration("dedicated", "Equal", "", ""),
        Toleration("dedicated", "Exists", "", "NoExecute"),
        Toleration("other", "Exists", "", ""),
        Toleration("dedicated", "Near", "gpu", ""),
    ],
    ids=str,
)
def test_tolerations_that_do_not_tolerate(toleration: Toleration) -> None:
    assert not toleration.tolerates(GPU)


def test_each_taint_is_to_be_tolerated() -> None:
    evicting = Taint("maintenance", "NoExecute")
    shown = occupancy(node("n1", taints=(GPU, evicting)))
    assert shown.trial().why_not(pod("a", tolerations=(TOLERATES_GPU,)), "n1") == (
        "the taint maintenance:NoExecute, which it does not tolerate"
    )


def test_a_taint_that_is_only_a_preference_keeps_no_pod_away() -> None:
    shown = occupancy(node("n1", taints=(Taint("dedicated", "PreferNoSchedule", "gpu"),)))
    assert shown.trial().why_not(pod("a"), "n1") is None


def test_pods_that_differ_only_in_what_they_tolerate_are_packed_apart() -> None:
    shown = occupancy(node("n1", taints=(GPU,)), node("n2", "1"))
    intolerant, tolerant = pod("a"), pod("b", tolerations=(TOLERATES_GPU,))
    packed = shown.trial().pack([intolerant, tolerant])
    assert packed.place_of == {"uid-a": "n2", "uid-b": "n1"}


def test_a_room_keeps_its_taints_while_pods_are_tried_on_it() -> None:
    trial = occupancy(node("n1", taints=(GPU,))).trial()
    trial.take(pod("b", tolerations=(TOLERATES_GPU,)), "n1")
    assert trial.why_not(pod("a"), "n1") is not None


def test_machines_with_a_taint_the_stuck_pods_do_not_tolerate_are_tried_one_at_a_time() -> None:
    """A machine more of that kind has the taint as well."""
    given = Situation()
    for number in range(4):
        given.occupancy.put_node(node(f"n{number}", since=given.at, taints=(GPU,)), given.at)
    given.stuck(*(pod(f"p{number}", "7") for number in range(4)))
    given.after(61)
    given.round(own=4)
    assert given.margin == "cpu 7", "as much as claims one machine"
