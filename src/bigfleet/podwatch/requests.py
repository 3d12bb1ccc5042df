"""A pod, or a template of pods, as the spec of a CapacityRequest, with what had to be left out.

The spec is plain JSON with everything in a fixed order, so that equal demands are equal bytes
however their pods were written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from bigfleet.kube.objects import (
    Affinity,
    LabelSelector,
    NodeSelectorTerm,
    PodSpec,
    SelectorTerm,
    TopologySpreadConstraint,
)
from bigfleet.podwatch.amounts import texts_of
from bigfleet.podwatch.notes import Note
from bigfleet.podwatch.requesting import effective_requests

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_COMPARISONS = ("Gt", "Lt")

Requirement = tuple[str, str, tuple[str, ...]]
Json = dict[str, object]

_ANY_TYPE: Requirement = (INSTANCE_TYPE, "Exists", ())

_ENCODER = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True)
class Asking:
    """The spec but for the penalties, which have sources of their own."""

    spec: bytes
    notes: tuple[Note, ...] = ()


def canonical(spec: object) -> bytes:
    """Equal for equal JSON, whatever the order of its keys."""
    return _ENCODER.encode(spec)


def asking_of(spec: PodSpec, *, pinned: bool, priority: int) -> Asking:
    """`pinned`: it belongs to one node already, so any machine will do. Raises BadQuantity."""
    terms = () if pinned else _terms(spec.affinity)
    requirements = [_ANY_TYPE] if pinned else requirements_of(spec.node_selector, terms)
    body: Json = {
        "requirements": [_requirement_json(each) for each in requirements],
        "resources": texts_of(effective_requests(spec)),
        "priority": priority,
    }
    if spec.topology_spread_constraints:
        body["topologySpread"] = [_spread_json(c) for c in spec.topology_spread_constraints]
    if (together := co_location_of(spec.affinity)) is not None:
        body["coLocation"] = together
    return Asking(canonical(body), tuple(_notes(requirements, terms)))


def requirements_of(
    node_selector: Mapping[str, str], terms: tuple[NodeSelectorTerm, ...]
) -> list[Requirement]:
    """Sorted, each once; anything with an instance type where nothing is required."""
    found: set[Requirement] = {(key, "In", (value,)) for key, value in node_selector.items()}
    if terms:
        found |= {_requirement(each) for each in terms[0].match_expressions}
    return sorted(found) or [_ANY_TYPE]


def is_pinned(affinity: Affinity | None) -> bool:
    """Whether every alternative names its node: no new machine would ever serve it."""
    terms = _terms(affinity)
    return bool(terms) and all(
        any(field.key == "metadata.name" and field.operator == "In" for field in term.match_fields)
        for term in terms
    )


def co_location_of(affinity: Affinity | None) -> Json | None:
    """The first required term; those that are only preferred do not bind a scheduler."""
    if affinity is None or affinity.pod_affinity is None or not affinity.pod_affinity.required:
        return None
    term = affinity.pod_affinity.required[0]
    together: Json = {"topologyKey": term.topology_key}
    if term.label_selector is not None:
        together["labelSelector"] = _selector_json(term.label_selector)
    return together


def _terms(affinity: Affinity | None) -> tuple[NodeSelectorTerm, ...]:
    """The alternatives that can match; an empty one matches no node."""
    if affinity is None or affinity.node_affinity is None:
        return ()
    required = affinity.node_affinity.required
    terms = required.node_selector_terms if required is not None else ()
    return tuple(term for term in terms if term.match_expressions or term.match_fields)


def _notes(
    requirements: Iterable[Requirement], terms: tuple[NodeSelectorTerm, ...]
) -> Iterable[Note]:
    if len(terms) > 1:
        yield Note(
            "OnlyFirstAffinityTermUsed",
            f"BigFleet asks for machines of the first of {len(terms)} required node affinity "
            "terms only; put what must be bought first, or write one term",
        )
    compared = [
        f"{key} {operator}" for key, operator, _ in requirements if operator in _COMPARISONS
    ]
    if compared:
        yield Note(
            "UnsupportedOperator",
            f"BigFleet cannot ask for machines by comparison ({', '.join(compared)}): no capacity "
            "is requested for this pod; use In with the values that will do",
        )


def _requirement(term: SelectorTerm) -> Requirement:
    return term.key, term.operator, tuple(sorted(set(term.values)))


def _requirement_json(requirement: Requirement) -> Json:
    key, operator, values = requirement
    body: Json = {"key": key, "operator": operator}
    return body | {"values": list(values)} if values else body


def _spread_json(constraint: TopologySpreadConstraint) -> Json:
    return {
        "maxSkew": constraint.max_skew,
        "topologyKey": constraint.topology_key,
        "whenUnsatisfiable": constraint.when_unsatisfiable,
    }


def _selector_json(selector: LabelSelector) -> Json:
    body: Json = {}
    if selector.match_labels:
        body["matchLabels"] = selector.match_labels
    if selector.match_expressions:
        expressions = sorted(_requirement(each) for each in selector.match_expressions)
        body["matchExpressions"] = [_requirement_json(each) for each in expressions]
    return body
