"""First fit in decreasing size, on Nodes that are there and on empty machines."""

import pytest

from bigfleet.model.requirements import HOSTNAME_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.placement.packing import NodeRoom, machines_for
from bigfleet.placement.records import PodGroupTerm, do_not_disrupt, host_port
from tests.placement.small import AT, alone, amounts, node, occupancy, pod

MACHINE = NodeRoom("", amounts("7500m", "28Gi"), 110, {})


def test_six_pods_of_five_take_six_machines_of_seven_and_a_half() -> None:
    assert machines_for([pod(f"p{n}", "5") for n in range(6)], MACHINE) == 6


def test_small_pods_fill_what_large_ones_leave() -> None:
    pods = [pod("a", "5"), pod("b", "2500m"), pod("c", "5"), pod("d", "2500m")]
    assert machines_for(pods, MACHINE) == 2


def test_tiny_pods_are_limited_by_the_pods_of_a_node() -> None:
    assert machines_for([pod(f"p{n}", "10m", "1Mi") for n in range(150)], MACHINE) == 2


def test_replicas_that_exclude_each_other_take_a_machine_each() -> None:
    assert machines_for([alone(f"p{n}") for n in range(3)], MACHINE) == 3


def test_replicas_that_exclude_each_other_share_with_others() -> None:
    assert machines_for([alone("a"), alone("b"), pod("c"), pod("d")], MACHINE) == 2


def test_a_pod_larger_than_the_machine_counts_as_one() -> None:
    assert machines_for([pod("a", "9"), pod("b", "1")], MACHINE) == 2


def test_what_does_not_fit_is_left_largest_first() -> None:
    shown = occupancy(node("n1", "4"), pod("small", "2"), pod("large", "5"), pod("larger", "6"))
    packing = shown.trial().pack(shown.all_waiting())
    assert dict(packing.place_of) == {"uid-small": "n1"}
    assert [each.key for each in packing.left] == ["shop/larger", "shop/large"]


def test_a_trial_leaves_the_rooms_as_they_are() -> None:
    shown = occupancy(node("n1", "4"))
    shown.trial().pack([pod("a", "3")])
    assert shown.rooms["n1"].free["cpu"] == 4000


@pytest.mark.parametrize(
    "closed",
    [
        node("n1", cordoned=True),
        node("n1", instruction="i-1"),
        node("n1", why_not_usable="not Ready"),
        node("n1", machine=""),
    ],
    ids=["cordoned", "with an instruction", "not usable", "not of the fleet"],
)
def test_pods_that_move_go_only_to_usable_nodes_that_stay(closed: object) -> None:
    assert occupancy(closed).trial().pack([pod("a")]).left  # type: ignore[arg-type]


def test_a_requirement_is_read_from_the_labels() -> None:
    zonal = (Requirement.of(ZONE_KEY, Operator.IN, ["b"]),)
    shown = occupancy(node("n1", labels={ZONE_KEY: "a"}), node("n2", labels={ZONE_KEY: "b"}))
    packing = shown.trial().pack([pod("p", requirements=zonal)])
    assert dict(packing.place_of) == {"uid-p": "n2"}


def test_a_pod_that_keeps_others_away_is_respected() -> None:
    keeper = pod("keeper", node="n1", apart=(PodGroupTerm(HOSTNAME_KEY, "web"),))
    shown = occupancy(node("n1"), keeper)
    assert shown.trial().pack([pod("p", groups=frozenset({"web"}))]).left
    assert not shown.trial().pack([pod("q", groups=frozenset({"batch"}))]).left


