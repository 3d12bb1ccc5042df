"""What a pod asks of a Node, as far as our own checks look at it. Pods of one template share one.

Of affinities only those among replicas are read: terms whose selector picks the pod itself. What
else a scheduler looks at, it says when it refuses a pod.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from bigfleet.kube.objects import Pod, PodAffinity, selects
from bigfleet.kube.pod_requests import (
    DEFAULT_REQUESTS,
    NO_DEFAULTS,
    effective_requests,
    resources_of,
)
from bigfleet.model.quantities import BadQuantity
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.taints import Toleration
from bigfleet.operator.translator import canonical_selector
from bigfleet.placement.records import PodGroupTerm, host_port

_SHARED = 65_536


@dataclass(frozen=True, slots=True)
class PodShape:
    requests: Resources = Resources()
    #: From its node selector.
    requirements: tuple[Requirement, ...] = ()
    #: See `bigfleet.placement.records`.
    groups: frozenset[str] = frozenset()
    apart: tuple[PodGroupTerm, ...] = ()
    near: tuple[PodGroupTerm, ...] = ()
    priority: int = 0
    tolerations: tuple[Toleration, ...] = ()


NO_SHAPE = PodShape()


def shape_of(pod: Pod) -> PodShape:
    groups: set[str] = set()
    apart: list[PodGroupTerm] = []
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        for port in container.ports:
            if port.host_port:
                used, met = host_port(port.host_port, port.protocol, port.host_ip)
                groups |= used
                apart += met
    affinity = pod.spec.affinity
    anti = _among_replicas(pod, affinity.pod_anti_affinity if affinity else None)
    near = _among_replicas(pod, affinity.pod_affinity if affinity else None)
    groups |= {term.group for term in (*anti, *near)}
    return _shared(
        PodShape(
            _requests_of(pod),
            _selected(pod.spec.node_selector),
            frozenset(groups),
            (*apart, *anti),
            near,
            pod.spec.priority or 0,
            pod.spec.tolerations,
        )
    )


@lru_cache(_SHARED)
def _shared(shape: PodShape) -> PodShape:
    return shape


def _selected(selector: Mapping[str, str]) -> tuple[Requirement, ...]:
    return tuple(Requirement.of(k, Operator.IN, [v]) for k, v in sorted(selector.items()))


def _requests_of(pod: Pod) -> Resources:
    """As the scheduler counts them, resizes included.

    A container that asks for no cpu or memory counts with the scheduler's defaults, as its request
    does. One that comes with its Node takes what it asks for: defaults there would make machines
    seem too small for pods that fit.
    """
    follows_node = pod.is_of_daemon_set or pod.is_mirror
    defaults = NO_DEFAULTS if follows_node else DEFAULT_REQUESTS
    try:
        return resources_of(effective_requests(pod.spec, pod.status, defaults))
    except BadQuantity:
        # No server takes such a pod.
        return Resources()


# -- affinities ----------------------------------------------------------------------------------


def _among_replicas(pod: Pod, affinity: PodAffinity | None) -> tuple[PodGroupTerm, ...]:
    found = []
    for term in affinity.required if affinity is not None else ():
        meta, selector = pod.metadata, term.label_selector
        elsewhere = term.namespace_selector is not None or any(
            name != meta.namespace for name in term.namespaces
        )
        if not elsewhere and selects(selector, meta.labels):
            group = f"{meta.namespace}/{canonical_selector(selector)}"
            found.append(PodGroupTerm(term.topology_key, group))
    return tuple(found)
