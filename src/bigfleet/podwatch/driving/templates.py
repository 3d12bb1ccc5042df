"""What a CapacityBuffer points at, read from the API server each time it is looked at."""

from collections.abc import Sequence

from bigfleet.kube.answers import NotFound
from bigfleet.kube.buffers import (
    POD_TEMPLATES,
    SCALABLE_KINDS,
    CapacityBuffer,
    PodTemplateSpec,
    ScalableRef,
)
from bigfleet.kube.calls import Calls
from bigfleet.kube.kinds import PRIORITY_CLASSES
from bigfleet.podwatch.buffers import BufferPlan, BufferRefusal, BufferTarget, plan_of, why_refused
from bigfleet.podwatch.taints import FleetTaint


async def planned(
    calls: Calls, buffer: CapacityBuffer, buffer_priority: int, taints: Sequence[FleetTaint] = ()
) -> BufferPlan | BufferRefusal:
    """Raises ApiProblem where the server does not say; what is not there is a refusal."""
    refusal = why_refused(buffer.spec)
    if refusal is not None:
        return refusal
    found = await _found(calls, buffer)
    if isinstance(found, BufferRefusal):
        return found
    return plan_of(buffer.spec, found, buffer_priority, taints)


async def _found(calls: Calls, buffer: CapacityBuffer) -> BufferTarget | BufferRefusal:
    if (scalable := buffer.spec.scalable_ref) is not None:
        return await _scaled(calls, buffer, scalable)
    assert buffer.spec.pod_template_ref is not None
    name, namespace = buffer.spec.pod_template_ref.name, buffer.metadata.namespace
    try:
        there = await calls.get(POD_TEMPLATES, name, namespace)
    except NotFound:
        return BufferRefusal("TemplateNotFound", f"there is no PodTemplate {name} in {namespace}")
    priority = await _priority(calls, there.template)
    if isinstance(priority, BufferRefusal):
        return priority
    return BufferTarget(there.template, priority, None, name, there.metadata.generation or None)


async def _scaled(
    calls: Calls, buffer: CapacityBuffer, ref: ScalableRef
) -> BufferTarget | BufferRefusal:
    namespace = buffer.metadata.namespace
    kind = SCALABLE_KINDS[ref.api_group, ref.kind]
    try:
        there = await calls.get(kind, ref.name, namespace)
    except NotFound:
        return BufferRefusal(
            "ScalableNotFound", f"there is no {ref.kind} {ref.name} in {namespace}"
        )
    template = there.spec.template
    priority = await _priority(calls, template)
    if isinstance(priority, BufferRefusal):
        return priority
    return BufferTarget(template, priority, there.replicas)


async def _priority(calls: Calls, template: PodTemplateSpec) -> int | BufferRefusal | None:
    """A template names a class; only in pods the server has put its number beside it."""
    spec = template.spec
    if spec.priority is not None or not spec.priority_class_name:
        return spec.priority
    try:
        return (await calls.get(PRIORITY_CLASSES, spec.priority_class_name)).value
    except NotFound:
        text = f"its template names PriorityClass {spec.priority_class_name}, which is not there"
        return BufferRefusal("PriorityClassNotFound", text)
