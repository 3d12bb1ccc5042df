"""What a Need would acquire from the pool as it stands: one proposal.

The state of the pool is one cursor per run. A plain Need or a gang merges the runs it may use by
cost and id, Idle before Speculative, until it is covered; a spread Need goes machine by machine to
the domain its skew allows. A proposal moves the cursors it is given, nothing else.
"""

from typing import NamedTuple

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Floats, Int32s, Int64s, copied, inner
from bigfleet.engine.kernels.records import KindArrays, NeedArrays, PoolArrays, SupplyArrays
from bigfleet.engine.kernels.vectors import first_at, is_covered, may_use, take


class Scratch(NamedTuple):
    """Working space of one worker: a heap over runs, and the proposal being made."""

    runs: Int32s
    costs: Floats
    heads: Int32s
    rows: Int32s


@inner
def scratch_for(pool: PoolArrays) -> Scratch:
    widest = 1
    for e in range(len(pool.key_starts) - 1):
        widest = max(widest, pool.key_starts[e + 1] - pool.key_starts[e])
    return Scratch(
        np.empty(widest, np.int32),
        np.empty(widest, np.float64),
        np.empty(widest, np.int32),
        np.empty(len(pool.rows), np.int32),
    )


@inner
def cost_of(n: int, kind: int, speculative: bool, needs: NeedArrays, kinds: KindArrays) -> float:
    """Price of an Idle machine; effective cost of a Speculative one (no risk costs nothing)."""
    price = kinds.price[kind]
    if speculative and kinds.probability[kind] > 0.0:
        return float(price + kinds.probability[kind] * needs.penalty[n])
    return float(price)


@inner
def _sift_down(runs: Int32s, costs: Floats, heads: Int32s, size: int, top: int) -> None:
    i = top
    while True:
        least = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < size and (
                costs[child] < costs[least]
                or (costs[child] == costs[least] and heads[child] < heads[least])
            ):
                least = child
        if least == i:
            return
        runs[i], runs[least] = runs[least], runs[i]
        costs[i], costs[least] = costs[least], costs[i]
        heads[i], heads[least] = heads[least], heads[i]
        i = least


