"""What a pod takes of a node: its effective requests, counted as the Kubernetes scheduler does.

Init containers run one after the other, before the containers and without them; those that
restart always (sidecars) stay from their turn on. So a pod needs the most of: everything that
stays, and each init container together with the sidecars before it. Requests of the pod as a whole
stand in for what its containers ask for, overhead comes on top.

Where a request is not there and a limit is, the limit counts: an API server writes it so into every
pod, but not into templates.

A resize counts with the most of what is asked for, what the kubelet has admitted and what runs: a
pod that shrinks keeps its room until the kubelet has taken it. One that can never fit on its Node
(infeasible) counts with what it has.

A container that asks for no cpu or no memory counts with the scheduler's own defaults for it, so
that pods without requests get machines too. The scheduler fills Nodes as if they took nothing: what
is asked for here is never less than what it counts.
"""

from collections.abc import Mapping

from bigfleet.kube.amounts import Amounts, added, amounts_of, largest
from bigfleet.kube.objects import Container, ContainerStatus, PodSpec, PodStatus, Quantity

#: Only these can be asked for by a pod as a whole, and huge pages.
_OF_WHOLE_PODS = frozenset({"cpu", "memory"})
_HUGE_PAGES = "hugepages-"
#: DefaultMilliCPURequest and DefaultMemoryRequest of the scheduler, per container.
DEFAULT_REQUESTS = amounts_of({"cpu": "100m", "memory": "200Mi"})
#: For pods that take no more of a Node than they ask for.
NO_DEFAULTS: Amounts = {}
_INFEASIBLE = "Infeasible"


def effective_requests(
    spec: PodSpec, status: PodStatus | None = None, defaults: Amounts = DEFAULT_REQUESTS
) -> Amounts:
    """`status` None: of a template. `defaults` for a container that asks for nothing of a name.

    Raises BadQuantity.
    """
    running = _Running(status or PodStatus())
    asked = _of_containers(spec, running, defaults)
    if spec.resources is not None:
        said = _of_containers(spec, running, NO_DEFAULTS)
        limits = _for_whole_pods(spec.resources.limits)
        asked |= {name: amount for name, amount in limits.items() if name not in said}
        asked |= _for_whole_pods(spec.resources.requests)
    return added((asked, amounts_of(spec.overhead)))


class _Running:
    """What the kubelet says about containers."""

    def __init__(self, status: PodStatus) -> None:
        both = (*status.container_statuses, *status.init_container_statuses)
        self._of: dict[str, ContainerStatus] = {each.name: each for each in both}
        self._is_infeasible = status.resize == _INFEASIBLE or any(
            each.type == "PodResizePending" and each.reason == _INFEASIBLE
            for each in status.conditions
        )

    def counted(self, container: Container) -> Amounts:
        asked = amounts_of(container.resources.limits | container.resources.requests)
        status = self._of.get(container.name)
        if status is None or status.resources is None:
            return asked
        has = largest(amounts_of(status.resources.requests), amounts_of(status.allocated_resources))
        return has if self._is_infeasible else largest(asked, has)


def _of_containers(spec: PodSpec, running: _Running, defaults: Amounts) -> Amounts:
    staying = added(defaults | running.counted(c) for c in spec.containers)
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        own = defaults | running.counted(container)
        stage = added((sidecars, own))
        if _is_sidecar(container):
            sidecars = stage
            staying = added((staying, own))
        peak = largest(peak, stage)
    return largest(staying, peak)


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _for_whole_pods(said: Mapping[str, Quantity]) -> Amounts:
    amounts = amounts_of(said)
    return {
        name: amount
        for name, amount in amounts.items()
        if name in _OF_WHOLE_PODS or name.startswith(_HUGE_PAGES)
    }
