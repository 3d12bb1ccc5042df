"""Pods that wait and pods on machines of the fleet ask for a machine; no other pod does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.edge.clock import SECOND
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.fleet_nodes import FleetNodes, MachineFacts, NodeFacts
from bigfleet.podwatch.notes import PodNote
from bigfleet.podwatch.pod_demand import FOREIGN_SECONDS
from bigfleet.podwatch.pod_reconciler import Decision, PodOutcome, Release
from bigfleet.podwatch.records import WatchedPod
from tests.podwatch.pods import own, watched

UID = "uid-web-1"
AT = 1_700_000_000 * SECOND
OWN_NODE = NodeFacts("uid-n", "", {})
MACHINE = MachineFacts("n-1", "uid-n", "")


def telling_apart() -> FleetNodes:
    nodes = FleetNodes()
    nodes.are_told_apart = True
    return nodes


def book_with(*pods: WatchedPod, nodes: FleetNodes | None = None) -> Book:
    book = Book(nodes or telling_apart())
    for pod in pods:
        book.pod_changed(None, pod)
    return book


def looked_at(book: Book, seconds: float = 0) -> Decision:
    return book.decide(UID, {}, AT + round(seconds * SECOND))


def test_a_pod_that_the_scheduler_could_not_place_asks_at_once() -> None:
    assert looked_at(book_with(watched())).outcome is PodOutcome.CREATED


def test_a_pod_that_is_not_judged_yet_has_three_seconds_to_find_room() -> None:
    book = book_with(watched(judged=False))
    first = looked_at(book)
    assert (first.outcome, first.again_at) == (PodOutcome.NOT_YET_KNOWN, AT + 3 * SECOND)
    assert looked_at(book, 2.9).outcome is PodOutcome.NOT_YET_KNOWN
    assert looked_at(book, 3).outcome is PodOutcome.CREATED


def test_the_time_to_find_room_is_a_setting() -> None:
    book = book_with(watched(judged=False))
    book.unjudged_grace_seconds = 0
    assert looked_at(book).outcome is PodOutcome.CREATED


def test_a_pod_that_asks_already_is_not_asked_to_be_judged_again() -> None:
    pod = watched(judged=False)
    book = book_with(pod)
    book.request_changed(None, own("cr-1", spec=pod.spec({}) or b""))
    assert looked_at(book) == Decision(PodOutcome.EXISTS)


GATES = [{"name": "kueue.x-k8s.io/admission"}, {"name": "quota"}]


def test_a_gated_pod_asks_for_nothing_until_the_last_gate_is_gone() -> None:
    gated, half = watched(schedulingGates=GATES), watched(schedulingGates=GATES[:1])
    book = book_with(gated)
    assert looked_at(book, 3600).outcome is PodOutcome.NOT_DEMAND
    book.pod_changed(gated, half)
    assert looked_at(book, 3600).outcome is PodOutcome.NOT_DEMAND
    book.pod_changed(half, watched(judged=False))
    assert looked_at(book, 3600).outcome is PodOutcome.NOT_YET_KNOWN
    assert looked_at(book, 3603).outcome is PodOutcome.CREATED


def test_a_gated_pod_that_asked_before_asks_no_more() -> None:
    book = book_with(watched(schedulingGates=GATES))
    request = own("cr-1")
    book.request_changed(None, request)
    assert looked_at(book).instructions == (Release(request),)


def test_a_pod_that_is_nominated_after_a_preemption_counts_once() -> None:
    pod = watched()
    book = book_with(pod)
    book.request_changed(None, own("cr-1", spec=pod.spec({}) or b""))
    assert looked_at(book) == Decision(PodOutcome.EXISTS)


# -- pods on Nodes -------------------------------------------------------------------------------


def on_a_node(**machine: Any) -> Book:
    book = book_with(watched(nodeName="n-1"))
    book.nodes.node_changed("n-1", OWN_NODE, AT)
    return book


def with_request(book: Book) -> Book:
    spec = book.pods[UID].spec({}) or b""
    book.request_changed(None, own("cr-1", spec=spec))
    return book


@pytest.mark.parametrize(
    ("node", "machine"),
    [
        pytest.param(OWN_NODE, MACHINE, id="an UpcomingNode names it, with its uid"),
        pytest.param(OWN_NODE, MachineFacts("n-1", "", ""), id="an UpcomingNode names it"),
        pytest.param(
            NodeFacts("u", "", {"bigfleet.lucy.sh/machine-id": "m-1"}), None, id="it has the label"
        ),
        pytest.param(
            NodeFacts("u", "i-7", {}), MachineFacts("", "", "i-7"), id="it has the provider id"
        ),
        pytest.param(
            NodeFacts("u", "aws:///a/i-7", {}),
            MachineFacts("", "", "i-7"),
            id="its provider id ends in the machine's",
        ),
    ],
)
def test_a_pod_on_a_machine_of_the_fleet_counts_for_its_life(
    node: NodeFacts, machine: MachineFacts | None
) -> None:
    book = book_with(watched(nodeName="n-1"))
    book.nodes.machine_changed("un-1", machine, AT)
    book.nodes.node_changed("n-1", node, AT)
    assert looked_at(book, 3600).outcome is PodOutcome.CREATED


@pytest.mark.parametrize(
    ("node", "machine"),
    [
        pytest.param(OWN_NODE, None, id="nothing says so"),
        pytest.param(
            OWN_NODE, MachineFacts("n-1", "uid-of-another", ""), id="a Node of that name is gone"
        ),
        pytest.param(NodeFacts("u", "aws:///a/xi-7", {}), MachineFacts("", "", "i-7"), id="half"),
        pytest.param(NodeFacts("u", "", {}), MachineFacts("", "", ""), id="empty is not equal"),
    ],
)
def test_a_pod_on_a_node_of_the_cluster_itself_never_asks(
    node: NodeFacts, machine: MachineFacts | None
) -> None:
    book = book_with(watched(nodeName="n-1"))
    book.nodes.machine_changed("un-1", machine, AT)
    book.nodes.node_changed("n-1", node, AT)
    decision = looked_at(book)
    assert (decision.outcome, decision.instructions) == (PodOutcome.NOT_DEMAND, ())
    assert decision.why == "it runs on n-1, which is not a machine of the fleet"


def test_a_pod_that_asked_and_found_a_node_of_the_cluster_itself_asks_no_more_after_a_minute() -> (
    None
):
    book = with_request(on_a_node())
    first = looked_at(book, 1)
    assert first == Decision(PodOutcome.EXISTS, (), AT + round(FOREIGN_SECONDS * SECOND))
    assert looked_at(book, 59).instructions == ()
    assert [type(each) for each in looked_at(book, 60).instructions] == [Release]


def test_a_node_that_is_not_known_changes_nothing() -> None:
    book = book_with(watched(nodeName="n-1"))
    assert looked_at(book) == Decision(PodOutcome.NOT_YET_KNOWN)
    assert looked_at(with_request(book), 3600) == Decision(PodOutcome.EXISTS)


def test_an_upcoming_node_that_is_away_for_a_moment_costs_no_pod_its_machine() -> None:
    book = with_request(on_a_node())
    book.nodes.machine_changed("un-1", MACHINE, AT)
    book.nodes.machine_changed("un-1", None, AT + 100 * SECOND)
    assert looked_at(book, 159).instructions == ()
    book.nodes.machine_changed("un-1", MACHINE, AT + 159 * SECOND)
    assert looked_at(book, 161) == Decision(PodOutcome.EXISTS)
    book.nodes.machine_changed("un-1", None, AT + 200 * SECOND)
    assert looked_at(book, 259).instructions == ()


def test_what_was_seen_before_a_doubt_does_not_count() -> None:
    book = with_request(on_a_node())
    book.nodes.doubted(AT + 50 * SECOND)
    assert looked_at(book, 109).instructions == ()
    assert len(looked_at(book, 110).instructions) == 1


def test_a_node_made_again_under_its_name_is_foreign_from_then_on() -> None:
    book = with_request(on_a_node())
    book.nodes.node_changed("n-1", None, AT + 40 * SECOND)
    book.nodes.node_changed("n-1", NodeFacts("another", "", {}), AT + 50 * SECOND)
    assert looked_at(book, 109).instructions == ()
    assert len(looked_at(book, 110).instructions) == 1


def test_without_upcoming_nodes_every_pod_that_runs_counts() -> None:
    book = book_with(watched(nodeName="n-1"), nodes=FleetNodes())
    book.nodes.node_changed("n-1", OWN_NODE, AT)
    assert looked_at(book).outcome is PodOutcome.CREATED


def test_changes_of_nodes_name_the_pods_on_them() -> None:
    book = book_with(watched(nodeName="n-1"), watched("web-2", nodeName="n-2"))
    nodes = book.nodes
    assert book.pods_on(nodes.node_changed("n-1", NodeFacts("u", "x/i-7", {}), AT)) == [UID]
    assert book.pods_on(nodes.machine_changed("un", MachineFacts("n-2", "", "i-7"), AT)) == [
        UID,
        "uid-web-2",
    ]
    assert book.pods_on(nodes.machine_changed("un", None, AT)) == [UID, "uid-web-2"]
    book.pod_changed(watched(nodeName="n-1"), None)
    assert book.pods_on(["n-1"]) == []


def test_what_is_kept_of_nodes_goes_with_them() -> None:
    book = on_a_node()
    book.nodes.machine_changed("un-1", MACHINE, AT)
    book.nodes.machine_changed("un-1", None, AT)
    book.nodes.node_changed("n-1", None, AT)
    book.pod_changed(watched(nodeName="n-1"), None)
    assert set(book.sizes().values()) == {0}


node_steps = st.lists(
    st.tuples(
        st.sampled_from(["node", "no node", "machine", "no machine", "doubt", "look"]),
        st.integers(0, 50),
    ),
    max_size=40,
)


@given(node_steps)
def test_no_request_goes_unless_its_node_was_foreign_for_a_whole_minute(
    story: list[tuple[str, int]],
) -> None:
    book = with_request(book_with(watched(nodeName="n-1")))
    at, has_node, has_machine = AT, False, False
    #: When the Node last was a machine, unknown or in doubt.
    last_not_foreign = at
    for step, seconds in story:
        if not has_node or has_machine:
            last_not_foreign = at + seconds * SECOND
        at += seconds * SECOND
        match step:
            case "node" | "no node":
                has_node = step == "node"
                book.nodes.node_changed("n-1", OWN_NODE if has_node else None, at)
            case "machine" | "no machine":
                has_machine = step == "machine"
                book.nodes.machine_changed("un-1", MACHINE if has_machine else None, at)
            case "doubt":
                last_not_foreign = at
                book.nodes.doubted(at)
        if book.decide(UID, {}, at).instructions:
            assert at - last_not_foreign >= 60 * SECOND


# -- what is told, and when ----------------------------------------------------------------------


def test_a_pod_that_finds_room_is_told_nothing() -> None:
    words: dict[str, Any] = {"annotations": {"bigfleet.lucy.sh/interruption-penalty": "x"}}
    unjudged, running = watched(judged=False, **words), watched(nodeName="n-1", **words)
    book = book_with(unjudged)
    assert book.notes_for(UID, looked_at(book).outcome) == ()
    book.pod_changed(unjudged, running)
    book.nodes.node_changed("n-1", OWN_NODE, AT)
    assert book.notes_for(UID, looked_at(book).outcome) == ()
    book.nodes.machine_changed("un-1", MACHINE, AT)
    assert book.notes_for(UID, looked_at(book).outcome) == running.notes


def test_a_hint_is_told_on_one_pod_of_each_owner() -> None:
    def of_owner(name: str, owner: str) -> WatchedPod:
        term = {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
        apart = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
        owners = [{"kind": "ReplicaSet", "controller": True, "name": owner, "uid": owner}]
        return watched(name, owners=owners, affinity={"podAntiAffinity": apart})

    book = book_with(of_owner("a", "web"), of_owner("b", "web"), of_owner("c", "db"))

    def told(name: str) -> tuple[PodNote, ...]:
        return book.notes_for(f"uid-{name}", PodOutcome.CREATED)

    assert [note.reason for note in told("a")] == ["PreferenceNotTranslated"]
    assert told("b") == ()
    assert len(told("c")) == 1
    assert book.untranslated() == {"preferred": 3}
