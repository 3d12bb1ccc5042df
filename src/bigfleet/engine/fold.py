"""Normalising demand: gangs that fit on one machine become plain demand (rulings U17, U20).

The claim ledger gives out whole machines; a gang that is a fraction of one would take one each. Any
machine with room for the whole gang keeps it together, so the Same requirement says nothing there.
Recomputed each cycle; when the machines that fit are gone, the gangs are gangs again.
"""

from dataclasses import dataclass

import numpy as np

from bigfleet.engine.identities import pair_of
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.kernels.fold import fold_in_order, hosts_of_classes
from bigfleet.engine.kernels.hashing import number_by_value
from bigfleet.engine.kernels.vectors import LARGEST
from bigfleet.engine.scene import Scene
from bigfleet.model.needs import Need


@dataclass(frozen=True, slots=True)
class Normalised:
    """The demand the phases see: rows passed through in order, then folded groups.

    Index space: normalised NeedRow. Members of row n are `members[starts[n]:starts[n + 1]]`.
    """

    cluster: Int32s
    profile: Int32s
    wanted: Int64s
    unit: Int32s
    arrival: Int64s
    pair: Int64s
    identity: Int64s
    parked: Bools
    members: Int64s
    starts: Int64s
    #: Rows from here on are folded groups.
    first_folded: int

    def __len__(self) -> int:
        return len(self.cluster)


@dataclass(frozen=True, slots=True)
class InFlight:
    """Preemption reservations as the fold sees them: who holds one, and whose victims drain."""

    holder_identity: Int64s
    draining_identity: Int64s
    draining_kind: Int32s


def normalise(scene: Scene, pool_machines: Int64s, in_flight: InFlight, fold: bool) -> Normalised:
    columns = scene.demand.columns
    gangs = np.flatnonzero(scene.demand.profiles.is_gang[columns.profile])
    if not fold or not len(gangs):
        return _passed_through(scene, np.arange(len(columns)))
    folds, group, groups = _folding_gangs(scene, gangs, pool_machines, in_flight)
    folded = gangs[folds]
    if not len(folded):
        return _passed_through(scene, np.arange(len(columns)))
    passed = np.ones(len(columns), np.bool_)
    passed[folded] = False
    return _joined(
        _passed_through(scene, np.flatnonzero(passed)),
        _folded_groups(scene, folded, group[folds], groups),
    )


def _folding_gangs(
    scene: Scene, gangs: Int64s, pool_machines: Int64s, in_flight: InFlight
) -> tuple[Bools, Int32s, int]:
    """Which gangs fold, and the group (cluster, stripped profile, aggregate) of each."""
    columns = scene.demand.columns
    cluster, profile = columns.cluster[gangs], columns.profile[gangs]
    aggregate, unit = columns.aggregate[gangs], columns.unit[gangs]
    stripped = scene.demand.profiles.stripped[profile]
    vectors, profiles = len(scene.vector_units), len(scene.used_profiles)
    wide = cluster.astype(np.int64)
    group, group_first = number_by_value((wide * profiles + stripped) * vectors + aggregate)
    shape, shapes = number_by_value(
        (profile.astype(np.int64) * vectors + aggregate) * vectors + unit
    )
    class_of, first = number_by_value(wide * len(shapes) + shape)
    wanted = scene.vector_units[aggregate]
    stays = _staying_gangs(scene, gangs, wanted, in_flight)
    stripped_pair = scene.demand.profiles.fingerprint[stripped[first]]
    fits, small = hosts_of_classes(
        np.argsort(shape[first], kind="stable"),
        scene.inventory_cluster[cluster[first]],
        shape[first],
        profile[first],
        stripped_pair,
        scene.identity(cluster[first], stripped_pair),
        wanted[first],
        scene.vector_units[unit[first]],
        scene.matches,
        scene.kind_units,
        pool_machines,
        scene.supply,
        in_flight.draining_identity,
        in_flight.draining_kind,
    )
    folds = fold_in_order(stays, class_of, group, len(group_first), fits, small)
    return folds, group, len(group_first)


def _staying_gangs(scene: Scene, gangs: Int64s, wanted: Int64s, in_flight: InFlight) -> Bools:
    """Gangs that have something under their own name which folding would take from them."""
    columns = scene.demand.columns
    cluster, pair = columns.cluster[gangs], columns.pair[gangs]
    identity = scene.identity(cluster, pair)
    wants_nothing: Bools = np.all(wanted == 0, axis=1)
    stays = wants_nothing | np.isin(identity, in_flight.holder_identity)
    if len(scene.supply.creating):
        stays |= _have_own_orders(scene, pair, identity)
    named = scene.snapshot.stamps.pair != pair_of("", "")
    if named.any():
        stays[_with_small_incumbents(scene, named, identity, wanted)] = True
    return stays


def _have_own_orders(scene: Scene, pair: Int64s, identity: Int64s) -> Bools:
    """Which gangs have a machine being created under their name, for their cluster or for any."""
    supply = scene.supply
    cluster = supply.cluster_of_stamp[supply.stamp[supply.creating]]
    for_any = cluster == -1
    pair_for_any, pair_for_one = supply.creating_pair[for_any], supply.creating_pair[~for_any]
    for_one = scene.identity(scene.demand_cluster[cluster[~for_any]], pair_for_one)
    return (_places_in(pair_for_any, pair) >= 0) | (_places_in(for_one, identity) >= 0)


