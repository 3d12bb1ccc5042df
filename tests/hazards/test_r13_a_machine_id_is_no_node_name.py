"""R13: a machine's id is used as a node name. The node is found by what is known of the machine."""

import pytest

from bigfleet.kube.objects import Node, Reference
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from tests.operator_draining.rig import Rig, node_record

S = MachineState
REAL = node_record("ip-10-0-0-7", "aws:///eu-1a/i-0007")


def told(provider_id: str = "", node_name: str = "") -> NodeStateUpdate:
    return NodeStateUpdate("m-1", "shop", S.CONFIGURED, node_name, provider_id)


def cordoned(update: NodeStateUpdate, *nodes: Node, entry: str = "m-1") -> list[str]:
    """Which nodes are cordoned when the shard asks for the machine."""
    rig = Rig()
    for node in nodes:
        rig.has_node(node)
    rig.connect(update)
    rig.asks(entry)
    return rig.cordons()


@pytest.mark.parametrize(
    ("update", "node"),
    [
        (told("aws:///eu-1a/i-0007"), REAL),
        (told("i-0007"), REAL),
        (told("eu-1a/i-0007"), REAL),
        (told(node_name="ip-10-0-0-7"), REAL),
        (told("ref-of-another-kind", "ip-10-0-0-7"), REAL),
        (told(), node_record("ip-10-0-0-7", label="m-1")),
    ],
    ids=[
        "the-whole-provider-id",
        "the-end-of-it",
        "a-longer-end-of-it",
        "its-name",
        "its-name-where-the-provider-id-tells-nothing",
        "its-label",
    ],
)
def test_the_right_node_is_cordoned_and_one_called_like_the_machine_is_not(
    update: NodeStateUpdate, node: Node
) -> None:
    assert cordoned(update, node_record("m-1"), node) == ["ip-10-0-0-7"]


def test_a_node_called_like_the_machine_is_it_if_nothing_better_is_known() -> None:
    assert cordoned(told(), node_record("m-1"), REAL) == ["m-1"]


@pytest.mark.parametrize("entry", ["m-1", "ip-10-0-0-7"], ids=["machine-id", "node-name"])
def test_the_machine_is_found_by_either_way_to_call_it(entry: str) -> None:
    update = told("i-0007", "ip-10-0-0-7")
    assert cordoned(update, REAL, node_record("m-1"), entry=entry) == ["ip-10-0-0-7"]


def test_an_end_that_does_not_begin_after_a_slash_is_another_host() -> None:
    assert cordoned(told("0007"), REAL) == []


def test_of_two_nodes_that_fit_equally_none_is_cordoned() -> None:
    twin = node_record("ip-10-0-0-8", "gcp:///us-1b/i-0007")
    assert cordoned(told("i-0007"), REAL, twin) == []
    assert cordoned(told("i-0007", "ip-10-0-0-8"), REAL, twin) == ["ip-10-0-0-8"]


def test_two_nodes_that_fit_equally_are_no_absent_node() -> None:
    rig = Rig()
    rig.has_node(REAL)
    rig.has_node(node_record("ip-10-0-0-8", "gcp:///us-1b/i-0007"))
    rig.connect(told("i-0007"))
    rig.asks("m-1", grace=60)
    rig.wait(59)
    assert rig.acks() == []


def test_a_provider_id_overrules_a_name_that_was_given_to_another_host() -> None:
    reused = node_record("ip-10-0-0-7", "aws:///eu-1a/i-0099")
    moved = node_record("ip-10-0-0-9", "aws:///eu-1a/i-0007")
    assert cordoned(told("i-0007", "ip-10-0-0-7"), reused, moved) == ["ip-10-0-0-9"]


def test_a_name_is_not_taken_from_a_node_that_is_another_machine() -> None:
    rig = Rig()
    rig.has_node(node_record("m-1", "aws:///eu-1a/i-0002"))
    other = NodeStateUpdate("m-2", "shop", S.CONFIGURED, "", "i-0002")
    rig.connect(told(), other)
    rig.asks("m-1")
    assert rig.cordons() == []
    rig.asks("m-2", instruction="bf1-two")
    assert rig.cordons() == ["m-1"]


def test_a_label_of_another_machine_overrules_a_name() -> None:
    assert cordoned(told(), node_record("m-1", label="m-2")) == []


def test_the_node_an_upcoming_node_refers_to_comes_first() -> None:
    rig = Rig()
    rig.has_node(REAL)
    rig.has_node(node_record("n-ref"))
    rig.nodes.refer("m-1", Reference(kind="Node", name="n-ref", uid="uid-n-ref"))
    rig.connect(told("i-0007", "ip-10-0-0-7"))
    rig.asks("m-1")
    assert rig.cordons() == ["n-ref"]


def test_a_reference_to_an_earlier_node_of_that_name_counts_for_nothing() -> None:
    rig = Rig()
    rig.has_node(REAL)
    rig.has_node(node_record("n-ref"))
    rig.nodes.refer("m-1", Reference(kind="Node", name="n-ref", uid="uid-of-the-one-before"))
    rig.connect(told("i-0007"))
    rig.asks("m-1")
    assert rig.cordons() == ["ip-10-0-0-7"]


def test_the_machine_of_a_node_is_found_the_same_way_back() -> None:
    rig = Rig()
    for node in (REAL, node_record("m-1"), node_record("n-3", label="m-3")):
        rig.has_node(node)
    third = NodeStateUpdate("m-3", "shop", S.CONFIGURED)
    rig.connect(told("i-0007"), third)
    found = {name: rig.nodes.machine_of(name) for name in ("ip-10-0-0-7", "m-1", "n-3", "n-4")}
    assert found == {"ip-10-0-0-7": "m-1", "m-1": "", "n-3": "m-3", "n-4": ""}


def test_what_changes_is_found_anew_and_what_is_gone_is_not_found() -> None:
    rig = Rig()
    nodes = rig.nodes
    nodes.on_node_state(told("i-0007"))
    nodes.put(REAL)
    assert nodes.node_of("m-1") is REAL
    nodes.on_node_state(told("i-0008"))
    assert nodes.node_of("m-1") is None
    nodes.put(node_record("ip-10-0-0-7", "aws:///eu-1a/i-0008"))
    assert nodes.machine_of("ip-10-0-0-7") == "m-1"
    nodes.remove("ip-10-0-0-7")
    assert nodes.node_of("m-1") is None
    nodes.put(REAL)
    nodes.forget("m-1")
    assert nodes.machine_of("ip-10-0-0-7") == ""
