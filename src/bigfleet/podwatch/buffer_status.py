"""What a CapacityBuffer's status says: how much of it is acknowledged, or why it asks for nothing.

Written only where it differs; a write that changes nothing would wake every watcher.
"""

from collections.abc import Sequence

from bigfleet.kube.buffers import (
    ACTIVE_CAPACITY,
    PROVISIONING,
    READY_FOR_PROVISIONING,
    CapacityBuffer,
)
from bigfleet.podwatch.buffers import BufferPlan, BufferRefusal
from bigfleet.podwatch.conditions import SaidCondition, condition_json, merged
from bigfleet.podwatch.records import OwnRequest


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
    conditions = merged(status.conditions, ours, buffer.metadata.generation, at)
    if wanted == said and conditions == status.conditions:
        return None
    return {"status": wanted | {"conditions": [condition_json(each) for each in conditions]}}


def _said(
    plan: BufferPlan | BufferRefusal, covered_chunks: int
) -> tuple[SaidCondition, SaidCondition]:
    if isinstance(plan, BufferRefusal):
        return (
            SaidCondition(READY_FOR_PROVISIONING, False, plan.reason, plan.text),
            SaidCondition(PROVISIONING, False, plan.reason, plan.text),
        )
    whole = covered_chunks == plan.chunks
    word = "ChunksAcknowledged" if whole else "WaitingForAcknowledgement"
    text = f"{covered_chunks} of {plan.chunks} chunks are acknowledged as demand"
    ready = f"{plan.chunks} chunks are requested"
    return (
        SaidCondition(READY_FOR_PROVISIONING, True, "ChunksRequested", ready),
        SaidCondition(PROVISIONING, whole, word, text),
    )
