"""Whether a Node takes pods, why not, and since when a condition says that it is broken.

A Node is usable when it is Ready, has no taint of its start-up, and shows the devices that its
machine has and that a request names. A cordon is a person's choice and a Node under memory, disk or
PID pressure still runs what it has: neither makes a Node unusable.

A device plugin that never comes must not hold back everything for ever: `join_timeout` after the
Node was made its missing devices no longer count against it.
"""

from collections.abc import Collection, Iterable

from bigfleet.kube.objects import Node
from bigfleet.model.instants import instant_of
from bigfleet.model.machines import Instant
from bigfleet.operator.node_rules import READY, RepairCondition, UsableRules

#: Effects that keep pods away.
_KEEPING_OFF = ("NoSchedule", "NoExecute")
#: Every taint with one of these prefixes comes from Kubernetes or a cloud, and goes when the Node
#: is ready for pods; the two of the cluster autoscaler are how people mark taints of a start-up.
_STARTUP_PREFIXES = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
)
#: Of these prefixes, and not of a start-up.
_LASTING = frozenset(
    {
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure",
    }
)
#: How network, storage and device agents name theirs: `node.cilium.io/agent-not-ready`,
#: `ebs.csi.aws.com/agent-not-ready`, `example.com/uninitialized`.
_STARTUP_ENDINGS = ("/agent-not-ready", "/not-ready", "/uninitialized", "/unregistered")


def why_not_usable(node: Node, devices: Collection[str], at: Instant, rules: UsableRules) -> str:
    """Empty: pods can start on it. `devices`: extended resources it must show."""
    ready = node.condition(READY)
    if ready is None:
        return "its kubelet has not reported yet"
    if ready.status != "True":
        return f"it is not Ready: {ready.message or ready.reason or ready.status}"
    for taint in node.spec.taints:
        if taint.effect in _KEEPING_OFF and is_of_startup(taint.key, rules.startup_taints):
            return f"it has the start-up taint {taint.key}"
    missing = [name for name in sorted(devices) if not _shows(node, name)]
    if missing and _age(node, at) < rules.join_timeout:
        return f"it does not show {', '.join(missing)} yet"
    return ""


def is_of_startup(key: str, further: Collection[str] = ()) -> bool:
    if key in _LASTING:
        return False
    return key in further or key.startswith(_STARTUP_PREFIXES) or key.endswith(_STARTUP_ENDINGS)


def broken(
    node: Node, conditions: Iterable[RepairCondition], at: Instant
) -> tuple[str, Instant] | None:
    """What is wrong and when its time is over; None: nothing. Of several the first to be over."""
    found = []
    for rule in conditions:
        condition = node.condition(rule.type)
        if condition is None or not _is_bad(condition.status, rule.status):
            continue
        since = instant_of(condition.last_transition_time or "")
        since = at if since is None else min(at, since)
        found.append((since + rule.after, f"{rule.type} is {condition.status}"))
    if not found:
        return None
    due, text = min(found)
    return text, due


def _is_bad(status: str, bad: str) -> bool:
    return status == bad if bad else status != "True"


def _shows(node: Node, name: str) -> bool:
    return str(node.status.allocatable.get(name, "0")) not in ("", "0")


def _age(node: Node, at: Instant) -> Instant:
    made = instant_of(node.metadata.creation_timestamp or "")
    return 0 if made is None else at - made
