"""What a pod says about other pods becomes a spread or a co-location, or is told on it."""

from typing import Any

import pytest

from tests.podwatch.pods import Json, spec_of, watched

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LABELS = {"app": "db", "tier": "1"}
STRICT = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}


def term(key: str = ZONE, **words: Any) -> Json:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "db"}}, **words}


def apart(*terms: Json) -> Json:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def spread(**words: Any) -> list[Json]:
    found: list[Json] = spec_of(labels=LABELS, **words).get("topologySpread", [])
    return found


def told(**words: Any) -> list[str]:
    return [note.reason for note in watched(labels=LABELS, **words).notes]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({}, id="as most write it"),
        pytest.param({"namespaces": ["shop"]}, id="its own namespace by name"),
        pytest.param({"labelSelector": {}}, id="every pod, itself too"),
        pytest.param(
            {
                "labelSelector": {
                    "matchExpressions": [
                        {"key": "app", "operator": "In", "values": ["db", "web"]},
                        {"key": "canary", "operator": "DoesNotExist"},
                    ]
                }
            },
            id="by expressions",
        ),
    ],
)
def test_replicas_that_must_not_share_a_zone_are_spread_over_zones(words: Json) -> None:
    assert spread(affinity=apart(term(**words))) == [STRICT]
    assert told(affinity=apart(term(**words))) == []


def test_replicas_that_must_not_share_a_host_are_left_to_the_operator() -> None:
    assert spread(affinity=apart(term(HOST))) == []
    assert told(affinity=apart(term(HOST))) == []
    both = apart(term(HOST), term(ZONE))
    assert spread(affinity=both) == [STRICT]


@pytest.mark.parametrize(
    "terms",
    [
        pytest.param([term(labelSelector={"matchLabels": {"app": "web"}})], id="other pods"),
        pytest.param([term(labelSelector=None)], id="no pods at all"),
        pytest.param([term(namespaces=["shop", "other"])], id="of more namespaces"),
        pytest.param([term(namespaceSelector={})], id="of all namespaces"),
        pytest.param([term(), term(labelSelector={})], id="two terms on one label"),
    ],
)
def test_what_is_not_exactly_that_is_told_and_not_spread(terms: list[Json]) -> None:
    assert spread(affinity=apart(*terms)) == []
    assert told(affinity=apart(*terms)) == ["PodAntiAffinityNotTranslated"]


def test_a_strict_spread_of_the_pod_itself_stays_as_it_is() -> None:
    own = STRICT | {"maxSkew": 3}
    loose = STRICT | {"whenUnsatisfiable": "ScheduleAnyway"}
    zone = apart(term())
    assert spread(affinity=zone, topologySpreadConstraints=[own]) == [own]
    assert spread(affinity=zone, topologySpreadConstraints=[loose]) == [loose, STRICT]


def test_only_the_first_of_several_terms_of_togetherness_is_asked_for_and_that_is_told() -> None:
    near = {"podAffinity": {REQUIRED: [term(), term("rack")]}}
    assert spec_of(affinity=near)["coLocation"]["topologyKey"] == ZONE
    assert told(affinity=near) == ["PodAffinityNotTranslated"]


def test_togetherness_across_namespaces_is_told() -> None:
    near = {"podAffinity": {REQUIRED: [term(namespaceSelector={})]}}
    assert told(affinity=near) == ["PodAffinityNotTranslated"]
    assert told(affinity={"podAffinity": {REQUIRED: [term()]}}) == []


def test_preferences_are_told_as_a_hint_and_change_nothing() -> None:
    weighted = {"weight": 1, "podAffinityTerm": term()}
    node = {"weight": 1, "preference": {"matchExpressions": []}}
    wishes = {"podAntiAffinity": {PREFERRED: [weighted]}, "nodeAffinity": {PREFERRED: [node]}}
    pod = watched(labels=LABELS, affinity=wishes)
    assert pod.spec({}) == watched(labels=LABELS).spec({})
    (note,) = pod.notes
    assert (note.reason, note.is_hint) == ("PreferenceNotTranslated", True)
    assert "nodeAffinity and podAntiAffinity" in note.text


def test_dynamic_resource_claims_are_told_and_the_rest_is_asked_for() -> None:
    claims = [{"name": "gpu", "resourceClaimName": "one-gpu"}]
    pod = watched(resourceClaims=claims)
    assert pod.spec({}) == watched().spec({})
    assert [note.reason for note in pod.notes] == ["ResourceClaimsNotTranslated"]
