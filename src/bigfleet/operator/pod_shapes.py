"""What a pod asks of a Node, as far as our own checks look at it. Pods of one template share one.

Requests are counted as the scheduler counts them, with its own defaults for containers that name no
cpu or memory. Of affinities only those among replicas are read: terms whose selector picks the pod
itself. What else a scheduler looks at, it says when it refuses a pod.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from bigfleet.kube.objects import (
    Container,
    Pod,
    PodAffinity,
    PodSpec,
    Quantity,
)
from bigfleet.model.quantities import BadQuantity, quantity_of
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.operator.selecting import selects
from bigfleet.operator.translating import canonical_selector
from bigfleet.placement.records import Term, Toleration, host_port

#: What the scheduler counts for a container that names neither, per container.
_DEFAULTS = {"cpu": quantity_of("cpu", "100m"), "memory": quantity_of("memory", "200Mi")}
_SHARED = 65_536

Amounts = dict[str, int]


@dataclass(frozen=True, slots=True)
class PodShape:
    requests: Resources = Resources()
    #: From its node selector.
    requirements: tuple[Requirement, ...] = ()
    #: See `bigfleet.placement.records`.
    groups: frozenset[str] = frozenset()
    apart: tuple[Term, ...] = ()
    near: tuple[Term, ...] = ()
    priority: int = 0
    tolerations: tuple[Toleration, ...] = ()


NO_SHAPE = PodShape()


def shape_of(pod: Pod) -> PodShape:
    groups: set[str] = set()
    apart: list[Term] = []
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
            requests_of(pod.spec),
            _selected(pod.spec.node_selector),
            frozenset(groups),
            (*apart, *anti),
            near,
            pod.spec.priority or 0,
            tuple(Toleration(t.key, t.operator, t.value, t.effect) for t in pod.spec.tolerations),
        )
    )


@lru_cache(_SHARED)
def _shared(shape: PodShape) -> PodShape:
    return shape


def _selected(selector: Mapping[str, str]) -> tuple[Requirement, ...]:
    return tuple(Requirement.of(k, Operator.IN, [v]) for k, v in sorted(selector.items()))


# -- requests ------------------------------------------------------------------------------------


def requests_of(spec: PodSpec) -> Resources:
    """Init containers run one after the other beside the sidecars that started before them."""
    staying = _added(_asked_by(each) for each in spec.containers)
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        own = _asked_by(container)
        stage = _added((sidecars, own))
        if container.restart_policy == "Always":
            sidecars, staying = stage, _added((staying, own))
        peak = _largest(peak, stage)
    asked = _largest(staying, peak)
    if spec.resources is not None:
        asked |= _amounts(spec.resources.requests)
    return Resources.of(_added((asked, _amounts(spec.overhead))))


def _asked_by(container: Container) -> Amounts:
    resources = container.resources
    return _DEFAULTS | _amounts(resources.limits) | _amounts(resources.requests)


def _amounts(said: Mapping[str, Quantity]) -> Amounts:
    """A quantity that cannot be read counts as none: the server would not have taken it."""
    found: Amounts = {}
    for name, quantity in said.items():
        try:
            found[name] = quantity_of(name, str(quantity))
        except BadQuantity:
            found[name] = 0
    return found


def _added(amounts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount
    return total


def _largest(first: Amounts, second: Amounts) -> Amounts:
    return {n: max(first.get(n, 0), second.get(n, 0)) for n in first | second}


# -- affinities ----------------------------------------------------------------------------------


def _among_replicas(pod: Pod, affinity: PodAffinity | None) -> tuple[Term, ...]:
    found = []
    for term in affinity.required if affinity is not None else ():
        meta, selector = pod.metadata, term.label_selector
        elsewhere = term.namespace_selector is not None or any(
            name != meta.namespace for name in term.namespaces
        )
        if not elsewhere and selects(selector, meta.labels):
            group = f"{meta.namespace}/{canonical_selector(selector)}"
            found.append(Term(term.topology_key, group))
    return tuple(found)
