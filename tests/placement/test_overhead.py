"""What of a machine no pod gets, and the unit of a Need that makes up for it."""

from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.placement.overhead import (
    FALLS_AFTER,
    LARGE_CPU,
    LARGE_MEMORY,
    NO_KNOWN_KIND,
    MachineKind,
    Overheads,
    min_unit,
    overhead_of,
    split_of,
)
from tests.placement.small import AT, amounts, node, occupancy, pod

SMALL = MachineKind("small", amounts("4", "16Gi"), amounts("500m", "1Gi"))
LARGE = MachineKind("large", amounts("64", "256Gi"), amounts("1500m", "8Gi"))
LARGE_AND_SMALL = [LARGE, SMALL]


def test_daemons_and_what_the_node_keeps_for_itself_are_overhead() -> None:
    shown = node("n1", "7500m", "28Gi", declared=amounts("8", "32Gi"))
    assert overhead_of(shown, amounts("200m", "100Mi")) == amounts("700m", "4196Mi")


def test_a_node_that_offers_more_than_declared_has_no_overhead_there() -> None:
    shown = node("n1", "8", "28Gi", declared=amounts("7500m", "32Gi"))
    assert overhead_of(shown, Resources()) == amounts("0", "4Gi")


def test_overhead_is_per_kind_once_a_node_was_seen_and_the_clusters_else() -> None:
    daemon = pod("d", "2", node="n1", follows_node=True)
    shown = occupancy(node("n1", kind="large"), node("n2", kind="small"), daemon)
    overheads = Overheads()
    assert overheads.look(shown, AT)
    assert overheads.of_kind("large") == amounts("2")
    assert overheads.of_kind("small") == Resources()
    assert overheads.of_kind("never seen") == amounts("2")


def test_overhead_rises_at_once_and_falls_after_ten_minutes() -> None:
    shown = occupancy(node("n1"), pod("d", "2", node="n1", follows_node=True))
    overheads = Overheads()
    overheads.look(shown, AT)
    shown.remove_pod("uid-d", AT)
    assert not overheads.look(shown, AT)
    assert not overheads.look(shown, AT + FALLS_AFTER - SECOND)
    assert overheads.of_cluster() == amounts("2")
    assert overheads.look(shown, AT + FALLS_AFTER)
    assert overheads.of_cluster() == Resources()


def test_a_daemon_that_comes_back_in_time_changes_nothing() -> None:
    shown = occupancy(node("n1"), pod("d", "2", node="n1", follows_node=True))
    overheads = Overheads()
    overheads.look(shown, AT)
    shown.remove_pod("uid-d", AT)
    overheads.look(shown, AT)
    shown.put_pod(pod("e", "2", node="n1", follows_node=True), AT)
    assert not overheads.look(shown, AT + SECOND)
    shown.remove_pod("uid-e", AT)
    overheads.look(shown, AT + FALLS_AFTER)
    assert not overheads.look(shown, AT + FALLS_AFTER + SECOND)


def test_the_unit_is_the_largest_pod_plus_overhead() -> None:
    assert min_unit(amounts("3", "4Gi"), [SMALL], Resources()) == amounts("3500m", "5Gi")


def test_the_overhead_of_a_large_kind_does_not_rule_out_a_small_one() -> None:
    unit = min_unit(amounts("3", "4Gi"), LARGE_AND_SMALL, Resources())
    assert SMALL.declared.covers(unit)


def test_a_kind_that_does_not_take_the_pod_does_not_cover_the_unit() -> None:
    unit = min_unit(amounts("3800m", "4Gi"), LARGE_AND_SMALL, Resources())
    assert not SMALL.declared.covers(unit)
    assert LARGE.declared.covers(unit)


def test_a_unit_names_only_what_is_asked_for() -> None:
    heavy = MachineKind("gpu", amounts("8", "32Gi"), amounts("1", "1Gi", storage="5Gi"))
    assert min_unit(Resources.parse({"cpu": "1"}), [heavy], Resources()) == Resources.parse(
        {"cpu": "2"}
    )


def test_without_a_kind_that_is_known_the_clusters_overhead_counts() -> None:
    assert min_unit(amounts("100", "4Gi"), [SMALL], amounts("1", "1Gi")) == amounts("101", "5Gi")


def test_shapes_that_only_together_fit_no_kind_are_split_in_two() -> None:
    cpu, memory = amounts("7", "1Gi"), amounts("1", "28Gi")
    kinds = [
        MachineKind("cpu", amounts("8", "16Gi"), Resources()),
        MachineKind("memory", amounts("4", "32Gi"), Resources()),
    ]
    split = split_of([cpu, memory], kinds)
    assert split is not None
    assert (split.group_of(cpu), split.group_of(memory)) == (LARGE_CPU, LARGE_MEMORY)


def test_a_pod_that_no_kind_takes_does_not_hold_up_the_others() -> None:
    kinds = [MachineKind("small", amounts("8", "16Gi"), amounts("1", "1Gi"))]
    large, small = amounts("7500m", "1Gi"), amounts("1", "1Gi")
    split = split_of([large, small], kinds)
    assert split is not None
    assert (split.group_of(large), split.group_of(small)) == (NO_KNOWN_KIND, "")


def test_nothing_is_split_that_one_kind_covers_or_that_splitting_does_not_help() -> None:
    cpu, memory = amounts("7", "1Gi"), amounts("1", "28Gi")
    assert split_of([cpu, memory], [MachineKind("both", amounts("8", "32Gi"), Resources())]) is None
    assert split_of([memory], [MachineKind("small", amounts("8", "16Gi"), Resources())]) is None
    assert split_of([cpu, memory], []) is None
