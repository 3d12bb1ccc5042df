"""Pods that have waited for too long, and whether a free machine would take them.

A pod that waits while an empty machine would take it is stuck: something in the chain from the
scheduler's word to the machine is broken. A pod that no machine can take only waits.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.placement.overhead import Overheads
from bigfleet.placement.records import OwnerShape, PodView
from bigfleet.sim.cluster import Cluster

#: Machines come within half a minute, those of a second round as well; twice that for a slow day.
LONGEST_WAIT_SECONDS = 120.0
#: Between two looks for a machine that would take a pod.
_LOOK_AGAIN = 10 * SECOND
#: Machines that are looked at in one call, some 30 ms of the event loop; the next one goes on.
MOST_LOOKED_AT = 4_000
_FREE = (MachineState.IDLE, MachineState.SPECULATIVE)


@dataclass(frozen=True, slots=True)
class OverduePod:
    """The oldest of the pods of one controller that wait."""

    #: namespace/name.
    pod: str
    #: How many of its kind have waited too long, itself included.
    pods: int
    seconds: float
    #: The scheduler's words.
    verdict: str
    #: A free machine that would take it; empty: there is none.
    machine: str = ""


class Machines(Protocol):
    """Of a shard's machines, what is asked here."""

    def ids(self) -> Iterable[str]: ...

    def state_of(self, machine_id: str) -> MachineState | None: ...

    def truth(self, machine_id: str) -> Machine: ...


class OverduePods:
    """Of one cluster; remembers for some seconds what it has found."""

    def __init__(self, cluster: Cluster, overheads: Overheads, machines: Machines) -> None:
        """`machines`: of the shard that serves the cluster."""
        self._cluster = cluster
        self._overheads = overheads
        self._machines = machines
        #: When it was looked for a machine for such a pod, and what was found.
        self._found: dict[OwnerShape, tuple[Instant, str]] = {}
        #: Looks that have not ended yet.
        self._looking: dict[OwnerShape, Iterator[str]] = {}

    def at(self, at: Instant) -> tuple[OverduePod, ...]:
        alike = self._overdue(at)
        self._found = {shape: found for shape, found in self._found.items() if shape in alike}
        self._looking = {shape: look for shape, look in self._looking.items() if shape in alike}
        self._look(alike, at)
        return tuple(self._told(shape, pods, at) for shape, pods in alike.items())

    def _overdue(self, at: Instant) -> Mapping[OwnerShape, list[PodView]]:
        """By controller and size, oldest first."""
        alike: dict[OwnerShape, list[PodView]] = defaultdict(list)
        for pod in self._cluster.waiting():
            since = pod.unschedulable_since
            if since is None or at - since <= LONGEST_WAIT_SECONDS * SECOND:
                break
            alike[pod.owner_shape].append(pod)
        return alike

    def _told(self, shape: OwnerShape, pods: list[PodView], at: Instant) -> OverduePod:
        _, machine = self._found.get(shape, (at, ""))
        oldest = pods[0]
        since = oldest.unschedulable_since or at
        return OverduePod(oldest.key, len(pods), (at - since) / SECOND, oldest.verdict, machine)

    def _look(self, alike: Mapping[OwnerShape, list[PodView]], at: Instant) -> None:
        """For machines that would take them: those that waited for it longest come first."""
        last = {shape: self._found[shape][0] if shape in self._found else 0 for shape in alike}
        due = [shape for shape in alike if at - last[shape] >= _LOOK_AGAIN]
        left = MOST_LOOKED_AT
        for shape in sorted(due, key=lambda each: last[each]):
            look = self._looking.setdefault(shape, self._takers(alike[shape]))
            taker = ""
            for taker in islice(look, left):
                left -= 1
                if taker:
                    break
            if left <= 0 and not taker:
                return
            del self._looking[shape]
            self._found[shape] = at, taker

    def _takers(self, pods: list[PodView]) -> Iterator[str]:
        """For each machine: empty, or a free one for the pod; for a gang one of as many as it has
        pods, in one domain."""
        pod = pods[0]
        seats: dict[str | None, list[str]] = defaultdict(list)
        needed = len(pods) if pod.near else 1
        # As they are now: some may have gone when the look goes on.
        for machine_id in tuple(self._machines.ids()):
            taker = ""
            if self._machines.state_of(machine_id) in _FREE:
                machine = self._machines.truth(machine_id)
                if self._takes(machine, pod):
                    domain = machine.attribute(pod.near[0].topology_key) if pod.near else None
                    seats[domain].append(machine_id)
                    taker = seats[domain][0] if len(seats[domain]) >= needed else ""
            yield taker

    def _takes(self, machine: Machine, pod: PodView) -> bool:
        asked = pod.requests.plus(self._overheads.of_kind(machine.instance_type))
        fits = all(
            machine.effective_allocatable[name] >= asked[name]
            for name, amount in pod.requests.amounts
            if amount > 0
        )
        return fits and all(r.met_by(machine.attribute(r.key)) for r in pod.requirements)