@copied
def _merge_runs(
    n: int,
    chosen: int,
    needs: NeedArrays,
    kinds: KindArrays,
    pool: PoolArrays,
    cursor: Int32s,
    remaining: Int64s,
    scratch: Scratch,
) -> int:
    """Take machines in pool order, Idle then Speculative, until covered; returns how many."""
    key = needs.key[n]
    same = needs.same[n]
    runs, costs, heads, out = scratch
    size = 0
    covered = False
    for speculative in range(2):
        live = 0
        for r in range(pool.key_starts[key], pool.key_starts[key + 1]):
            run = pool.key_runs[r]
            if cursor[run] >= pool.end[run] or pool.speculative[run] != (speculative == 1):
                continue
            kind = pool.kind[run]
            if same >= 0 and kinds.domain[same, kind] != chosen:
                continue
            if pool.guard[run] >= 0 and not may_use(n, run, needs, pool):
                continue
            runs[live] = run
            costs[live] = cost_of(n, kind, speculative == 1, needs, kinds)
            heads[live] = pool.rows[cursor[run]]
            live += 1
        for i in range(live // 2 - 1, -1, -1):
            _sift_down(runs, costs, heads, live, i)
        while live > 0 and not covered:
            run = runs[0]
            out[size] = heads[0]
            size += 1
            cursor[run] += 1
            covered = take(remaining, kinds.units[pool.kind[run]])
            if cursor[run] < pool.end[run]:
                heads[0] = pool.rows[cursor[run]]
            else:
                live -= 1
                runs[0], costs[0], heads[0] = runs[live], costs[live], heads[live]
            if not covered:
                _sift_down(runs, costs, heads, live, 0)
        if covered:
            break
    return size


@inner
def claimed_by_domain(
    n: int, needs: NeedArrays, kinds: KindArrays, supply: SupplyArrays, holder: Int32s
) -> Int64s:
    """How many machines the Need was credited in each domain of its spread."""
    domain = kinds.domain[needs.spread[n]]
    most = 0
    for k in range(len(domain)):
        most = max(most, domain[k] + 1)
    counts = np.zeros(most, np.int64)
    cluster = needs.cluster[n]
    if cluster >= 0:
        for i in range(supply.starts[2 * cluster], supply.starts[2 * cluster + 2]):
            row = supply.order[i]
            if holder[row] == n and domain[supply.kind[row]] >= 0:
                counts[domain[supply.kind[row]]] += 1
    j = first_at(supply.creating_pair, needs.pair[n])
    while j < len(supply.creating) and supply.creating_pair[j] == needs.pair[n]:
        row = supply.creating[j]
        if holder[row] == n and domain[supply.kind[row]] >= 0:
            counts[domain[supply.kind[row]]] += 1
        j += 1
    return counts


@inner
def _spread_runs(
    n: int,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    pool: PoolArrays,
    holder: Int32s,
    cursor: Int32s,
    remaining: Int64s,
    scratch: Scratch,
) -> int:
    """Take machines one by one where the skew allows; Idle before Speculative at each step."""
    domain_of_kind = kinds.domain[needs.spread[n]]
    counts = claimed_by_domain(n, needs, kinds, supply, holder)
    exists = counts > 0
    key = needs.key[n]
    usable, out = scratch.runs, scratch.rows
    live = 0
    size = 0
    for r in range(pool.key_starts[key], pool.key_starts[key + 1]):
        run = pool.key_runs[r]
        where = domain_of_kind[pool.kind[run]]
        if where >= 0 and cursor[run] < pool.end[run] and may_use(n, run, needs, pool):
            usable[live] = run
            live += 1
            exists[where] = True
    slack = max(np.int64(1), needs.skew[n]) - 1
    heads = np.empty(len(counts), np.int32)
    while not is_covered(remaining):
        lowest = np.int64(2**62)
        for where in range(len(counts)):
            if exists[where] and counts[where] < lowest:
                lowest = counts[where]
        chosen = -1
        for speculative in (False, True):
            _domain_heads(n, speculative, usable[:live], needs, kinds, pool, cursor, heads)
            for where in range(len(counts)):
                if heads[where] < 0 or counts[where] > lowest + slack:
                    continue
                if chosen < 0 or (
                    kinds.price[pool.kind[heads[where]]] < kinds.price[pool.kind[heads[chosen]]]
                ):
                    chosen = where
            if chosen >= 0:
                break
        if chosen < 0:
            return size
        run = heads[chosen]
        out[size] = pool.rows[cursor[run]]
        size += 1
        cursor[run] += 1
        counts[chosen] += 1
        take(remaining, kinds.units[pool.kind[run]])
    return size


@inner
def _domain_heads(
    n: int,
    speculative: bool,
    usable: Int32s,
    needs: NeedArrays,
    kinds: KindArrays,
    pool: PoolArrays,
    cursor: Int32s,
    heads: Int32s,
) -> None:
    """For each domain the run whose next machine comes first in pool order, -1 if it has none."""
    for where in range(len(heads)):
        heads[where] = -1
    domain_of_kind = kinds.domain[needs.spread[n]]
    for u in range(len(usable)):
        run = usable[u]
        if pool.speculative[run] != speculative or cursor[run] >= pool.end[run]:
            continue
        where = domain_of_kind[pool.kind[run]]
        other = heads[where]
        if other < 0:
            heads[where] = run
            continue
        cost = cost_of(n, pool.kind[run], speculative, needs, kinds)
        other_cost = cost_of(n, pool.kind[other], speculative, needs, kinds)
        if cost < other_cost or (
            cost == other_cost and pool.rows[cursor[run]] < pool.rows[cursor[other]]
        ):
            heads[where] = run


@copied
def propose(
    n: int,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    pool: PoolArrays,
    holder: Int32s,
    domain: Int32s,
    may_acquire: Bools,
    cursor: Int32s,
    remaining: Int64s,
    scratch: Scratch,
) -> int:
    """Fill `scratch.rows` with what Need n takes from a pool whose runs stand at `cursor`."""
    if needs.spread[n] >= 0:
        return _spread_runs(n, needs, kinds, supply, pool, holder, cursor, remaining, scratch)
    if needs.same[n] >= 0 and (needs.parked[n] or domain[n] < 0 or not may_acquire[n]):
        return 0
    return _merge_runs(n, domain[n], needs, kinds, pool, cursor, remaining, scratch)


@inner
def candidates_left(
    n: int, needs: NeedArrays, kinds: KindArrays, pool: PoolArrays, cursor: Int32s
) -> bool:
    """Whether a spread Need stops with a machine in sight that its skew forbids."""
    key = needs.key[n]
    for r in range(pool.key_starts[key], pool.key_starts[key + 1]):
        run = pool.key_runs[r]
        if (
            cursor[run] < pool.end[run]
            and kinds.domain[needs.spread[n], pool.kind[run]] >= 0
            and may_use(n, run, needs, pool)
        ):
            return True
    return False
