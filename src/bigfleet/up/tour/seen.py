"""What the tour sees of the fleet at one moment: the shard's machines and Needs, the clusters."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bigfleet.engine.kernels.compiled import Bools
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.actions import ActionKind
from bigfleet.model.batches import Offering
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.requirements import RACK_KEY
from bigfleet.model.shard_views import NeedCounts, OfferingView, Quarantine


@dataclass(frozen=True, slots=True)
class Decided:
    """An action that was started, with the machine as it was then."""

    cycle: int
    kind: ActionKind
    machine: str
    cluster: str
    capacity_type: CapacityType
    dollars_per_hour: float
    #: Of the work it was taken from, where it was preempted: what that declared for it.
    declared_dollars: float = 0.0
    need: NeedKey | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    connected: bool
    #: Whether the shard has been told of all it asks for.
    told: bool
    pods: int
    running: int
    #: Machines of the Nodes that are there, and of those that are being given back.
    nodes: frozenset[str] = frozenset()
    leaving: frozenset[str] = frozenset()
    needs: NeedCounts = NeedCounts()
    #: Machines on which the pods of each gang run.
    gangs: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class FleetSeen:
    #: Simulated.
    at: Instant
    epoch: int
    cycle: int
    #: Whether the shard runs, and has its machines.
    is_up: bool
    snapshot: Snapshot
    dollars_per_hour: float
    clusters: Mapping[str, ClusterSeen]
    #: Since the beat began, oldest first.
    decided: Sequence[Decided] = ()
    quarantines: tuple[Quarantine, ...] = ()
    offerings: tuple[OfferingView, ...] = ()
    #: Machines that are kept for whom they were preempted.
    reservations: int = 0
    #: Machines that a Need claims, of the last cycle.
    in_use: frozenset[str] = frozenset()
    #: What was asked since the beat began, by the name of the question.
    answers: Mapping[str, object] = field(default_factory=dict)

    # -- machines --------------------------------------------------------------------------------

    def count(self, state: MachineState, cluster: str | None = None) -> int:
        return self.snapshot.count(state, cluster)

    def ids(
        self,
        state: MachineState | None = None,
        cluster: str | None = None,
        capacity: CapacityType | None = None,
        most_dollars: float | None = None,
        label: tuple[str, str] | None = None,
    ) -> frozenset[str]:
        """Machines of which all of this holds."""
        snapshot = self.snapshot
        columns = snapshot.columns
        chosen: Bools = np.ones(len(snapshot), np.bool_)
        if state is not None:
            chosen &= columns.state == state
        if cluster is not None:
            chosen &= columns.cluster == snapshot.tables.clusters.find(cluster)
        if capacity is not None:
            chosen &= self._by_offering(o.capacity_type == capacity for o in self._offered)
        if most_dollars is not None:
            chosen &= self._by_offering(o.price_per_hour <= most_dollars for o in self._offered)
        if label is not None:
            chosen &= self._by_offering(label in o.labels for o in self._offered)
        return frozenset(snapshot.ids[row] for row in np.flatnonzero(chosen).tolist())

    @property
    def bound(self) -> frozenset[str]:
        """Machines that are some cluster's."""
        rows = np.flatnonzero(self.snapshot.columns.cluster >= 0).tolist()
        return frozenset(self.snapshot.ids[row] for row in rows)

    def racks_of(self, machines: Iterable[str]) -> set[str]:
        found = set()
        for machine in machines:
            row = self.snapshot.row_of(machine)
            if row >= 0:
                offering = self._offered[int(self.snapshot.columns.offering[row])]
                found.add(dict(offering.labels).get(RACK_KEY, ""))
        return found

    def cheapest_slot(self, capacity: CapacityType) -> tuple[Offering, int] | None:
        """Of those that can be bought now: what is offered, and how many of it there are."""
        columns = self.snapshot.columns
        free = columns.state == MachineState.SPECULATIVE
        counts = np.bincount(columns.offering[free], minlength=len(self._offered)).tolist()
        pools: dict[tuple[str, str], list[tuple[Offering, int]]] = {}
        for offering, slots in zip(self._offered, counts, strict=False):
            if slots and offering.capacity_type == capacity:
                pool = (offering.instance_type, offering.zone)
                pools.setdefault(pool, []).append((offering, slots))
        if not pools:
            return None
        racks = min(pools.values(), key=lambda found: found[0][0].price_per_hour)
        return racks[0][0], sum(slots for _, slots in racks)

    @property
    def _offered(self) -> Sequence[Offering]:
        return self.snapshot.tables.offerings.table.rows

    def _by_offering(self, holds: Iterable[bool]) -> Bools:
        found: Bools = np.fromiter(holds, np.bool_)[self.snapshot.columns.offering]
        return found

    # -- demand ----------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        return sum(each.pods - each.running for each in self.clusters.values())

    @property
    def is_served(self) -> bool:
        """Every pod of every cluster runs, and every Need is met."""
        return self.is_up and all(map(self.serves, self.clusters))

    def serves(self, cluster: str) -> bool:
        seen = self.clusters[cluster]
        runs = seen.connected and seen.told and seen.pods == seen.running
        return runs and seen.needs.met == seen.needs.total

    def started(self, kind: ActionKind, cluster: str | None = None) -> list[Decided]:
        return [
            each
            for each in self.decided
            if each.kind is kind and (cluster is None or each.cluster == cluster)
        ]

    def why_not_served(self) -> str:
        """What people may see of it."""
        if not self.is_up:
            return "the shard is not there"
        said = [
            f"{name}: {each.running:,} of {each.pods:,} pods run, "
            f"{each.needs.met} of {each.needs.total} needs met"
            for name, each in self.clusters.items()
            if not self.serves(name)
        ]
        return "; ".join(said) or "all demand is met"
