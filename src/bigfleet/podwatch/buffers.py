"""CapacityBuffers as demand: how many chunks of what, or why none.

Chunks = max(replicas, percentage of the scalable's replicas, rounded up), cut by the limits; with
neither, as many as fit into the limits. A buffer is ordinary demand of low priority: nothing here
knows whether a machine serves it, only whether its requests were acknowledged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bigfleet.kube.buffers import (
    ACTIVE_CAPACITY,
    SCALABLE_KINDS,
    CapacityBufferSpec,
    PodTemplateSpec,
)
from bigfleet.kube.pod_requests import Amounts, amounts_of, effective_requests
from bigfleet.model.quantities import BadQuantity
from bigfleet.podwatch.notes import PodNote
from bigfleet.podwatch.penalties import Penalties, annotated
from bigfleet.podwatch.pod_reconciler import (
    Delete,
    Instruction,
    Owner,
    Patch,
    chunk_of_buffer,
    spec_patch,
)
from bigfleet.podwatch.records import OwnRequest, with_penalties
from bigfleet.podwatch.requests import RequestTemplate, asking_of
from bigfleet.podwatch.taints import FleetTaint

#: Limits of a terabyte and a template of one byte would be a flood; no buffer needs more chunks.
MOST_CHUNKS = 10_000
_NO_PENALTY = Penalties("0", "0")


@dataclass(frozen=True, slots=True)
class BufferTarget:
    """What a buffer points at."""

    template: PodTemplateSpec
    #: Of the template, or of its PriorityClass; None: neither says.
    priority: int | None = None
    #: Of the scalable; None: it is a PodTemplate.
    replicas: int | None = None
    #: Of the PodTemplate.
    name: str | None = None
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class BufferPlan:
    chunks: int
    spec: bytes
    #: What is to be told about it besides.
    notes: tuple[PodNote, ...] = ()
    template_name: str | None = None
    template_generation: int | None = None


@dataclass(frozen=True, slots=True)
class BufferRefusal:
    """Why a buffer asks for nothing: a word for the condition, and what to do."""

    reason: str
    text: str


def why_refused(spec: CapacityBufferSpec) -> BufferRefusal | None:
    """What is wrong with it before anything it points at was read."""
    strategy = spec.provisioning_strategy or ACTIVE_CAPACITY
    if strategy != ACTIVE_CAPACITY:
        text = f"strategy {strategy!r} is not supported; leave it out or write {ACTIVE_CAPACITY}"
        return BufferRefusal("UnsupportedStrategy", text)
    if (spec.pod_template_ref is None) == (spec.scalable_ref is None):
        return BufferRefusal("NoTemplate", "name either podTemplateRef or scalableRef, one of them")
    if (ref := spec.scalable_ref) is not None and (ref.api_group, ref.kind) not in SCALABLE_KINDS:
        known = ", ".join(f"{group}/{kind}" for group, kind in SCALABLE_KINDS)
        said = f"{ref.api_group or 'core'}/{ref.kind}"
        return BufferRefusal(
            "UnsupportedScalable", f"{said} has no template we read; known: {known}"
        )
    return None


def plan_of(
    spec: CapacityBufferSpec,
    found: BufferTarget,
    buffer_priority: int,
    taints: Sequence[FleetTaint] = (),
) -> BufferPlan | BufferRefusal:
    template = found.template
    penalties, notes = annotated(template.metadata.annotations)
    priority = buffer_priority if found.priority is None else found.priority
    try:
        asking = asking_of(
            RequestTemplate(template.spec, priority, template.metadata.labels), taints
        )
        chunks = chunks_of(spec, effective_requests(template.spec), found.replicas)
    except BadQuantity as problem:
        return BufferRefusal("InvalidQuantity", str(problem))
    if isinstance(chunks, BufferRefusal):
        return chunks
    if asking.impossible is not None:
        return BufferRefusal(asking.impossible.reason, asking.impossible.text)
    told = tuple(note for note in asking.notes if not note.is_hint)
    if len(asking.alternatives) > 1:
        told = (*told, _first_term_note(len(asking.alternatives)))
    if chunks > MOST_CHUNKS:
        text = f"it would be {chunks} chunks; {MOST_CHUNKS} are the most: larger ones do the same"
        return BufferRefusal("TooManyChunks", text)
    return BufferPlan(
        chunks,
        with_penalties(asking.alternatives[0], penalties.otherwise(_NO_PENALTY)),
        notes + told,
        found.name,
        found.generation,
    )


def chunks_of(
    spec: CapacityBufferSpec, requests: Mapping[str, int], scalable_replicas: int | None
) -> int | BufferRefusal:
    """Raises BadQuantity for a malformed limit."""
    wanted = [spec.replicas] if spec.replicas is not None else []
    if spec.percentage is not None and scalable_replicas is not None:
        wanted.append(-(-spec.percentage * scalable_replicas // 100))
    fitting = _fitting(amounts_of(spec.limits or {}), requests)
    if wanted:
        most = max(0, *wanted)
        return most if fitting is None else min(most, fitting)
    if fitting is None:
        text = "it says neither replicas nor percentage, and its limits end at no number of chunks"
        return BufferRefusal("NoSize", f"{text}; say how many")
    return fitting


def instructions_for(
    namespace: str, owner: Owner, plan: BufferPlan | None, have: Sequence[OwnRequest]
) -> tuple[Instruction, ...]:
    """`plan` None: it asks for nothing. Of too many chunks those with the highest numbers go."""
    there = {request.key: request for request in have if not request.deleting}
    chunks = plan.chunks if plan is not None else 0
    spec = plan.spec if plan is not None else b""
    wanted = [chunk_of_buffer(namespace, owner, number, spec) for number in range(chunks)]
    names = {create.key for create in wanted}
    leaving = {request.key for request in have if request.deleting}
    steps: list[Instruction] = [Delete(each) for key, each in there.items() if key not in names]
    for create in wanted:
        request = there.get(create.key)
        if request is None:
            if create.key not in leaving:
                steps.append(create)
        elif request.body.spec != create.spec:
            steps.append(Patch(request, spec_patch(request.body.spec, create.spec)))
    return tuple(steps)


def _first_term_note(count: int) -> PodNote:
    """A chunk never waits for a node, so nothing says when to try the next."""
    text = (
        f"BigFleet asks for machines of the first of {count} required node affinity terms only; "
        "put what must be bought first, or write one term"
    )
    return PodNote("OnlyFirstAffinityTermUsed", text)


def _fitting(limits: Amounts, requests: Mapping[str, int]) -> int | None:
    """None: no limit is ever reached."""
    fits = [limit // asked for name, limit in limits.items() if (asked := requests.get(name, 0))]
    return min(fits) if fits else None
