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

Quantities of pods, added up exactly and rounded once, as the Kubernetes scheduler does it.

Three containers of 0.4m CPU are 2m together, not 3m: each amount is kept in billionths, the finest
a Kubernetes quantity has, and only the sum is rounded up to what is counted (ADR-0002).
"""

import re
from collections.abc import Iterable, Mapping

from bigfleet.kube.objects import Container, ContainerStatus, PodSpec, PodStatus, Quantity
from bigfleet.model.quantities import BadQuantity, quantity_text
from bigfleet.model.resources import Resources
from bigfleet.model.syntax import cached_by_text, shown

#: Billionths of a unit, by resource name.
Amounts = dict[str, int]

NANO = 10**9
_MILLI = 10**6
_PATTERN = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE])i|([numkMGTPE])|[eE]([+-]?[0-9]{1,3}))?"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}


@cached_by_text(65_536)
def nanos_of(said: Quantity) -> int:
    """Raises BadQuantity for text outside the grammar, and for what is below zero."""
    text = str(said)
    match = _PATTERN.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise BadQuantity(
            f"{shown(text)} is not a Kubernetes quantity; write it like 2, 500m or 16Gi"
        )
    whole, part = match[2] or "", match[3] or ""
    exponent = 9 - len(part)
    factor = 1
    if match[4]:
        factor = 1 << _BINARY[match[4]]
    elif match[5]:
        exponent += _DECIMAL[match[5]]
    elif match[6]:
        exponent += int(match[6])
    amount = int(whole + part) * factor
    if match[1] == "-" and amount:
        raise BadQuantity(f"{shown(text)} is negative; a quantity is zero or more")
    if exponent >= 0:
        return int(amount * 10**exponent)
    return int(-(-amount // 10**-exponent))


def amounts_of(said: Mapping[str, Quantity]) -> Amounts:
    try:
        return {name: nanos_of(quantity) for name, quantity in said.items()}
    except BadQuantity:
        for name, quantity in said.items():
            _named(name, quantity)
        raise


def added(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    total: Amounts = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount
    return total


def largest(first: Mapping[str, int], second: Mapping[str, int]) -> Amounts:
    """The larger of both, dimension by dimension."""
    result = dict(first)
    for name, amount in second.items():
        result[name] = max(amount, result.get(name, 0))
    return result


def texts_of(amounts: Mapping[str, int]) -> dict[str, str]:
    """What is counted, in the canonical form, by name in order; finer amounts round up."""
    return {name: _text(name, amounts[name]) for name in sorted(amounts)}


def resources_of(amounts: Mapping[str, int]) -> Resources:
    """What is counted, as a vector; finer amounts round up."""
    return Resources.of({name: _counted(name, amount) for name, amount in amounts.items()})


def _text(name: str, amount: int) -> str:
    return quantity_text(name, _counted(name, amount))


def _counted(name: str, amount: int) -> int:
    return -(-amount // (_MILLI if name == "cpu" else NANO))


def _named(name: str, quantity: Quantity) -> None:
    try:
        nanos_of(quantity)
    except BadQuantity as problem:
        raise BadQuantity(f"{name}: {problem}") from None


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
