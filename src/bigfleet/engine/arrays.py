"""From the scene and the normalised demand to the bundles of columns the kernels take."""

import numpy as np

from bigfleet.engine.acquisition import Credit
from bigfleet.engine.fold import Normalised
from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.engine.kernels.hashing import number_by_value
from bigfleet.engine.kernels.pools import pool_runs
from bigfleet.engine.kernels.records import KindArrays, NeedArrays, PoolArrays, WeighedArrays
from bigfleet.engine.reservations import Guards
from bigfleet.engine.scene import Scene
from bigfleet.engine.vocabulary import descending_level

#: No gang writes down the domains it compares.
NOT_TRACED = -1


def need_and_kind_arrays(
    scene: Scene, normalised: Normalised, parked: Bools
) -> tuple[NeedArrays, KindArrays]:
    profiles, profile = scene.demand.profiles, normalised.profile
    units = len(scene.vector_units)
    key, first = number_by_value(profile.astype(np.int64) * units + normalised.unit)
    needs = NeedArrays(
        cluster=scene.inventory_cluster[normalised.cluster],
        key=key,
        pair=normalised.pair,
        identity=normalised.identity,
        fingerprint=profiles.fingerprint[profile],
        parked=parked,
        wanted=normalised.wanted,
        same=scene.same_of_profile[profile],
        spread=scene.spread_of_profile[profile],
        skew=profiles.skew[profile],
        priority=profiles.priority[profile],
        precedence=profiles.precedence[profile],
        pinned=profiles.is_pinned[profile],
        penalty=profiles.penalty[profile],
    )
    # No machine has the last kind: what must not be used is given that kind.
    eligible = np.zeros((len(first), len(scene.kinds) + 1), np.bool_)
    eligible[:, :-1] = scene.matches[profile[first]]
    for unit, offered in zip(
        scene.vector_units[normalised.unit[first]].T, scene.kind_units.T, strict=True
    ):
        eligible[:, :-1] &= offered >= unit[:, None]
    domain = np.full((len(scene.topology_keys), len(scene.kinds)), -1, np.int32)
    for t, topology_key in enumerate(scene.topology_keys):
        domain[t] = scene.kinds.domains(topology_key)[1]
    kinds = KindArrays(
        price=scene.kinds.price,
        probability=scene.kinds.probability,
        type_rank=scene.kinds.type_rank,
        units=scene.kind_units,
        domain=domain,
        eligible=eligible,
    )
    return needs, kinds


class Pool:
    """The Idle and Speculative machines, grouped once and keyed to the demand later."""

    def __init__(self, scene: Scene, guards: Guards) -> None:
        columns = scene.snapshot.columns
        self._guards = guards
        (
            self.rows,
            self.run_of_row,
            self.start,
            self.end,
            self.kind,
            self.speculative,
            self.guard,
            #: Machines of the pool per kind, reserved ones included.
            self.machines,
        ) = pool_runs(columns.state, columns.held, scene.supply.kind, len(scene.kinds), guards.row)

    def arrays(self, kinds: KindArrays) -> PoolArrays:
        usable = kinds.eligible[:, self.kind]
        starts = np.zeros(len(usable) + 1, np.int32)
        np.cumsum(np.count_nonzero(usable, axis=1), out=starts[1:])
        return PoolArrays(
            rows=self.rows,
            run_of_row=self.run_of_row,
            start=self.start,
            end=self.end,
            kind=self.kind,
            speculative=self.speculative,
            guard=self.guard,
            key_starts=starts,
            key_runs=np.nonzero(usable)[1].astype(np.int32),
            guard_kind=self._guards.kind,
            guard_identity=self._guards.identity,
            guard_fingerprint=self._guards.fingerprint,
            guard_precedence=self._guards.precedence,
        )


def empty_credit(scene: Scene, normalised: Normalised) -> Credit:
    size = len(normalised)
    return Credit(
        holder=np.full(len(scene.snapshot), -1, np.int32),
        remaining=normalised.wanted.copy(),
        domain=np.full(size, -1, np.int32),
        satisfiable=np.zeros(size, np.bool_),
        may_acquire=np.zeros(size, np.bool_),
    )


def nothing_weighed(domains: int = 0, dimensions: int = 0) -> WeighedArrays:
    """Room for what so many domains have."""
    return WeighedArrays(
        np.zeros(domains, np.int64),
        *(np.zeros((domains, dimensions), np.int64) for _ in range(3)),
    )


def precedence_order(scene: Scene, normalised: Normalised) -> Int64s:
    """By precedence, then position: the one order in which every phase visits Needs (U22)."""
    level = descending_level(scene.demand.profiles.precedence)
    return np.argsort(level[normalised.profile], kind="stable")


def still_short(order: Int64s, credit: Credit) -> Int64s:
    """The Needs of `order` that lack something, in that order."""
    short: Bools = np.any(credit.remaining > 0, axis=1)
    return order[short[order]]


def all_or_nothing(scene: Scene, normalised: Normalised, needs: NeedArrays) -> Bools:
    """Gangs that span machines: a proposal of theirs with a conflict fails whole."""
    whole = np.zeros(len(normalised), np.bool_)
    gangs = np.flatnonzero(needs.same >= 0)
    unit = scene.vector_units[normalised.unit[gangs]]
    whole[gangs] = (unit < normalised.wanted[gangs]).any(axis=1)
    return whole
