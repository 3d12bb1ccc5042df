"""What is there for whom: free machines per demanded profile, for the hints clusters get.

Read from a finished decision; decides nothing. Machines are counted once per kind, and kinds are
matched once per (profile, unit), however many clusters ask for it.

| column | dtype | meaning |
|---|---|---|
| cluster, profile | int32 | who asks for what, as numbered by the demand |
| identity | int64 | (cluster, fingerprint) as one number |
| idle, speculative | int64 | machines that match, hold one unit and are not held back |
| healthy | int64 | of the speculative ones, those whose provider answers |
| idle_price | float64 | cheapest idle one, infinite: none |
| speculative_cost | float64 | cheapest effective cost of a speculative one, infinite: none |

Index space: one row per (cluster, profile) some Need asks for. Where such a pair has Needs of
several units, a machine counts if it holds each of them.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.kernels.availability import free_for_keys
from bigfleet.engine.kernels.compiled import Bools, Floats, Int8s, Int32s, Int64s
from bigfleet.engine.kernels.hashing import number_by_value
from bigfleet.engine.outcome import Outcome
from bigfleet.engine.scene import Scene
from bigfleet.model.machines import MachineState
from bigfleet.model.profiles import Profile
from bigfleet.model.session_frames import Confidence


@dataclass(frozen=True, slots=True)
class Availability:
    scene: Scene
    cluster: Int32s
    profile: Int32s
    identity: Int64s
    #: Rows by ascending identity.
    order: Int64s
    idle: Int64s
    speculative: Int64s
    healthy: Int64s
    idle_price: Floats
    speculative_cost: Floats

    def __len__(self) -> int:
        return len(self.cluster)

    @property
    def count(self) -> Int64s:
        return self.idle + self.speculative

    @property
    def confidence(self) -> Int8s:
        levels = [Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW]
        found = [self.idle > 0, self.healthy > 0, self.speculative > 0]
        return np.select(found, levels, Confidence.NONE).astype(np.int8)

    @property
    def cost(self) -> Floats:
        """What the next machine would cost: an idle one if there is one; 0: there is none."""
        return np.select(
            [self.idle > 0, self.speculative > 0], [self.idle_price, self.speculative_cost], 0.0
        )

    def cluster_name(self, row: int) -> str:
        return self.scene.cluster_names[int(self.cluster[row])]

    def profile_of(self, row: int) -> Profile:
        return self.scene.demand.tables.profiles.rows[int(self.profile[row])]

    def asked_by(self, clusters: Collection[str]) -> Bools:
        """Which rows belong to one of these clusters."""
        find = self.scene.demand.tables.clusters.find
        chosen = np.zeros(len(self.scene.cluster_names) + 1, np.bool_)
        chosen[[find(name) for name in clusters]] = True
        chosen[-1] = False
        return chosen[self.cluster]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The pairs asked for, each with a key (profile, unit) that many pairs may share."""

    cluster: Int32s
    profile: Int32s
    key: Int64s
    profile_of_key: Int32s
    unit_of_key: Int64s


def availability_of(outcome: Outcome, unhealthy: Collection[str] = ()) -> Availability:
    """`unhealthy`: sources of machines (see Inventory.adopt) whose provider does not answer."""
    scene, profiles = outcome.scene, outcome.scene.demand.profiles
    asked = _asked(scene)
    kinds, free = _free(scene, unhealthy)
    counts = np.zeros((len(asked.profile_of_key), 3), np.int64)
    lowest = np.full((len(asked.profile_of_key), 2), np.inf)
    free_for_keys(
        asked.profile_of_key,
        asked.unit_of_key,
        profiles.penalty[asked.profile_of_key],
        scene.matches,
        scene.kind_units,
        scene.kinds.price,
        scene.kinds.probability,
        kinds,
        free,
        counts,
        lowest,
    )
    idle, speculative, healthy = counts[asked.key].T
    idle_price, speculative_cost = lowest[asked.key].T
    identity = scene.identity(asked.cluster, profiles.fingerprint[asked.profile])
    return Availability(
        scene=scene,
        cluster=asked.cluster,
        profile=asked.profile,
        identity=identity,
        order=np.argsort(identity, kind="stable"),
        idle=idle,
        speculative=speculative,
        healthy=healthy,
        idle_price=idle_price,
        speculative_cost=speculative_cost,
    )


def _asked(scene: Scene) -> _Asked:
    columns, units = scene.demand.columns, scene.vector_units
    profiles = len(scene.used_profiles)
    pair, first = number_by_value(columns.cluster.astype(np.int64) * profiles + columns.profile)
    cluster, profile = columns.cluster[first], columns.profile[first]
    # A key of its own for every pair with several units, one per (profile, unit) for all others.
    unit = columns.unit[first].astype(np.int64)
    differs = np.zeros(len(first), np.bool_)
    differs[pair[columns.unit != unit[pair]]] = True
    name = profile.astype(np.int64) * len(units) + unit
    name[differs] = -1 - np.flatnonzero(differs)
    key, shown = number_by_value(name)
    unit_of_key = units[unit[shown]]
    rows = np.flatnonzero(differs[pair])
    np.maximum.at(unit_of_key, key[pair[rows]], units[columns.unit[rows]])
    return _Asked(cluster, profile, key.astype(np.int64), profile[shown], unit_of_key)


def _free(scene: Scene, unhealthy: Collection[str]) -> tuple[Int64s, Int64s]:
    """Kinds that have free machines, and of each: idle, speculative, healthy speculative ones."""
    snapshot = scene.snapshot
    columns, kind = snapshot.columns, scene.supply.kind
    free = columns.held == 0
    standing = free & (columns.state == MachineState.IDLE)
    slots = free & (columns.state == MachineState.SPECULATIVE)
    idle = np.bincount(kind[standing], minlength=len(scene.kinds))
    speculative = healthy = np.bincount(kind[slots], minlength=len(scene.kinds))
    if unhealthy:
        find = snapshot.tables.sources.find
        silent = np.array([n for name in unhealthy if (n := find(name)) >= 0], np.int32)
        answering = slots & ~np.isin(columns.source, silent)
        healthy = np.bincount(kind[answering], minlength=len(scene.kinds))
    kinds = np.flatnonzero(idle + speculative)
    return kinds, np.stack([idle[kinds], speculative[kinds], healthy[kinds]], axis=1)
