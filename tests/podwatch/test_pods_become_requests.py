"""What a pod asks for, field by field, and what it is told that cannot be asked for."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.kube.objects import ObjectKey
from bigfleet.podwatch.records import Bodies, Policy, own_request, watched_pod
from bigfleet.podwatch.requests import requirements_in
from tests.podwatch.pods import (
    Json,
    affinity,
    capacity_request,
    expression,
    pod,
    spec_of,
    together,
    watched,
)

ANY_TYPE = [{"key": "node.kubernetes.io/instance-type", "operator": "Exists"}]
DAEMON = [{"kind": "DaemonSet", "controller": True, "name": "d", "uid": "u"}]


def test_a_pod_that_requires_nothing_asks_for_any_instance_type() -> None:
    assert spec_of(priority=7) == {
        "requirements": ANY_TYPE,
        "resources": {"cpu": "500m", "memory": "1Gi"},
        "priority": 7,
    }


def test_selector_and_first_required_term_are_joined_and_sorted() -> None:
    first = {
        "matchExpressions": [
            expression("zone", "In", "b", "a"),
            expression("gpu", "DoesNotExist"),
            expression("arch", "In", "arm64"),
        ]
    }
    found = spec_of(nodeSelector={"disk": "ssd", "arch": "arm64"}, affinity=affinity(first))
    assert found["requirements"] == [
        expression("arch", "In", "arm64"),
        expression("disk", "In", "ssd"),
        expression("gpu", "DoesNotExist"),
        expression("zone", "In", "a", "b"),
    ]


def test_terms_are_alternatives_and_each_has_a_spec_of_its_own() -> None:
    terms = [{"matchExpressions": [expression("zone", "In", each)]} for each in ("a", "b", "c")]
    found = watched(nodeSelector={"disk": "ssd"}, affinity=affinity(*terms))
    asked = [requirements_in(found.spec({}, number) or b"") for number in range(3)]
    disk = ("disk", "In", ("ssd",))
    assert asked == [(disk, ("zone", "In", (zone,))) for zone in ("a", "b", "c")]
    (note,) = found.notes
    assert (note.reason, note.is_hint) == ("AffinityTermsInTurn", True)
    assert "one of 3" in note.text


@pytest.mark.parametrize(
    "useless",
    [
        pytest.param({"matchExpressions": [expression("cores", "Gt", "8")]}, id="it compares"),
        pytest.param(
            {"matchExpressions": [expression("disk", "In", "hdd")]}, id="the selector forbids it"
        ),
        pytest.param(
            {"matchFields": [expression("metadata.name", "In", "n-1")]}, id="it names its node"
        ),
        pytest.param(
            {"matchExpressions": [expression("zone", "In", "a")]}, id="it is a repetition"
        ),
    ],
)
def test_alternatives_that_no_request_could_ask_for_are_left_out(useless: Json) -> None:
    useful = {"matchExpressions": [expression("zone", "In", "a")]}
    found = watched(nodeSelector={"disk": "ssd"}, affinity=affinity(useless, useful))
    assert [requirements_in(each.spec) for each in found.alternatives] == [
        (("disk", "In", ("ssd",)), ("zone", "In", ("a",)))
    ]


def test_an_empty_term_matches_no_node_and_is_passed_over() -> None:
    found = watched(affinity=affinity({}, {"matchExpressions": [expression("a", "Exists")]}))
    assert found.notes == ()
    assert b'"a"' in (found.spec({}) or b"")


def test_comparisons_are_written_as_they_are_and_told() -> None:
    term = {"matchExpressions": [expression("cores", "Gt", "8")]}
    assert spec_of(affinity=affinity(term))["requirements"] == [expression("cores", "Gt", "8")]
    (note,) = watched(affinity=affinity(term)).notes
    assert (note.reason, "cores Gt" in note.text) == ("UnsupportedOperator", True)


def test_pods_that_must_be_together_are_asked_for_together() -> None:
    selector = {
        "matchLabels": {"job": "train"},
        "matchExpressions": [expression("rank", "In", "2", "1")],
    }
    found = spec_of(affinity=together("rack", **selector))
    assert found["coLocation"] == {
        "topologyKey": "rack",
        "labelSelector": {
            "matchLabels": {"job": "train"},
            "matchExpressions": [expression("rank", "In", "1", "2")],
        },
    }
    assert spec_of(affinity=together("rack"))["coLocation"] == {"topologyKey": "rack"}


def test_of_several_terms_of_togetherness_the_first_is_asked_for() -> None:
    terms = [{"topologyKey": key} for key in ("rack", "zone")]
    found = spec_of(
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    )
    assert found["coLocation"] == {"topologyKey": "rack"}


def test_what_is_only_preferred_or_kept_apart_is_not_asked_for() -> None:
    term = {"topologyKey": "rack"}
    preferred = {"weight": 1, "podAffinityTerm": term}
    found = spec_of(
        affinity={
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        }
    )
    assert "coLocation" not in found


def test_spread_is_copied_also_where_it_does_not_bind() -> None:
    constraints = [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
        {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"},
    ]
    assert spec_of(topologySpreadConstraints=constraints)["topologySpread"] == constraints


def test_pods_of_one_kind_share_one_body_in_any_order_of_their_words() -> None:
    bodies, policy = Bodies(), Policy()
    pods = [
        watched_pod(pod("a", nodeSelector={"x": "1", "y": "2"}), policy, bodies),
        watched_pod(pod("b", nodeSelector={"y": "2", "x": "1"}), policy, bodies),
    ]
    assert pods[0] is not None
    assert pods[1] is not None
    assert pods[0].alternatives[0] is pods[1].alternatives[0]
    assert len(bodies) == 1
    pods.clear()
    assert len(bodies) == 0


expressions = st.lists(
    st.tuples(
        st.sampled_from(["zone", "disk", "arch"]),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=4,
)


@given(expressions, st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12")), st.randoms())
def test_equal_demands_are_equal_bytes_however_they_were_written(
    said: list[tuple[str, str, list[str]]], selector: Json, chance: Random
) -> None:
    def shuffled(found: Iterable[Any]) -> list[Any]:
        turned = list(found)
        chance.shuffle(turned)
        return turned

    def written(turn: Callable[[Iterable[Any]], list[Any]]) -> list[bytes]:
        terms = [expression(key, word, *turn(values)) for key, word, values in turn(said)]
        found = watched(
            nodeSelector=dict(turn(selector.items())),
            affinity=affinity({"matchExpressions": terms}),
        )
        return [body.spec for body in found.alternatives]

    assert written(list) == written(shuffled)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_asks_for_nothing(phase: str) -> None:
    found = watched(phase=phase)
    assert (found.terminal, found.spec({})) == (True, None)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({"owners": DAEMON}, id="of a DaemonSet"),
        pytest.param({"annotations": {"kubernetes.io/config.mirror": "x"}}, id="static"),
        pytest.param(
            {"affinity": affinity({"matchFields": [expression("metadata.name", "In", "n-1")]})},
            id="pinned by its affinity",
        ),
    ],
)
def test_pods_that_belong_to_one_node_are_left_alone_unless_asked_for(
    words: Json,
) -> None:
    assert watched_pod(pod(**words), Policy(), Bodies()) is None
    policy = Policy(include_daemonsets=True)
    found = watched_pod(pod(nodeSelector={"a": "b"}, **words), policy, Bodies())
    assert found is not None
    assert b'"requirements":[{"key":"node.kubernetes.io/instance-type"' in (found.spec({}) or b"")


def test_pods_of_an_excluded_namespace_are_left_alone() -> None:
    policy = Policy(frozenset({"kube-system"}))
    assert watched_pod(pod(namespace="kube-system"), policy, Bodies()) is None
    assert watched_pod(pod(namespace="shop"), policy, Bodies()) is not None


def test_a_pod_whose_requests_cannot_be_read_asks_for_nothing_and_is_told() -> None:
    found = watched(cpu="many")
    assert found.spec({}) is None
    assert [note.reason for note in found.notes] == ["InvalidRequests"]


def test_a_request_is_compared_by_what_it_says_not_by_the_order_of_its_words() -> None:
    found = watched()
    spec = spec_of()
    turned = dict(reversed(list(spec.items())))
    request = own_request(capacity_request("cr", "uid-web-1", turned), Bodies())
    assert request is not None
    assert request.body.spec == found.spec({})
    assert request.key == ObjectKey("shop", "cr")


def test_requests_of_others_are_none_of_ours() -> None:
    request = capacity_request("cr", "", spec_of())
    assert own_request(request, Bodies()) is None