def _with_small_incumbents(scene: Scene, named: Bools, identity: Int64s, wanted: Int64s) -> Int64s:
    """Gangs that hold a bound machine, stamped for them, too small to host them alone."""
    supply, columns = scene.supply, scene.snapshot.columns
    rows = supply.order[named[supply.stamp[supply.order]]]
    cluster = scene.demand_cluster[columns.cluster[rows]]
    stamped_for = scene.identity(cluster, supply.pair_of_stamp[supply.stamp[rows]])
    gang = np.where(cluster >= 0, _places_in(identity, stamped_for), -1)
    rows, gang = rows[gang >= 0], gang[gang >= 0]
    small: Bools = np.any(scene.kind_units[supply.kind[rows]] < wanted[gang], axis=1)
    return gang[small]


def _places_in(known: Int64s, values: Int64s) -> Int64s:
    """The first place of each value among the known ones; -1: it is none of them."""
    number, first = number_by_value(np.concatenate([known, values]))
    place = first[number[len(known) :]]
    return np.where(place < len(known), place, -1)


def _passed_through(scene: Scene, rows: Int64s) -> Normalised:
    columns = scene.demand.columns
    cluster, pair = columns.cluster[rows], columns.pair[rows]
    return Normalised(
        cluster=cluster,
        profile=columns.profile[rows],
        wanted=scene.vector_units[columns.aggregate[rows]],
        unit=columns.unit[rows],
        arrival=columns.arrival[rows],
        pair=pair,
        identity=scene.identity(cluster, pair),
        parked=columns.parked[rows],
        members=rows,
        starts=np.arange(len(rows) + 1),
        first_folded=len(rows),
    )


def _folded_groups(scene: Scene, folded: Int64s, group: Int32s, groups: int) -> Normalised:
    """One plain row per group: the sum of its gangs, each of which must fit on one machine."""
    columns = scene.demand.columns
    count = np.bincount(group, minlength=groups)
    by_group = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(count)])
    alive = np.flatnonzero(count)
    lead = folded[by_group[starts[alive]]]
    cluster = columns.cluster[lead]
    profile = scene.demand.profiles.stripped[columns.profile[lead]]
    aggregate = columns.aggregate[lead]
    alive = alive[_folded_order(scene, cluster, profile, aggregate)]
    lead = folded[by_group[starts[alive]]]
    cluster = columns.cluster[lead]
    profile = scene.demand.profiles.stripped[columns.profile[lead]]
    aggregate = columns.aggregate[lead]
    one = scene.vector_units[aggregate]
    many = count[alive][:, None]
    wanted = np.where(one > LARGEST // many, LARGEST, one * many)
    never = np.iinfo(np.int64).max
    arrival = columns.arrival[folded[by_group]]
    known = np.where(arrival == 0, never, arrival)
    earliest = np.minimum.reduceat(known, starts[:-1][count > 0]) if len(known) else known
    earliest_of_group = np.zeros(groups, np.int64)
    earliest_of_group[count > 0] = np.where(earliest == never, 0, earliest)
    pair = scene.demand.profiles.fingerprint[profile]
    sizes = count[alive]
    member_starts = np.concatenate([[0], np.cumsum(sizes)])
    picks = np.repeat(starts[alive] - member_starts[:-1], sizes) + np.arange(member_starts[-1])
    return Normalised(
        cluster=cluster,
        profile=profile,
        wanted=wanted,
        unit=aggregate,
        arrival=earliest_of_group[alive],
        pair=pair,
        identity=scene.identity(cluster, pair),
        parked=np.zeros(len(alive), np.bool_),
        members=folded[by_group[picks]],
        starts=member_starts,
        first_folded=0,
    )


def _folded_order(scene: Scene, cluster: Int32s, profile: Int32s, aggregate: Int32s) -> Int64s:
    """Folded groups go by cluster, stripped fingerprint and aggregate."""
    profiles, vectors = scene.demand.tables.profiles.rows, scene.demand.tables.vectors
    return np.lexsort(
        (
            _ranks(aggregate, lambda v: vectors.amounts(v)),
            _ranks(profile, lambda p: profiles[p].fingerprint),
            _ranks(cluster, lambda c: scene.cluster_names[c]),
        )
    )


def _ranks(numbers: Int32s, key):  # type: ignore[no-untyped-def]
    distinct, inverse = np.unique(numbers, return_inverse=True)
    order = sorted(range(len(distinct)), key=lambda i: key(int(distinct[i])))
    rank = np.empty(len(distinct), np.int64)
    rank[order] = np.arange(len(distinct))
    return rank[inverse]


def _joined(passed: Normalised, folded: Normalised) -> Normalised:
    def both(name: str):  # type: ignore[no-untyped-def]
        return np.concatenate([getattr(passed, name), getattr(folded, name)])

    return Normalised(
        cluster=both("cluster"),
        profile=both("profile"),
        wanted=both("wanted"),
        unit=both("unit"),
        arrival=both("arrival"),
        pair=both("pair"),
        identity=both("identity"),
        parked=both("parked"),
        members=both("members"),
        starts=np.concatenate([passed.starts, folded.starts[1:] + passed.starts[-1]]),
        first_folded=len(passed),
    )


def need_of(scene: Scene, normalised: Normalised, row: int) -> Need:
    """The record of a normalised Need; what it holds of a group is the group's whole demand."""
    lead = scene.demand.need(int(normalised.members[normalised.starts[row]]))
    if row < normalised.first_folded:
        return lead
    count = int(normalised.starts[row + 1] - normalised.starts[row])
    return Need(
        cluster=lead.cluster,
        profile=lead.profile.without_same(),
        aggregate=lead.aggregate.times(count),
        min_unit=lead.aggregate,
        arrival_unix_nanos=int(normalised.arrival[row]),
    )
