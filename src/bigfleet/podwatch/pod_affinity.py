"""What a pod says about other pods: near them, apart from them, and what of it can be asked for.

Near: the first required podAffinity term becomes the request's co-location. Apart: a required
podAntiAffinity term among replicas, on any label but the hostname, becomes a strict spread with a
skew of one. Apart by hostname is not asked for here: the operator sees the pods that no Node takes.

`matchLabelKeys` and `mismatchLabelKeys` need nothing: the API server has put them into the term's
label selector when the pod was made.
"""

from collections.abc import Iterable, Iterator, Mapping

from bigfleet.kube.objects import (
    Affinity,
    LabelSelector,
    PodAffinityTerm,
    TopologySpreadConstraint,
    selects,
)
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.podwatch.notes import PodNote
from bigfleet.podwatch.requirements import requirement_json, requirement_of

Json = dict[str, object]

_STRICT = "DoNotSchedule"


def co_location_of(affinity: Affinity | None) -> Json | None:
    """The first required term; those that are only preferred do not bind a scheduler."""
    terms = _near(affinity)
    if not terms:
        return None
    together: Json = {"topologyKey": terms[0].topology_key}
    if terms[0].label_selector is not None:
        together["labelSelector"] = _selector_json(terms[0].label_selector)
    return together


def spreads_of(
    constraints: Iterable[TopologySpreadConstraint],
    affinity: Affinity | None,
    labels: Mapping[str, str],
    namespace: str,
) -> list[Json]:
    """The pod's own constraints, and one for each label its replicas must not share."""
    found = [_spread(c.max_skew, c.topology_key, c.when_unsatisfiable) for c in constraints]
    strict = {each["topologyKey"] for each in found if each["whenUnsatisfiable"] == _STRICT}
    apart, _ = _apart(affinity, labels, namespace)
    return found + [_spread(1, key, _STRICT) for key in apart if key not in strict]


def affinity_notes(
    affinity: Affinity | None, labels: Mapping[str, str], namespace: str
) -> Iterator[PodNote]:
    if affinity is None:
        return
    near = _near(affinity)
    if len(near) > 1:
        yield PodNote(
            "PodAffinityNotTranslated",
            f"BigFleet brings machines for the first of {len(near)} required podAffinity terms; "
            "if the others keep the pod waiting, write them as one",
            "pod_affinity",
        )
    if any(not _is_of_own_namespace(term, namespace) for term in near[:1]):
        yield PodNote(
            "PodAffinityNotTranslated",
            "BigFleet tells pods that belong together by their label selector alone: the "
            "namespaces of the required podAffinity term are not part of it; give such pods a "
            "label of their own",
            "pod_affinity",
        )
    _, left = _apart(affinity, labels, namespace)
    if left:
        yield PodNote(
            "PodAntiAffinityNotTranslated",
            f"BigFleet does not choose machines by the required podAntiAffinity on "
            f"{', '.join(left)}: only one term per label, which selects the pod itself in its own "
            "namespace, becomes a spread; write it as a topologySpreadConstraint with "
            "DoNotSchedule",
            "pod_anti_affinity",
        )
    preferred = _preferred(affinity)
    if preferred:
        yield PodNote(
            "PreferenceNotTranslated",
            f"preferred {' and '.join(preferred)} guides the scheduler, not which machines "
            "BigFleet brings; what must hold has to be required",
            "preferred",
            is_hint=True,
        )


def _near(affinity: Affinity | None) -> tuple[PodAffinityTerm, ...]:
    if affinity is None or affinity.pod_affinity is None:
        return ()
    return affinity.pod_affinity.required


def _apart(
    affinity: Affinity | None, labels: Mapping[str, str], namespace: str
) -> tuple[list[str], list[str]]:
    """Labels that replicas must not share, and labels of terms that say something else."""
    if affinity is None or affinity.pod_anti_affinity is None:
        return [], []
    terms: dict[str, list[PodAffinityTerm]] = {}
    for term in affinity.pod_anti_affinity.required:
        if term.topology_key != HOSTNAME_KEY:
            terms.setdefault(term.topology_key, []).append(term)
    apart = [
        key
        for key, (first, *more) in terms.items()
        if not more
        and _is_of_own_namespace(first, namespace)
        and selects(first.label_selector, labels)
    ]
    return sorted(apart), sorted(terms.keys() - set(apart))


def _is_of_own_namespace(term: PodAffinityTerm, namespace: str) -> bool:
    return term.namespace_selector is None and set(term.namespaces) <= {namespace}


def _preferred(affinity: Affinity | None) -> list[str]:
    if affinity is None:
        return []
    kinds = {
        "nodeAffinity": affinity.node_affinity,
        "podAffinity": affinity.pod_affinity,
        "podAntiAffinity": affinity.pod_anti_affinity,
    }
    return [name for name, each in kinds.items() if each is not None and each.preferred]


def _spread(max_skew: int, topology_key: str, when_unsatisfiable: str) -> Json:
    return {
        "maxSkew": max_skew,
        "topologyKey": topology_key,
        "whenUnsatisfiable": when_unsatisfiable,
    }


def _selector_json(selector: LabelSelector) -> Json:
    body: Json = {}
    if selector.match_labels:
        body["matchLabels"] = selector.match_labels
    if selector.match_expressions:
        expressions = sorted(requirement_of(each) for each in selector.match_expressions)
        body["matchExpressions"] = [requirement_json(each) for each in expressions]
    return body
