"""A pod asks for machines that reach its volumes; where none can, it asks for none and is told."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.edge.clock import SECOND
from bigfleet.kube.objects import ObjectKey
from bigfleet.kube.volumes import StorageClass, Volume
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.fleet_nodes import FleetNodes, MachineFacts, NodeFacts
from bigfleet.podwatch.pod_reconciler import Create, Decision, PodOutcome, Release
from bigfleet.podwatch.records import WatchedPod
from bigfleet.podwatch.requests import requirements_in
from bigfleet.podwatch.requirements import Requirement, met_by
from bigfleet.podwatch.volumes import (
    ClaimFacts,
    Topology,
    VolumeFacts,
    Volumes,
    claims_of,
    class_topology,
    topology_of,
    volume_facts,
)
from tests.podwatch.pods import Json, affinity, expression, own, watched

AT = 1_700_000_000 * SECOND
UID = "uid-web-1"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def volume(*terms: list[Json]) -> VolumeFacts:
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    body = {
        "metadata": {"name": "pv-1"},
        "spec": {
            "nodeAffinity": {"required": required},
            "claimRef": {"namespace": "shop", "name": "data"},
        },
    }
    found = volume_facts(msgspec.convert(body, Volume))
    assert found is not None
    return found


def claiming(*names: str) -> list[Json]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]


def bound_to(**volumes: VolumeFacts) -> Volumes:
    """Claims and their volumes, by the names of the claims."""
    return Volumes(
        {ObjectKey("shop", name): ClaimFacts(f"pv-{name}", "") for name in volumes},
        {ObjectKey("", f"pv-{name}"): facts for name, facts in volumes.items()},
    )


def looked_at(pod: WatchedPod, volumes: Volumes) -> tuple[Book, Decision]:
    book = Book(volumes=volumes)
    book.pod_changed(None, pod)
    return book, book.decide(UID, {}, AT)


def asked(pod: WatchedPod, volumes: Volumes) -> tuple[Requirement, ...]:
    _, decision = looked_at(pod, volumes)
    (create,) = decision.instructions
    assert isinstance(create, Create)
    return requirements_in(create.spec)


def test_a_pod_asks_for_the_zone_of_its_volume() -> None:
    found = asked(
        watched(volumes=claiming("data"), nodeSelector={"disk": "ssd"}),
        bound_to(data=volume([expression(ZONE, "In", "a")])),
    )
    assert found == (("disk", "In", ("ssd",)), (ZONE, "In", ("a",)))


@pytest.mark.parametrize(
    "key",
    [
        "failure-domain.beta.kubernetes.io/zone",
        "topology.ebs.csi.aws.com/zone",
        "topology.disk.csi.azure.com/zone",
        "topology.gke.io/zone",
    ],
)
def test_a_zone_is_a_zone_under_every_drivers_name(key: str) -> None:
    both = [expression(key, "In", "a"), expression(ZONE, "In", "a")]
    assert volume(both).topology == Topology(((ZONE, "In", ("a",)),))
    assert volume([expression(key, "In", "a")]).topology == Topology(((ZONE, "In", ("a",)),))


def test_a_volume_in_no_zone_is_reached_from_everywhere() -> None:
    nowhere = volume([expression("topology.disk.csi.azure.com/zone", "In", "")])
    assert nowhere.topology == Topology()


def test_a_volume_on_one_host_keeps_its_pod_there() -> None:
    found = asked(
        watched(volumes=claiming("data")), bound_to(data=volume([expression(HOST, "In", "n-7")]))
    )
    assert found == ((HOST, "In", ("n-7",)),)


def test_a_volume_on_a_node_of_the_cluster_itself_is_nothing_to_buy_a_machine_for() -> None:
    nodes = FleetNodes()
    nodes.are_told_apart = True
    nodes.node_changed("n-7", NodeFacts("u", "", {}), AT)
    pod = watched(volumes=claiming("data"))
    book = Book(nodes, bound_to(data=volume([expression(HOST, "In", "n-7")])))
    book.pod_changed(None, pod)
    assert book.decide(UID, {}, AT).outcome is PodOutcome.NOT_DEMAND
    request = own("cr-1", spec=pod.spec({}) or b"")
    book.request_changed(None, request)
    kept = book.decide(UID, {}, AT + SECOND)
    assert (kept.outcome, kept.again_at) == (PodOutcome.EXISTS, AT + 60 * SECOND)
    assert book.decide(UID, {}, AT + 60 * SECOND).instructions == (Release(request),)
    nodes.machine_changed("un-7", MachineFacts("n-7", "u", ""), AT)
    assert book.decide(UID, {}, AT + 60 * SECOND).outcome is PodOutcome.EXISTS


def test_two_zones_of_one_volume_are_both_offered() -> None:
    either = volume([expression(ZONE, "In", "a")], [expression(ZONE, "In", "b")])
    assert either.topology == Topology(((ZONE, "In", ("a", "b")),))


def test_alternatives_that_cannot_be_joined_are_told() -> None:
    either = volume(
        [expression(ZONE, "In", "a"), expression("rack", "In", "1")],
        [expression(ZONE, "In", "b"), expression("rack", "In", "2")],
    )
    assert either.topology.left_out == ("rack", ZONE)
    uneven = volume([expression(ZONE, "In", "a")], [expression("rack", "In", "2")])
    assert uneven.topology == Topology((), ("rack", ZONE))


def test_a_label_of_a_driver_that_no_machine_has_is_left_out_and_told() -> None:
    key = "topology.topolvm.io/node"
    pod = watched(volumes=claiming("data"))
    book, decision = looked_at(pod, bound_to(data=volume([expression(key, "In", "n-7")])))
    assert decision.outcome is PodOutcome.CREATED
    (note,) = book.notes_for(UID, decision.outcome, decision.notes)
    assert note.reason == "VolumeTopologyNotTranslated"
    assert key in note.text
    assert book.untranslated() == {"volume_topology": 1}


def test_the_zone_of_a_volume_narrows_what_the_pod_accepts() -> None:
    term = {"matchExpressions": [expression(ZONE, "In", "b", "c")]}
    found = asked(
        watched(volumes=claiming("data"), affinity=affinity(term)),
        bound_to(data=volume([expression(ZONE, "In", "a", "b")])),
    )
    assert found == ((ZONE, "In", ("b",)),)


CONFLICT = bound_to(data=volume([expression(ZONE, "In", "a")]))


def conflicting(**words: Any) -> WatchedPod:
    return watched(volumes=claiming("data"), nodeSelector={ZONE: "b"}, **words)


def test_a_pod_that_does_not_accept_where_its_volume_is_asks_for_nothing_and_is_told() -> None:
    book, decision = looked_at(conflicting(), CONFLICT)
    assert (decision.outcome, decision.instructions) == (PodOutcome.NOT_DEMAND, ())
    (note,) = book.notes_for(UID, decision.outcome, decision.notes)
    assert note.reason == "VolumeTopologyConflict"
    assert f"{ZONE} In a" in note.text
    assert book.notes_for(UID, decision.outcome, decision.notes) == ()


def test_two_volumes_that_no_machine_reaches_together_are_a_conflict() -> None:
    apart = bound_to(
        data=volume([expression(ZONE, "In", "a")]), logs=volume([expression(ZONE, "In", "b")])
    )
    _, decision = looked_at(watched(volumes=claiming("data", "logs")), apart)
    assert decision.outcome is PodOutcome.NOT_DEMAND
    assert "logs and its other volumes" in decision.notes[0].text


def test_a_pod_that_asked_before_its_volume_was_somewhere_else_asks_no_more() -> None:
    book, _ = looked_at(conflicting(), CONFLICT)
    request = own("cr-1")
    book.request_changed(None, request)
    assert book.decide(UID, {}, AT).instructions == (Release(request),)


def test_a_pod_that_runs_keeps_its_request_when_its_volumes_change() -> None:
    _, decision = looked_at(conflicting(nodeName="n-1"), CONFLICT)
    assert decision.outcome is PodOutcome.CREATED


def test_only_alternatives_that_reach_the_volumes_are_asked_for() -> None:
    terms = [{"matchExpressions": [expression(ZONE, "In", each)]} for each in ("b", "a")]
    pod = watched(volumes=claiming("data"), affinity=affinity(*terms))
    _, decision = looked_at(pod, CONFLICT)
    (create,) = decision.instructions
    assert isinstance(create, Create)
    assert (create.term, requirements_in(create.spec)) == ("2/2", ((ZONE, "In", ("a",)),))


# -- claims that wait for their pod --------------------------------------------------------------


def storage_class(mode: str, *zones: str) -> StorageClass:
    term = {"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}
    body = {
        "metadata": {"name": "fast"},
        "volumeBindingMode": mode,
        "allowedTopologies": [term] if zones else [],
    }
    return msgspec.convert(body, StorageClass)


WAITS = "WaitForFirstConsumer"
FAST = {ObjectKey("", "fast"): Topology(((ZONE, "In", ("a", "b")),))}


@pytest.mark.parametrize(
    ("found", "topology"),
    [
        pytest.param(storage_class(WAITS, "b", "a"), FAST[ObjectKey("", "fast")], id="limited"),
        pytest.param(storage_class(WAITS), None, id="anywhere"),
        pytest.param(storage_class("Immediate", "a"), None, id="bound without a pod"),
    ],
)
def test_a_class_limits_claims_that_wait_for_their_first_consumer(
    found: StorageClass, topology: Topology | None
) -> None:
    assert class_topology(found) == topology


def test_a_claim_that_is_not_bound_is_as_limited_as_its_class() -> None:
    unbound = {ObjectKey("shop", "data"): ClaimFacts("", "fast")}
    pod = watched(volumes=claiming("data"))
    assert asked(pod, Volumes(unbound, {}, FAST)) == ((ZONE, "In", ("a", "b")),)


def test_a_claim_that_is_made_for_the_pod_is_named_after_it_and_its_volume() -> None:
    template = {"spec": {"storageClassName": "fast"}}
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
    pod = watched(volumes=[scratch, {"name": "tmp", "emptyDir": {}}])
    assert [claim.name for claim in pod.claims] == ["web-1-scratch"]
    assert asked(pod, Volumes({}, {}, FAST)) == ((ZONE, "In", ("a", "b")),)
    there = {ObjectKey("shop", "web-1-scratch"): ClaimFacts("pv-1", "fast")}
    volumes = {ObjectKey("", "pv-1"): volume([expression(ZONE, "In", "b")])}
    assert asked(pod, Volumes(there, volumes, FAST)) == ((ZONE, "In", ("b",)),)


def test_what_is_not_there_limits_nothing() -> None:
    pod = watched(volumes=claiming("data"))
    nothing = (("node.kubernetes.io/instance-type", "Exists", ()),)
    assert asked(pod, Volumes()) == nothing
    bound = {ObjectKey("shop", "data"): ClaimFacts("pv-gone", "fast")}
    assert asked(pod, Volumes(bound, {}, FAST)) == nothing


def test_who_uses_a_claim_is_known_while_the_pod_is_there() -> None:
    book = Book()
    pod = watched(volumes=claiming("data", "logs"))
    book.pod_changed(None, pod)
    key = ObjectKey("shop", "data")
    assert (book.pods_with_claim(key), book.pods_with_claims()) == ([UID], [UID])
    assert book.pods_with_claim(ObjectKey("other", "data")) == []
    book.pod_changed(pod, None)
    assert (book.pods_with_claim(key), book.pods_with_claims()) == ([], [])
    assert claims_of("web", ()) == ()


places = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from([ZONE, "rack"]),
            st.just("In"),
            st.sets(st.sampled_from("abc"), min_size=1).map(lambda v: tuple(sorted(v))),
        ),
        min_size=1,
        max_size=2,
    ),
    min_size=1,
    max_size=3,
)


@given(places)
def test_joined_alternatives_exclude_no_machine_that_one_of_them_takes(
    terms: list[list[Requirement]],
) -> None:
    found = topology_of(terms)
    for zone in "abcd":
        for rack in "abcd":
            machine = {ZONE: zone, "rack": rack}
            reaches = any(met_by(term, machine) for term in terms)
            assert not reaches or met_by(found.requirements, machine)
            assert reaches or found.left_out or not met_by(found.requirements, machine)
