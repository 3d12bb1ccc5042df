"""What a CapacityBuffer's status says: how much of it is acknowledged, or why it asks for nothing.

Written only where it differs; a write that changes nothing would wake every watcher.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bigfleet.kube.buffers import (
    ACTIVE_CAPACITY,
    PROVISIONING,
    READY_FOR_PROVISIONING,
    BufferCondition,
    CapacityBuffer,
)
from bigfleet.podwatch.buffers import BufferPlan, BufferRefusal
from bigfleet.podwatch.records import OwnRequest


@dataclass(frozen=True, slots=True)
class _Said:
    type: str
    holds: bool
    reason: str
    text: str


def covered(plan: BufferPlan | BufferRefusal, have: Sequence[OwnRequest]) -> int:
    """Chunks that are acknowledged as they are asked for now."""
    if isinstance(plan, BufferRefusal):
        return 0
    fine = [each for each in have if each.acknowledged and each.body.spec == plan.spec]
    return min(plan.chunks, len(fine))


def status_patch(
    buffer: CapacityBuffer, plan: BufferPlan | BufferRefusal, covered_chunks: int, at: str
) -> dict[str, object] | None:
    """None: it says so already. Conditions of others stay as they are."""
    status = buffer.status
    made = plan if isinstance(plan, BufferPlan) else None
    wanted: dict[str, object] = {
        "replicas": covered_chunks,
        "provisioningStrategy": buffer.spec.provisioning_strategy or ACTIVE_CAPACITY,
        "podTemplateRef": {"name": made.template_name} if made and made.template_name else None,
        "podTemplateGeneration": made.template_generation if made else None,
    }
    said: dict[str, object] = {
        "replicas": status.replicas,
        "provisioningStrategy": status.provisioning_strategy,
        "podTemplateRef": {"name": ref.name} if (ref := status.pod_template_ref) else None,
        "podTemplateGeneration": status.pod_template_generation,
    }
    ours = _said(plan, covered_chunks)
    conditions = _merged(status.conditions, ours, buffer.metadata.generation, at)
    if wanted == said and conditions == status.conditions:
        return None
    return {"status": wanted | {"conditions": [_condition_json(each) for each in conditions]}}


def _said(plan: BufferPlan | BufferRefusal, covered_chunks: int) -> tuple[_Said, _Said]:
    if isinstance(plan, BufferRefusal):
        return (
            _Said(READY_FOR_PROVISIONING, False, plan.reason, plan.text),
            _Said(PROVISIONING, False, plan.reason, plan.text),
        )
    whole = covered_chunks == plan.chunks
    word = "ChunksAcknowledged" if whole else "WaitingForAcknowledgement"
    text = f"{covered_chunks} of {plan.chunks} chunks are acknowledged as demand"
    ready = f"{plan.chunks} chunks are requested"
    return (
        _Said(READY_FOR_PROVISIONING, True, "ChunksRequested", ready),
        _Said(PROVISIONING, whole, word, text),
    )


def _merged(
    before: tuple[BufferCondition, ...], ours: tuple[_Said, ...], generation: int, at: str
) -> tuple[BufferCondition, ...]:
    old = {condition.type: condition for condition in before}
    new = {said.type: _timed(said, old.get(said.type), generation, at) for said in ours}
    kept = [new.pop(condition.type, condition) for condition in before]
    return (*kept, *new.values())


def _timed(
    said: _Said, before: BufferCondition | None, generation: int, at: str
) -> BufferCondition:
    """A condition's time is when its status changed, not when its words did."""
    status = "True" if said.holds else "False"
    since = before.last_transition_time if before and before.status == status else None
    return BufferCondition(
        type=said.type,
        status=status,
        reason=said.reason,
        message=said.text,
        last_transition_time=since or at,
        observed_generation=generation or None,
    )


def _condition_json(condition: BufferCondition) -> dict[str, object]:
    body: dict[str, object] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time,
    }
    if condition.observed_generation is not None:
        body["observedGeneration"] = condition.observed_generation
    return body
