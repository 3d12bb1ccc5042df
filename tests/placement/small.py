"""Pods and Nodes of a few words, for worked cases."""

from collections.abc import Mapping

from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import HOSTNAME_KEY, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.taints import Taint, Toleration
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.records import (
    NodeView,
    PodGroupTerm,
    PodView,
)

AT: Instant = 1_000_000 * SECOND
PROFILE = Profile.of()
NEED = NeedKey("shop", PROFILE.fingerprint, "")


def amounts(cpu: str, memory: str = "1Gi", **others: str) -> Resources:
    return Resources.parse({"cpu": cpu, "memory": memory, **others})


def pod(
    name: str,
    cpu: str = "1",
    memory: str = "1Gi",
    *,
    node: str = "",
    owner: str = "web",
    need: NeedKey | None = NEED,
    requirements: tuple[Requirement, ...] = (),
    groups: frozenset[str] = frozenset(),
    apart: tuple[PodGroupTerm, ...] = (),
    near: tuple[PodGroupTerm, ...] = (),
    tolerations: tuple[Toleration, ...] = (),
    stuck_since: Instant | None = None,
    judged_at: Instant | None = None,
    follows_node: bool = False,
    do_not_disrupt: str = "",
    priority: int = 0,
) -> PodView:
    return PodView(
        uid=f"uid-{name}",
        key=f"shop/{name}",
        requests=amounts(cpu, memory),
        need=None if follows_node else need,
        owner=owner,
        priority=priority,
        requirements=requirements,
        groups=groups,
        apart=apart,
        near=near,
        tolerations=tolerations,
        node=node,
        unschedulable_since=stuck_since,
        judged_at=judged_at if judged_at is not None else stuck_since,
        verdict="" if stuck_since is None else "0/3 nodes are available: 3 Insufficient cpu",
        do_not_disrupt=do_not_disrupt,
        follows_node=follows_node,
    )


def alone(name: str, cpu: str = "1", *, node: str = "") -> PodView:
    """A replica that shares a Node with no other replica."""
    return pod(
        name,
        cpu,
        node=node,
        groups=frozenset({"replicas"}),
        apart=(PodGroupTerm(HOSTNAME_KEY, "replicas"),),
    )


def node(
    name: str,
    cpu: str = "8",
    memory: str = "32Gi",
    *,
    declared: Resources | None = None,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    pod_limit: int = 110,
    why_not_usable: str = "",
    since: Instant = AT,
    cordoned: bool = False,
    instruction: str = "",
    do_not_disrupt: str = "",
    kind: str = "large",
    machine: str | None = None,
) -> NodeView:
    offered = amounts(cpu, memory)
    return NodeView(
        name=name,
        machine=f"m-{name}" if machine is None else machine,
        declared=declared or offered,
        allocatable=offered,
        kind=kind,
        labels={HOSTNAME_KEY: name, **(labels or {})},
        taints=taints,
        pod_limit=pod_limit,
        why_not_usable=why_not_usable,
        since=since,
        cordoned=cordoned,
        instruction=instruction,
        do_not_disrupt=do_not_disrupt,
    )


def occupancy(*members: PodView | NodeView, at: Instant = AT) -> Occupancy:
    shown = Occupancy()
    for member in members:
        if isinstance(member, PodView):
            shown.put_pod(member, at)
        else:
            shown.put_node(member, at)
    return shown
