"""What a pod takes of a node: its effective requests, counted as the Kubernetes scheduler does.

Init containers run one after the other, before the containers and without them; those that
restart always (sidecars) stay from their turn on. So a pod needs the most of: everything that
stays, and each init container together with the sidecars before it. Requests of the pod as a whole
stand in for what its containers ask for, overhead comes on top.

Where a request is not there and a limit is, the limit counts: an API server writes it so into every
pod, but not into templates.

The spec is what counts, not what the kubelet has allotted so far: a resize asks for its machine
when it is asked for.
"""

from collections.abc import Mapping

from bigfleet.kube.objects import Container, PodSpec, Quantity
from bigfleet.podwatch.amounts import Amounts, added, amounts_of, largest

#: Only these can be asked for by a pod as a whole, and huge pages.
_OF_WHOLE_PODS = frozenset({"cpu", "memory"})
_HUGE_PAGES = "hugepages-"


def effective_requests(spec: PodSpec) -> Amounts:
    """Raises BadQuantity."""
    asked = _of_containers(spec)
    if spec.resources is not None:
        asked = _for_whole_pods(spec.resources.limits) | asked
        asked |= _for_whole_pods(spec.resources.requests)
    return added((asked, amounts_of(spec.overhead)))


def _of_containers(spec: PodSpec) -> Amounts:
    running = added(_asked_by(c) for c in spec.containers)
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        own = _asked_by(container)
        stage = added((sidecars, own))
        if _is_sidecar(container):
            sidecars = stage
            running = added((running, own))
        peak = largest(peak, stage)
    return largest(running, peak)


def _asked_by(container: Container) -> Amounts:
    return amounts_of(container.resources.limits | container.resources.requests)


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _for_whole_pods(said: Mapping[str, Quantity]) -> Amounts:
    amounts = amounts_of(said)
    return {
        name: amount
        for name, amount in amounts.items()
        if name in _OF_WHOLE_PODS or name.startswith(_HUGE_PAGES)
    }
