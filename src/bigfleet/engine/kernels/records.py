"""The bundles of columns kernels work on.

Index spaces: N normalised Needs, K kinds, M machines, R runs, E eligibility keys (requirement set
and unit), D dimensions in name order, T topology keys, G guards (reservations).
"""

from typing import NamedTuple

from bigfleet.engine.kernels.compiled import (
    Bools,
    BoolTable,
    Floats,
    Int8s,
    Int32s,
    Int32Table,
    Int64s,
    Int64Table,
)


class KindArrays(NamedTuple):
    price: Floats  # K
    probability: Floats  # K
    type_rank: Int32s  # K, -1: no instance type
    units: Int64Table  # K x D, what one machine offers
    domain: Int32Table  # T x K, -1: no domain
    eligible: BoolTable  # E x (K + 1), matches and holds one unit; the last column is False


class NeedArrays(NamedTuple):
    cluster: Int32s  # N, inventory's number, -2: it has no machines
    key: Int32s  # N -> E
    pair: Int64s  # N, (fingerprint, group)
    identity: Int64s  # N, (cluster, fingerprint, group)
    fingerprint: Int64s  # N
    parked: Bools  # N
    wanted: Int64Table  # N x D
    same: Int32s  # N -> T, -1: no gang
    spread: Int32s  # N -> T, -1: no strict spread
    skew: Int64s  # N
    priority: Int64s  # N
    precedence: Int64s  # N, the triple as one number
    pinned: Bools  # N
    penalty: Floats  # N, dollars, may be infinite


class SupplyArrays(NamedTuple):
    order: Int32s  # bound machines: cluster, Configured before Configuring, keep order
    starts: Int32s  # 2 x clusters + 1
    kind_of_place: Int32s  # kind of each machine of the order; overdue: K, a kind no Need may use
    kind: Int32s  # M
    overdue: Bools  # M
    stamp: Int32s  # M
    pair_of_stamp: Int64s
    cluster_of_stamp: Int32s
    creating: Int32s  # rows by (pair, id)
    creating_pair: Int64s


class PoolArrays(NamedTuple):
    """Idle and Speculative machines in runs: same state, kind and guard, members in id order.

    A Need may use all of a run or none of it, and takes from its head: what is claimed of a run is
    always its beginning, so one cursor tells its whole state.
    """

    rows: Int32s
    run_of_row: Int32s  # M, undefined for machines outside the pool
    start: Int32s  # R
    end: Int32s  # R
    kind: Int32s  # R
    speculative: Bools  # R
    guard: Int32s  # R -> G, -1: free to all
    key_starts: Int32s  # E + 1
    key_runs: Int32s  # eligible runs of each key
    guard_kind: Int8s  # G: 0 preemption, 1 offer, 2 transfer-in
    guard_identity: Int64s  # G
    guard_fingerprint: Int64s  # G
    guard_precedence: Int64s  # G


class WeighedArrays(NamedTuple):
    """What each domain had for one gang when it chose; empty where no gang is traced."""

    machines: Int64s  # V, values of its topology key
    total: Int64Table  # V x D
    creditable: Int64Table  # V x D
    own: Int64Table  # V x D


class VictimArrays(NamedTuple):
    """Configured machines in runs of equal kind, victim priority, penalties and excess."""

    rows: Int32s
    start: Int32s  # V
    end: Int32s  # V
    kind: Int32s  # V
    priority: Int64s  # V, of the Need that claims it, else the stamped one
    interruption: Floats  # V, dollars
    reclamation: Floats  # V, dollars
    excess: Bools  # V, leaving anyway
