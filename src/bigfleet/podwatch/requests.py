"""A pod, or a template of pods, as the spec of a CapacityRequest, with what had to be left out.

Required node affinity terms are alternatives, and a request can ask for one of them: there is one
spec for each. Specs are plain JSON with everything in a fixed order, so that equal demands are
equal bytes however their pods were written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from bigfleet.kube.objects import Affinity, NodeSelectorTerm, PodSpec, PodStatus
from bigfleet.kube.pod_requests import effective_requests, texts_of
from bigfleet.podwatch.notes import PodNote
from bigfleet.podwatch.pod_affinity import affinity_notes, co_location_of, spreads_of
from bigfleet.podwatch.requirements import (
    ANY_TYPE,
    Requirement,
    contradiction_in,
    excluding,
    requirement_json,
    requirement_of,
)
from bigfleet.podwatch.taints import FleetTaint, not_tolerated

_COMPARISONS = ("Gt", "Lt")
_NODE_NAME = "metadata.name"

Json = dict[str, object]

_ENCODER = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True)
class RequestBodies:
    """Specs but for the penalties, which have sources of their own."""

    alternatives: tuple[bytes, ...]
    notes: tuple[PodNote, ...] = ()
    #: What it requests is not a quantity: there is nothing to ask for.
    is_unreadable: bool = False
    #: Why no machine of the fleet would take it; told for itself, and not one of the notes.
    impossible: PodNote | None = None


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """What a pod is made of, or would be."""

    spec: PodSpec
    priority: int
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    status: PodStatus | None = None
    #: It belongs to one node already, so any machine will do.
    is_pinned: bool = False


def canonical(spec: object) -> bytes:
    """Equal for equal JSON in any order of keys."""
    return _ENCODER.encode(spec)


def asking_of(template: RequestTemplate, taints: Sequence[FleetTaint] = ()) -> RequestBodies:
    """Raises BadQuantity."""
    spec, notes = template.spec, list[PodNote]()
    alternatives: list[tuple[Requirement, ...]] = [(ANY_TYPE,)]
    impossible = None
    if not template.is_pinned:
        alternatives, impossible = _untainted(_alternatives(spec, notes), spec, taints)
    body: Json = {
        "resources": texts_of(effective_requests(spec, template.status)),
        "priority": template.priority,
    }
    labels, namespace = template.labels, template.namespace
    if spreads := spreads_of(spec.topology_spread_constraints, spec.affinity, labels, namespace):
        body["topologySpread"] = spreads
    if (together := co_location_of(spec.affinity)) is not None:
        body["coLocation"] = together
    notes += affinity_notes(spec.affinity, labels, namespace)
    notes += _other_notes(spec)
    specs = tuple(_with(body, each) for each in alternatives)
    return RequestBodies(specs, tuple(notes), impossible=impossible)


def is_pinned(affinity: Affinity | None) -> bool:
    """Whether every alternative names its node: no new machine would ever serve it."""
    terms = _terms(affinity)
    return bool(terms) and all(_names_a_node(term) for term in terms)


def requirements_in(spec: bytes) -> tuple[Requirement, ...]:
    """Of a spec that was written here."""
    body = msgspec.json.decode(spec, type=_Requirements)
    return tuple((each.key, each.operator, each.values) for each in body.requirements)


def resources_in(spec: bytes) -> dict[str, str]:
    """Of a spec that was written here."""
    return msgspec.json.decode(spec, type=_Resources).resources


def with_requirements(spec: bytes, requirements: Sequence[Requirement]) -> bytes:
    body = msgspec.json.decode(spec, type=dict[str, object])
    return _with(body, requirements)


class _Written(msgspec.Struct):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class _Resources(msgspec.Struct):
    resources: dict[str, str] = {}


class _Requirements(msgspec.Struct):
    requirements: tuple[_Written, ...] = ()


def _with(body: Json, requirements: Sequence[Requirement]) -> bytes:
    return canonical(body | {"requirements": [requirement_json(each) for each in requirements]})


def _alternatives(spec: PodSpec, notes: list[PodNote]) -> list[tuple[Requirement, ...]]:
    """Each sorted; those that can be asked for, as long as there are any."""
    terms = _terms(spec.affinity)
    # A Node that is named is there already; the other terms are what machines can serve.
    unnamed = [term for term in terms if not _names_a_node(term)]
    found = [requirements_of(spec.node_selector, term) for term in unnamed] or [
        requirements_of(spec.node_selector, None)
    ]
    found = list(dict.fromkeys(found))
    compared = sorted({key for each in found for key in _compared(each)})
    if compared:
        said = [each for each in found if not _compared(each)]
        notes.append(_comparison_note(compared, bool(said)))
        found = said or found[:1]
    if len(found) == 1:
        return found
    possible = [each for each in found if contradiction_in(each) is None] or found[:1]
    if len(possible) > 1:
        notes.append(_alternatives_note(len(possible)))
    return possible


def requirements_of(
    node_selector: Mapping[str, str], term: NodeSelectorTerm | None
) -> tuple[Requirement, ...]:
    """Sorted, each once; anything with an instance type where nothing is required."""
    found: set[Requirement] = {(key, "In", (value,)) for key, value in node_selector.items()}
    if term is not None:
        found |= {requirement_of(each) for each in term.match_expressions}
    return tuple(sorted(found)) or (ANY_TYPE,)


def _untainted(
    alternatives: list[tuple[Requirement, ...]],
    spec: PodSpec,
    taints: Sequence[FleetTaint],
) -> tuple[list[tuple[Requirement, ...]], PodNote | None]:
    """Without machines whose taint the pod does not tolerate; if none are left, as they were."""
    against = not_tolerated(taints, spec.tolerations)
    if not against:
        return alternatives, None
    elsewhere = [taint.elsewhere for taint in against]
    left = [excluding(each, elsewhere) for each in alternatives]
    found = [each for each in left if each is not None]
    if found:
        return found, None
    text = (
        f"all machines that it requires have a taint it does not tolerate "
        f"({', '.join(map(str, against))}): no capacity is requested for this pod; add the "
        "toleration, or change what it requires"
    )
    return alternatives, PodNote("TaintNotTolerated", text, "taint")


def _terms(affinity: Affinity | None) -> tuple[NodeSelectorTerm, ...]:
    """The alternatives that can match; an empty one matches no node."""
    if affinity is None or affinity.node_affinity is None:
        return ()
    required = affinity.node_affinity.required
    terms = required.node_selector_terms if required is not None else ()
    return tuple(term for term in terms if term.match_expressions or term.match_fields)


def _names_a_node(term: NodeSelectorTerm) -> bool:
    return any(each.key == _NODE_NAME and each.operator == "In" for each in term.match_fields)


def _compared(requirements: Iterable[Requirement]) -> list[str]:
    return [f"{key} {operator}" for key, operator, _ in requirements if operator in _COMPARISONS]


def _comparison_note(compared: Sequence[str], has_others: bool) -> PodNote:
    then = (
        "its other node affinity terms are asked for"
        if has_others
        else "no capacity is requested for this pod"
    )
    text = (
        f"BigFleet cannot ask for machines by comparison ({', '.join(compared)}): {then}; use In "
        "with the values that will do"
    )
    return PodNote("UnsupportedOperator", text, "comparison")


def _alternatives_note(count: int) -> PodNote:
    text = (
        f"BigFleet asks for machines of one of {count} required node affinity terms at a time: the "
        "first with supply, then, after each 60 s without a node, the next; the annotation "
        "bigfleet.lucy.sh/affinity-term of the CapacityRequest says which"
    )
    return PodNote("AffinityTermsInTurn", text, is_hint=True)


def _other_notes(spec: PodSpec) -> Iterator[PodNote]:
    if spec.resource_claims:
        yield PodNote(
            "ResourceClaimsNotTranslated",
            "BigFleet does not read dynamic resource claims: machines are brought for its other "
            "requests; require a label of the machines that have the device",
            "resource_claims",
        )
