"""The scene of one cycle: machines and demand brought onto common numbers.

Nothing is decided here. Clusters, dimensions, attribute keys and kinds get the numbers under which
kernels compare them; what many Needs share is looked up once.
"""

from dataclasses import dataclass

import numpy as np

from bigfleet.engine.demand import Demand
from bigfleet.engine.identities import CLUSTER_STEP
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.kernels.records import SupplyArrays
from bigfleet.engine.kinds import Kinds
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.machines import MachineState
from bigfleet.model.requirements import Requirement


@dataclass(frozen=True, slots=True)
class Scene:
    snapshot: Snapshot
    demand: Demand
    dimensions: tuple[str, ...]
    #: Inventory's number of each cluster of the demand; -2: it has no machines.
    inventory_cluster: Int32s
    #: Demand's number of each cluster of the inventory; -1: it asks for nothing.
    demand_cluster: Int32s
    #: Profiles some Need uses, or would use once folded.
    used_profiles: Bools
    kinds: Kinds
    kind_units: Int64s
    topology_keys: tuple[str, ...]
    #: Per profile, the topology key of its Same and of its strict spread; -1: none.
    same_of_profile: Int32s
    spread_of_profile: Int32s
    #: Profile x kind; rows of unused profiles are False.
    matches: Bools
    vector_units: Int64s
    supply: SupplyArrays

    @property
    def cluster_names(self) -> list[str]:
        return self.demand.tables.clusters.rows

    def identity(self, clusters: Int32s, pairs: Int64s) -> Int64s:
        """(cluster, fingerprint, group) as one number; see identities."""
        return pairs + (clusters.astype(np.int64) + 1) * np.int64(CLUSTER_STEP)


def scene_of(snapshot: Snapshot, demand: Demand) -> Scene:
    profiles, columns = demand.tables.profiles, demand.columns
    used = np.bincount(columns.profile, minlength=len(demand.profiles.priority)) > 0
    used[demand.profiles.stripped[np.flatnonzero(used)]] = True
    requirements: set[Requirement] = set()
    topology: list[str] = []
    same = np.full(len(used), -1, np.int32)
    spread = np.full(len(used), -1, np.int32)
    for p in np.flatnonzero(used):
        profile = profiles.rows[p]
        requirements.update(profile.requirements)
        for column, key in (
            (same, profile.same.key if profile.same else None),
            (spread, profile.strict_spread.topology_key if profile.strict_spread else None),
        ):
            if key is not None:
                if key not in topology:
                    topology.append(key)
                column[p] = topology.index(key)
    kinds, kind_of_machine = snapshot.tables.attributes.kinds(
        snapshot.offerings, snapshot.columns, requirements, topology
    )
    matches = np.zeros((len(used), len(kinds)), np.bool_)
    for p in np.flatnonzero(used):
        matches[p] = kinds.matches(profiles.rows[p].requirements)
    dimensions = tuple(sorted(snapshot.tables.shapes.names | demand.tables.vectors.names))
    inventory_cluster, demand_cluster = _cluster_numbers(snapshot, demand)
    return Scene(
        snapshot=snapshot,
        demand=demand,
        dimensions=dimensions,
        inventory_cluster=inventory_cluster,
        demand_cluster=demand_cluster,
        used_profiles=used,
        kinds=kinds,
        kind_units=kinds.units(snapshot.tables.shapes, dimensions),
        topology_keys=tuple(topology),
        same_of_profile=same,
        spread_of_profile=spread,
        matches=matches,
        vector_units=demand.tables.vectors.units(dimensions),
        supply=_supply_of(snapshot, kinds, kind_of_machine),
    )


def _cluster_numbers(snapshot: Snapshot, demand: Demand) -> tuple[Int32s, Int32s]:
    names = snapshot.tables.clusters.rows[: snapshot.cluster_count]
    wanted = demand.tables.clusters
    find = snapshot.tables.clusters.find
    to_inventory = np.array([find(name) for name in wanted.rows], np.int32)
    to_inventory[(to_inventory < 0) | (to_inventory >= snapshot.cluster_count)] = -2
    to_demand = np.array([wanted.find(name) for name in names] + [-1], np.int32)
    return to_inventory, to_demand


def _supply_of(snapshot: Snapshot, kinds: Kinds, kind: Int32s) -> SupplyArrays:
    columns, stamps = snapshot.columns, snapshot.stamps
    creating = np.flatnonzero(columns.state == int(MachineState.CREATING))
    pair = stamps.pair[columns.stamp[creating]]
    order = np.argsort(pair, kind="stable")
    placed = snapshot.keep_order
    return SupplyArrays(
        order=placed,
        starts=snapshot.keep_starts,
        kind_of_place=np.where(columns.overdue[placed], np.int32(len(kinds)), kind[placed]),
        kind=kind,
        overdue=columns.overdue,
        stamp=columns.stamp,
        pair_of_stamp=stamps.pair,
        cluster_of_stamp=stamps.cluster,
        creating=creating[order].astype(np.int32),
        creating_pair=pair[order],
    )
