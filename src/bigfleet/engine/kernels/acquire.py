"""What a Need would acquire from the pool as it stands: one proposal.

The state of the pool is one cursor per run. A plain Need or a gang merges the runs it may use by
effective cost and id, Idle before Speculative, until it is covered; a spread Need goes machine by
machine to the domain its skew allows. A proposal moves the cursors it is given, nothing else.
"""

from typing import NamedTuple

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Floats, Int, Int32s, Int64s, copied, inner, step
from bigfleet.engine.kernels.new_arrays import filled_int64s, new_bools, new_floats, new_int32s
from bigfleet.engine.kernels.records import KindArrays, NeedArrays, PoolArrays, SupplyArrays
from bigfleet.engine.kernels.vectors import first_at, is_covered, may_use, take


class Scratch(NamedTuple):
    """Working space of one worker: a heap over runs, and its proposals one after the other."""

    runs: Int32s
    costs: Floats
    heads: Int32s
    rows: Int32s


@inner
def scratch_for(pool: PoolArrays) -> Scratch:
    widest: Int = np.int64(1)
    for e in range(len(pool.key_starts) - 1):
        if pool.key_starts[e + 1] - pool.key_starts[e] > widest:
            widest = pool.key_starts[e + 1] - pool.key_starts[e]
    return Scratch(
        new_int32s(widest),
        new_floats(widest),
        new_int32s(widest),
        new_int32s(len(pool.rows)),
    )


@step
def cost_of(n: int, kind: int, needs: NeedArrays, kinds: KindArrays) -> float:
    """Effective cost: price, and what an interruption is expected to cost (no risk, nothing)."""
    price = kinds.price[kind]
    if kinds.probability[kind] > 0.0:
        return float(price + kinds.probability[kind] * needs.penalty[n])
    return float(price)


@step
def _sift_down(runs: Int32s, costs: Floats, heads: Int32s, size: int, top: Int) -> None:
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
def merge_runs(
    usable: Int32s,
    live: int,
    best: int,
    costs: Floats,
    heads: Int32s,
    out: Int32s,
    size: Int,
    kind_of_run: Int32s,
    end: Int32s,
    rows: Int32s,
    units: Int64s,
    cursor: Int32s,
    remaining: Int64s,
) -> Int:
    """Take from the heads of `live` usable runs, cheapest first, until covered.

    `best` is the cheapest of them. Most Needs are covered by one machine: only the others are
    worth a heap. Returns the new length of `out`; `remaining` is what is left to want.
    """
    is_heap = False
    covered = False
    while live > 0 and not covered:
        run = usable[best]
        kind = kind_of_run[run]
        out[size] = heads[best]
        size += 1
        cursor[run] += 1
        covered = True
        for d in range(len(remaining)):
            remaining[d] = max(np.int64(0), remaining[d] - units[kind, d])
            covered = covered and remaining[d] == 0
        if not covered:
            if cursor[run] < end[run]:
                heads[best] = rows[cursor[run]]
            else:
                live -= 1
                usable[best], costs[best], heads[best] = usable[live], costs[live], heads[live]
            if not is_heap:
                for i in range(live // 2 - 1, 0, -1):
                    _sift_down(usable, costs, heads, live, i)
                is_heap, best = True, 0
            _sift_down(usable, costs, heads, live, np.int64(0))
    return size


@inner
def claimed_by_domain(
    n: int, needs: NeedArrays, kinds: KindArrays, supply: SupplyArrays, holder: Int32s
) -> Int64s:
    """How many machines the Need was credited in each domain of its spread."""
    domain = kinds.domain[needs.spread[n]]
    most: Int = np.int64(0)
    for k in range(len(domain)):
        if domain[k] + 1 > most:
            most = domain[k] + 1
    counts = filled_int64s(most, np.int64(0))
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
def domains_with_any(counts: Int64s) -> Bools:
    exists = new_bools(len(counts))
    for where in range(len(counts)):
        exists[where] = counts[where] > 0
    return exists


@inner
def spread_runs(
    n: int,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    pool: PoolArrays,
    holder: Int32s,
    cursor: Int32s,
    remaining: Int64s,
    scratch: Scratch,
    size: Int,
) -> Int:
    """Take machines one by one where the skew allows; Idle before Speculative at each step.

    Returns the new length of the proposals in `scratch`.
    """
    domain_of_kind = kinds.domain[needs.spread[n]]
    counts = claimed_by_domain(n, needs, kinds, supply, holder)
    exists = domains_with_any(counts)
    key = needs.key[n]
    usable, out = scratch.runs, scratch.rows
    live = 0
    for r in range(pool.key_starts[key], pool.key_starts[key + 1]):
        run = pool.key_runs[r]
        where = domain_of_kind[pool.kind[run]]
        if where >= 0 and cursor[run] < pool.end[run] and may_use(n, run, needs, pool):
            usable[live] = run
            live += 1
            exists[where] = True
    slack = max(np.int64(1), needs.skew[n]) - 1
    heads = new_int32s(len(counts))
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
                    cost_of(n, pool.kind[heads[where]], needs, kinds)
                    < cost_of(n, pool.kind[heads[chosen]], needs, kinds)
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


@step
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
        cost = cost_of(n, pool.kind[run], needs, kinds)
        other_cost = cost_of(n, pool.kind[other], needs, kinds)
        if cost < other_cost or (
            cost == other_cost and pool.rows[cursor[run]] < pool.rows[cursor[other]]
        ):
            heads[where] = run


@step
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
