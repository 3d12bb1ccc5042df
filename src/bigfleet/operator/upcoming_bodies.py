"""What an UpcomingNode says of a machine, and the patch from what it says now.

A patch holds only what differs; None in it removes a field. Quantities are strings.
"""

from collections.abc import Mapping

from bigfleet.edge.clock import SECOND
from bigfleet.kube.names import MACHINE_ID
from bigfleet.kube.objects import UpcomingNode
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.operator.writes import map_patch


def machine_of(node: UpcomingNode) -> str:
    """Which machine an object stands for; empty where nothing says so."""
    return node.metadata.annotations.get(MACHINE_ID, "")


def _taints_of(update: NodeStateUpdate) -> list[dict[str, str]]:
    return [
        {"key": each.key, "effect": each.effect} | ({"value": each.value} if each.value else {})
        for each in update.taints
    ]


def spec_of(update: NodeStateUpdate) -> dict[str, object]:
    spec: dict[str, object] = {"resources": update.resources.texts()}
    if update.labels:
        spec["labels"] = dict(update.labels)
    if update.taints:
        spec["taints"] = _taints_of(update)
    return spec


def spec_patch(have: UpcomingNode, update: NodeStateUpdate) -> dict[str, object]:
    """Empty: nothing to change."""
    patch: dict[str, object] = {}
    spec: dict[str, object] = {}
    if labels := map_patch(have.spec.labels, update.labels):
        spec["labels"] = labels
    resources = {name: str(amount) for name, amount in have.spec.resources.items()}
    if changed := map_patch(resources, update.resources.texts()):
        spec["resources"] = changed
    taints = [(each.key, each.effect, each.value) for each in have.spec.taints]
    if taints != [(each.key, each.effect, each.value) for each in update.taints]:
        spec["taints"] = _taints_of(update) or None
    if spec:
        patch["spec"] = spec
    if machine_of(have) != update.machine_id:
        patch["metadata"] = {"annotations": {MACHINE_ID: update.machine_id}}
    return patch


def status_of(
    phase: str,
    reference: dict[str, object] | None,
    update: NodeStateUpdate,
    started: str,
    error: str,
) -> dict[str, object]:
    return {
        "phase": phase,
        "nodeRef": reference,
        "providerID": update.provider_id or None,
        "provisioningStartTime": started,
        "lastError": error or None,
    }


def reference_of(have: UpcomingNode) -> dict[str, object] | None:
    ref = have.status.node_ref
    if ref is None:
        return None
    return {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name, "uid": ref.uid}


def status_patch(have: UpcomingNode, want: Mapping[str, object]) -> dict[str, object]:
    """Empty: nothing to change. Phase and start come together, as long as neither was written."""
    status = have.status
    now = _now(have)
    if status.provisioning_start_time is None:
        now["phase"] = None
    return {key: value for key, value in want.items() if now[key] != value}


def _now(have: UpcomingNode) -> dict[str, object]:
    status = have.status
    return {
        "phase": status.phase,
        "nodeRef": reference_of(have),
        "providerID": status.provider_id or None,
        "provisioningStartTime": status.provisioning_start_time,
        "lastError": status.last_error or None,
    }


def whole_seconds(at: Instant) -> str:
    return instant_text(at - at % SECOND)
