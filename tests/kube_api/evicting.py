"""Whether a pod may be evicted: disruption budgets, and the words a real server refuses with."""

from collections.abc import Iterable
from math import ceil
from typing import Any

from tests.kube_api.refusals import Refusal

Object = dict[str, Any]


def refusal_of_eviction(pod: Object, pods: Iterable[Object], budgets: Iterable[Object]) -> None:
    """Raises a Refusal where a budget, or two of them, stand against it."""
    meta, status = pod["metadata"], pod.get("status", {})
    if "deletionTimestamp" in meta or status.get("phase") in ("Pending", "Succeeded", "Failed"):
        return
    against = [b for b in budgets if _covers(b, pod)]
    if len(against) > 1:
        text = "This pod has more than one PodDisruptionBudget,"
        raise Refusal(
            500, "InternalError", f"{text} which the eviction subresource does not support."
        )
    for budget in against:
        needed, healthy = _standing(budget, [p for p in pods if _covers(budget, p)])
        if healthy <= needed:
            name = budget["metadata"]["name"]
            text = f"The disruption budget {name} needs {needed} healthy pods"
            raise Refusal(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
                causes=(
                    {
                        "reason": "DisruptionBudget",
                        "message": f"{text} and has {healthy} currently",
                    },
                ),
            )


def _covers(budget: Object, pod: Object) -> bool:
    if budget["metadata"].get("namespace") != pod["metadata"].get("namespace"):
        return False
    labels = pod["metadata"].get("labels") or {}
    wanted = budget.get("spec", {}).get("selector", {}).get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items())


def _standing(budget: Object, pods: list[Object]) -> tuple[int, int]:
    """How many must be healthy, and how many are. A written status has the last word."""
    alive = [p for p in pods if p.get("status", {}).get("phase") not in ("Succeeded", "Failed")]
    healthy = sum(
        1
        for p in alive
        if "deletionTimestamp" not in p["metadata"]
        and p.get("status", {}).get("phase", "Running") == "Running"
    )
    allowed = budget.get("status", {}).get("disruptionsAllowed")
    if allowed is not None:
        return healthy - int(allowed), healthy
    spec = budget.get("spec", {})
    if "minAvailable" in spec:
        return _share(spec["minAvailable"], len(alive)), healthy
    return len(alive) - _share(spec.get("maxUnavailable", 0), len(alive)), healthy


def _share(amount: int | str, of: int) -> int:
    if isinstance(amount, str):
        return ceil(float(amount.rstrip("%")) / 100 * of)
    return amount
