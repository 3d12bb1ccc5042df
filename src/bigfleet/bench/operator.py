"""What a cluster's roll-up costs on this machine, beside its budget.

The shape is 25,000 CapacityRequests in one cluster, every ninth of a gang: 697 Needs. They come as
the pages of an API server, go into a cache record by record, and from there into a roll-up: cold,
with everything new, and then with a few requests changed. Times are medians of several rounds.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter, thread_time

import msgspec

from bigfleet.bench.measures import Measure
from bigfleet.bench.timing import unit_ms
from bigfleet.edge.process_usage import resident_bytes
from bigfleet.kube.objects import CapacityRequest, Condition, Meta, Node, NodeStatus, ObjectKey
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.operator.cluster_view import ClusterView
from bigfleet.operator.held_requests import HeldRequest, HeldRequests
from bigfleet.operator.machine_nodes import MachineNodes
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.pods_on_nodes import PodOnNode
from bigfleet.operator.revised_demand import OverheadUnits, RevisedDemand
from bigfleet.operator.rollup import DemandBook
from bigfleet.placement.admission import Admissions
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.overhead import Overheads

#: The size the budgets are stated for.
BUDGETED = 25_000
#: Requests that change between two reports when two in a hundred do in a minute.
CHURN = BUDGETED // 50 // 6
HOMOGENEOUS = (10, 100, 1_000, 10_000)
PAGE = 500
ROUNDS = 5
#: About 30 pods each.
NODES = 800
WAITING = 50
STATED_FOR = (
    f"Budgets are stated for {BUDGETED:,} requests on two idle cores with a machine-speed unit of "
    "about 65 ms; the memory is of this process, which holds the requests, their pods and "
    f"{NODES} Nodes."
)


def co_located_spec(number: int) -> dict[str, object]:
    """Of the CapacityRequest with this number: the shape BuildRollup_CoLocated25K."""
    if number % 9 == 0:
        gang = {"matchLabels": {"app": f"cache-{number // 36}"}}
        together = {"topologyKey": "topology.bigfleet/rack", "labelSelector": gang}
        spec = _spec(["r6i.2xlarge"], {"cpu": "4", "memory": "32Gi"}, 1000)
        return {"coLocation": together, **spec}
    if number % 9 == 1:
        return _spec(["m6i.xlarge"], {"cpu": "2200m", "memory": "8500Mi"}, 1000)
    return _spec(["m6i.large", "m6i.xlarge"], {"cpu": "400m", "memory": "500Mi"}, 100)


def _spec(types: list[str], resources: dict[str, str], priority: int) -> dict[str, object]:
    return {
        "interruptionPenalty": "1024",
        "priority": priority,
        "reclamationPenalty": "8192",
        "requirements": [
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}
        ],
        "resources": resources,
    }


def pages(count: int, spec_of: Callable[[int], dict[str, object]]) -> Iterator[bytes]:
    """Lists of CapacityRequests as an API server writes them, one for each pod."""
    for start in range(0, count, PAGE):
        items = [_object(n, spec_of(n)) for n in range(start, min(count, start + PAGE))]
        yield msgspec.json.encode({"items": items})


def _object(number: int, spec: dict[str, object]) -> dict[str, object]:
    uid = f"00000000-0000-4000-8000-{number:012d}"
    pod = f"service-{number // 40}-7d9f8c6b5-{number:05d}"
    return {
        "apiVersion": "bigfleet.lucy.sh/v1alpha1",
        "kind": "CapacityRequest",
        "metadata": {
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generateName": f"cr-pod-{pod}-",
            "generation": 1,
            "labels": {"bigfleet.lucy.sh/owned-by-pod": uid},
            "name": f"cr-pod-{pod}-x{number:05d}",
            "namespace": f"team-{number % 50}",
            "ownerReferences": [
                {"apiVersion": "v1", "controller": True, "kind": "Pod", "name": pod, "uid": uid}
            ],
            "resourceVersion": str(100_000 + number),
            "uid": uid,
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def cached(lists: Iterable[bytes]) -> dict[ObjectKey, HeldRequest]:
    """What a cache keeps of those pages."""

    class Page(msgspec.Struct):
        items: list[CapacityRequest]

    decoder, hold = msgspec.json.Decoder(Page), HeldRequests().narrow
    return {item.metadata.key: hold(item) for page in lists for item in decoder.decode(page).items}


def measured(requests: int) -> list[Measure]:
    load = os.getloadavg()[0]
    held = cached(pages(requests, co_located_spec))
    cold = _cold(held)
    book = cold.book
    found = [
        Measure("load of the machine before", load, ""),
        Measure("Needs in the roll-up", len(book.rows()), ""),
        Measure("roll-up from nothing", 1e3 * cold.seconds, "ms", at_most=200),
        Measure("the same, CPU", 1e3 * cold.cpu_seconds, "ms"),
        Measure("1 request changed", 1e3 * _changed(held, book, 1), "ms", at_most=5),
        Measure(
            f"{CHURN} requests changed",
            1e3 * _changed(held, book, CHURN),
            "ms",
            at_most=5,
        ),
        Measure("nothing changed", 1e3 * _changed(held, book, 0), "ms"),
    ]
    revised = _revised(held)
    found += [
        Measure("with pods and Nodes, from nothing", 1e3 * revised.cold, "ms", at_most=200),
        Measure(f"{CHURN} requests changed, pods wait", 1e3 * revised.changed, "ms", at_most=5),
        Measure("resident memory", resident_bytes() / 1e6, "MB", at_most=500),
    ]
    found.append(Measure("pages read and kept", 1e3 * _reading(requests), "ms"))
    for count in HOMOGENEOUS:
        alike = _cold(cached(pages(count, lambda _: co_located_spec(2))))
        found.append(Measure(f"roll-up from nothing, {count:,} alike", 1e3 * alike.seconds, "ms"))
    return [*found, Measure("machine-speed unit", unit_ms(), "ms")]


def _reading(requests: int) -> float:
    lists = list(pages(requests, co_located_spec))
    times = []
    for _ in range(ROUNDS):
        began = perf_counter()
        cached(lists)
        times.append(perf_counter() - began)
    return median(times)


@dataclass(frozen=True, slots=True)
class _Cold:
    seconds: float
    #: Of this thread alone: what others do on the machine is not in it.
    cpu_seconds: float
    book: DemandBook


def _cold(held: dict[ObjectKey, HeldRequest]) -> _Cold:
    times, spent, book = [], [], DemandBook("shop")
    for _ in range(ROUNDS):
        book = DemandBook("shop")
        began, had = perf_counter(), thread_time()
        for key, request in held.items():
            book.put(key, request.uid, request.spec, request.phase)
        book.rollup(1)
        times.append(perf_counter() - began)
        spent.append(thread_time() - had)
    return _Cold(median(times), median(spent), book)


def _changed(held: dict[ObjectKey, HeldRequest], book: DemandBook, count: int) -> float:
    """Each changed request goes, and comes back: two changes of demand, one roll-up each."""
    step = max(1, len(held) // max(1, count))
    changing = [(key, held[key]) for key in list(held)[::step][:count]]
    times = []
    for _ in range(ROUNDS):
        began = perf_counter()
        for key, _request in changing:
            book.remove(key)
        book.rollup(2)
        times.append(perf_counter() - began)
        began = perf_counter()
        for key, request in changing:
            book.put(key, request.uid, request.spec, request.phase)
        book.rollup(3)
        times.append(perf_counter() - began)
    return median(times)


@dataclass(frozen=True, slots=True)
class _Revised:
    cold: float
    changed: float
    #: Kept, so that it counts in the memory.
    demand: RevisedDemand


def _revised(held: dict[ObjectKey, HeldRequest]) -> _Revised:
    """The roll-up of an operator that follows pods and Nodes, and some pods that find no place."""
    overheads, occupancy, nodes = Overheads(), Occupancy(), NodeMap()
    units = OverheadUnits(overheads)
    book = DemandBook("shop", units=units)
    machines, admissions = MachineNodes(nodes, book.devices), Admissions(occupancy)
    view = ClusterView(book, machines, occupancy, admissions)
    demand = RevisedDemand(book, units, overheads, occupancy, admissions, lambda _at: True)
    declared = Resources.parse({"cpu": "96", "memory": "384Gi"})
    ready = NodeStatus(
        conditions=(Condition(type="Ready", status="True"),),
        allocatable={"cpu": "95", "memory": "380Gi", "pods": "110"},
    )
    for number in range(NODES):
        name = f"n-{number}"
        update = NodeStateUpdate(
            f"m-{number}", "shop", MachineState.CONFIGURED, name, resources=declared
        )
        nodes.put(Node(metadata=Meta(name=name, uid=name), status=ready))
        nodes.on_node_state(update)
        machines.on_node_state(update, 1)
        view.on_machine(update.machine_id, 1)
    began = perf_counter()
    for key, request in held.items():
        book.put(key, request.uid, request.spec, request.phase)
    demand.rollup(1)
    cold = perf_counter() - began
    for number, (key, request) in enumerate(held.items()):
        view.on_request(key, request.pod_uid, True, 1)
        waits = number < WAITING
        pod = PodOnNode(
            key,
            request.pod_uid,
            "" if waits else f"n-{number % NODES}",
            owner_uid=f"owner-{number // 40}",
            unschedulable_since=1 if waits else None,
        )
        view.on_pod(None, pod, 1)
    at, times = SECOND, []
    changing = [(key, held[key]) for key in list(held)[:: max(1, len(held) // CHURN)][:CHURN]]
    for _ in range(ROUNDS):
        for comes in (False, True):
            at += SECOND
            began = perf_counter()
            for key, request in changing:
                if comes:
                    book.put(key, request.uid, request.spec, request.phase)
                else:
                    book.remove(key)
            demand.rollup(at)
            times.append(perf_counter() - began)
    return _Revised(cold, median(times), demand)