def test_replicas_apart_by_zone_count_what_lies_on_other_nodes_of_the_zone() -> None:
    zonal = {"groups": frozenset({"db"}), "apart": (PodGroupTerm(ZONE_KEY, "db"),)}
    there = pod("db-0", node="n1", **zonal)  # type: ignore[arg-type]
    shown = occupancy(
        node("n1", labels={ZONE_KEY: "a"}),
        node("n2", labels={ZONE_KEY: "a"}),
        node("n3", labels={ZONE_KEY: "b"}),
        there,
    )
    pods = [pod(f"db-{n}", **zonal) for n in (1, 2)]  # type: ignore[arg-type]
    packing = shown.trial().pack(pods)
    assert dict(packing.place_of) == {"uid-db-1": "n3"}
    assert [each.key for each in packing.left] == ["shop/db-2"]


def test_a_pod_near_others_goes_where_they_are() -> None:
    shown = occupancy(node("n1"), node("n2"), pod("c", node="n2", groups=frozenset({"cache"})))
    near = pod("p", near=(PodGroupTerm(HOSTNAME_KEY, "cache"),))
    assert dict(shown.trial().pack([near]).place_of) == {"uid-p": "n2"}


def test_the_first_of_a_group_that_is_near_to_itself_may_go_anywhere() -> None:
    gang = {"groups": frozenset({"run"}), "near": (PodGroupTerm(ZONE_KEY, "run"),)}
    shown = occupancy(node("n1", "2", labels={ZONE_KEY: "a"}), node("n2", labels={ZONE_KEY: "b"}))
    pods = [pod(f"p{n}", "2", **gang) for n in range(2)]  # type: ignore[arg-type]
    packing = shown.trial().pack(pods)
    assert [packing.place_of.get(each.uid) for each in pods] == ["n1", None]


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        (host_port(80), host_port(80), True),
        (host_port(80), host_port(80, address="10.0.0.1"), True),
        (host_port(80, address="10.0.0.1"), host_port(80), True),
        (host_port(80, address="10.0.0.1"), host_port(80, address="10.0.0.2"), False),
        (host_port(80), host_port(80, "UDP"), False),
        (host_port(80), host_port(81), False),
    ],
    ids=["same", "all and one", "one and all", "two addresses", "two protocols", "two ports"],
)
def test_host_ports_that_meet_need_two_nodes(
    first: tuple[frozenset[str], tuple[PodGroupTerm, ...]],
    second: tuple[frozenset[str], tuple[PodGroupTerm, ...]],
    meet: bool,
) -> None:
    pods = [
        pod("a", groups=first[0], apart=first[1]),
        pod("b", groups=second[0], apart=second[1]),
    ]
    assert machines_for(pods, MACHINE) == (2 if meet else 1)


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({"bigfleet.lucy.sh/do-not-disrupt": "true"}, "bigfleet.lucy.sh/do-not-disrupt: true"),
        ({"karpenter.sh/do-not-disrupt": "true"}, "karpenter.sh/do-not-disrupt: true"),
        (
            {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
            "cluster-autoscaler.kubernetes.io/safe-to-evict: false",
        ),
        ({"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}, ""),
        ({"bigfleet.lucy.sh/do-not-disrupt": "false"}, ""),
    ],
    ids=["ours", "karpenter", "cluster autoscaler", "may be evicted", "turned off"],
)
def test_the_annotations_people_already_use_are_read(
    annotations: dict[str, str], said: str
) -> None:
    assert do_not_disrupt(annotations) == said


def test_a_node_is_empty_since_its_last_pod_left_and_daemons_do_not_count() -> None:
    shown = occupancy(node("n1"), pod("a", node="n1"), pod("d", node="n1", follows_node=True))
    assert shown.empty_since("n1") is None
    shown.remove_pod("uid-a", AT + 5)
    assert shown.empty_since("n1") == AT + 5
    assert shown.followers_on("n1") == amounts("1")


def test_a_node_told_after_its_pods_has_their_room_taken() -> None:
    shown = occupancy(pod("a", "3", node="n1"), node("n1", "4"))
    assert shown.rooms["n1"].free["cpu"] == 1000
    assert shown.empty_since("n1") is None
