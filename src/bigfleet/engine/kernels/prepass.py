"""The pre-pass: what each Need already has. The only place where existing supply is attributed.

Needs are visited in precedence order (U22). A plain Need takes its cluster's bound machines in
keep-priority order, then its own orders in flight, and stops when it is covered. A gang first
chooses its domain over what it has and what it could acquire, then takes only inside it; what it
will acquire there is spoken for, so that the next gang chooses among what is left. Machines that
drain for a gang count in the total of their domain (U26): a gang stays where it makes room.
"""

import numpy as np

from bigfleet.engine.kernels.compiled import (
    Bools,
    Int,
    Int32s,
    Int64s,
    Int64Table,
    inner,
    kernel,
    step,
)
from bigfleet.engine.kernels.domains import choose_domain
from bigfleet.engine.kernels.new_arrays import (
    copy_of_int64s,
    filled_int32s,
    filled_int64s,
    new_bools,
    new_int32s,
    new_int64_table,
)
from bigfleet.engine.kernels.records import (
    KindArrays,
    NeedArrays,
    PoolArrays,
    SupplyArrays,
    WeighedArrays,
)
from bigfleet.engine.kernels.vectors import (
    add_times,
    covers,
    first_at,
    grown,
    is_covered,
    may_use,
    next_free,
    take,
)


@kernel
def credit_supply(
    visits: Int64s,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    pool: PoolArrays,
    coming: Int32s,
    coming_need: Int64s,
    holder: Int32s,
    remaining: Int64Table,
    domain: Int32s,
    satisfiable: Bools,
    may_acquire: Bools,
    traced: int,
    weighed: WeighedArrays,
) -> None:
    """Fill holder (per machine) and the four columns per Need for every Need in `visits`.

    `coming` are rows that drain for gangs, sorted by the gang in `coming_need`. `traced`: a gang
    whose domains are written down in `weighed` as it compares them; -1: none, as in every cycle.
    """
    skip = new_int32s(len(supply.order) + 1)
    for place in range(len(skip)):
        skip[place] = place
    spoken_for = new_int32s(len(pool.start))
    for run in range(len(spoken_for)):
        spoken_for[run] = pool.start[run]
    bucket_of_domain = filled_int32s(_domain_count(kinds), np.int64(-1))
    # Columns named once: taking one out of its bundle inside the loop costs more than the loop.
    cluster_of_need, key_of_need, same = needs.cluster, needs.key, needs.same
    order, starts, kind_of_place = supply.order, supply.starts, supply.kind_of_place
    eligible, units = kinds.eligible, kinds.units
    orders = len(supply.creating) > 0
    for v in range(len(visits)):
        n = visits[v]
        if is_covered(remaining[n]):
            continue
        if same[n] < 0:
            covered = False
            cluster, key = cluster_of_need[n], key_of_need[n]
            for bucket in range(2 * cluster, 2 * cluster + 2) if cluster >= 0 else range(0):
                end = starts[bucket + 1]
                i = next_free(skip, np.int64(starts[bucket]))
                while i < end and not covered:
                    kind = kind_of_place[i]
                    if eligible[key, kind]:
                        holder[order[i]] = n
                        skip[i] = i + 1
                        covered = take(remaining[n], units[kind])
                    i = next_free(skip, i + 1)
            if orders and not covered:
                _credit_orders(n, needs, kinds, supply, holder, remaining)
        else:
            _credit_gang(
                n,
                needs,
                kinds,
                supply,
                pool,
                coming,
                coming_need,
                holder,
                skip,
                spoken_for,
                bucket_of_domain,
                remaining,
                domain,
                satisfiable,
                may_acquire,
                traced,
                weighed,
            )


@step
def _domain_count(kinds: KindArrays) -> Int:
    most: Int = np.int64(0)
    for t in range(kinds.domain.shape[0]):
        for k in range(kinds.domain.shape[1]):
            if kinds.domain[t, k] + 1 > most:
                most = kinds.domain[t, k] + 1
    return most


@step
def _is_own_order(n: int, row: int, needs: NeedArrays, supply: SupplyArrays) -> bool:
    cluster = supply.cluster_of_stamp[supply.stamp[row]]
    return bool(cluster == -1 or cluster == needs.cluster[n])


@step
def _credit_orders(
    n: int,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    holder: Int32s,
    remaining: Int64s,
) -> None:
    """Credit the Need's own machines that are still being created, by id."""
    eligible = kinds.eligible[needs.key[n]]
    j = first_at(supply.creating_pair, needs.pair[n])
    while j < len(supply.creating) and supply.creating_pair[j] == needs.pair[n]:
        row = supply.creating[j]
        kind = supply.kind[row]
        j += 1
        if holder[row] < 0 and eligible[kind] and not supply.overdue[row]:
            if _is_own_order(n, row, needs, supply):
                holder[row] = n
                if take(remaining[n], kinds.units[kind]):
                    return


@inner
def _creditable(
    n: int,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    holder: Int32s,
    skip: Int32s,
) -> Int32s:
    """Positions a gang could be credited: of the order, or past its end of `creating`."""
    eligible = kinds.eligible[needs.key[n]]
    domain = kinds.domain[needs.same[n]]
    cluster = needs.cluster[n]
    found = new_int32s(np.int64(16))
    size = 0
    if cluster >= 0:
        for bucket in range(2 * cluster, 2 * cluster + 2):
            end = supply.starts[bucket + 1]
            i = next_free(skip, np.int64(supply.starts[bucket]))
            while i < end:
                kind = supply.kind_of_place[i]
                if eligible[kind] and domain[kind] >= 0:
                    if size == len(found):
                        found = grown(found)
                    found[size] = i
                    size += 1
                i = next_free(skip, i + 1)
    j = first_at(supply.creating_pair, needs.pair[n])
    while j < len(supply.creating) and supply.creating_pair[j] == needs.pair[n]:
        row = supply.creating[j]
        kind = supply.kind[row]
        if holder[row] < 0 and eligible[kind] and domain[kind] >= 0 and not supply.overdue[row]:
            if _is_own_order(n, row, needs, supply):
                if size == len(found):
                    found = grown(found)
                found[size] = len(supply.order) + j
                size += 1
        j += 1
    return found[:size]


@step
def _row_at(position: int, supply: SupplyArrays) -> np.int32:
    if position < len(supply.order):
        return supply.order[position]
    return supply.creating[position - len(supply.order)]


@inner
def _credit_gang(
    n: int,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    pool: PoolArrays,
    coming: Int32s,
    coming_need: Int64s,
    holder: Int32s,
    skip: Int32s,
    spoken_for: Int32s,
    bucket_of_domain: Int32s,
    remaining: Int64s,
    domain: Int32s,
    satisfiable: Bools,
    may_acquire: Bools,
    traced: int,
    weighed: WeighedArrays,
) -> None:
    key = needs.key[n]
    domain_of_kind = kinds.domain[needs.same[n]]
    mine = _creditable(n, needs, kinds, supply, holder, skip)
    runs = pool.key_runs[pool.key_starts[key] : pool.key_starts[key + 1]]
    if needs.parked[n]:
        runs = runs[:0]

    awaited = coming[first_at(coming_need, n) : first_at(coming_need, n + 1)]

    # Number the domains in sight; a gang sees few of the many a topology key has.
    seen = new_int32s(len(mine) + len(runs) + len(awaited))
    for i in range(len(mine)):
        seen[i] = domain_of_kind[supply.kind[_row_at(mine[i], supply)]]
    for r in range(len(runs)):
        seen[len(mine) + r] = domain_of_kind[pool.kind[runs[r]]]
    for i in range(len(awaited)):
        kind = supply.kind[awaited[i]]
        usable = kinds.eligible[key, kind]
        seen[len(mine) + len(runs) + i] = domain_of_kind[kind] if usable else -1
    domains = new_int32s(len(seen))
    size: Int = np.int64(0)
    width = remaining.shape[1]
    for i in range(len(seen)):
        if seen[i] >= 0 and bucket_of_domain[seen[i]] < 0:
            bucket_of_domain[seen[i]] = size
            domains[size] = seen[i]
            size += 1
    domains = domains[:size]
    count = filled_int64s(size, np.int64(0))
    acquirable = filled_int64s(size, np.int64(0))
    total = new_int64_table(size, width)
    creditable = new_int64_table(size, width)
    own = new_int64_table(size, width)
    is_own = new_bools(len(mine))
    for i in range(len(mine)):
        row = _row_at(mine[i], supply)
        offered = kinds.units[supply.kind[row]]
        b = bucket_of_domain[seen[i]]
        count[b] += 1
        add_times(total[b], offered, np.int64(1))
        add_times(creditable[b], offered, np.int64(1))
        if supply.pair_of_stamp[supply.stamp[row]] == needs.pair[n]:
            is_own[i] = True
            add_times(own[b], offered, np.int64(1))
    for r in range(len(runs)):
        run = runs[r]
        left = pool.end[run] - spoken_for[run]
        where = seen[len(mine) + r]
        if left > 0 and where >= 0 and may_use(n, run, needs, pool):
            b = bucket_of_domain[where]
            count[b] += left
            acquirable[b] += left
            add_times(total[b], kinds.units[pool.kind[run]], left)
    for i in range(len(awaited)):
        where = seen[len(mine) + len(runs) + i]
        if where >= 0:
            b = bucket_of_domain[where]
            count[b] += 1
            add_times(total[b], kinds.units[supply.kind[awaited[i]]], np.int64(1))

    for i in range(size):
        bucket_of_domain[domains[i]] = -1

    if n == traced:
        for i in range(size):
            d = domains[i]
            weighed.machines[d] = count[i]
            for x in range(width):
                weighed.total[d, x] = total[i, x]
                weighed.creditable[d, x] = creditable[i, x]
                weighed.own[d, x] = own[i, x]
    best = choose_domain(needs.wanted[n], domains, count, total, creditable, own)
    if best < 0:
        return
    chosen = domains[best]
    domain[n] = chosen
    satisfiable[n] = covers(total[best], needs.wanted[n])
    may_acquire[n] = acquirable[best] > 0
    for turn in range(2):
        for i in range(len(mine)):
            if is_own[i] == (turn == 0) and seen[i] == chosen:
                row = _row_at(mine[i], supply)
                holder[row] = n
                if mine[i] < len(supply.order):
                    skip[mine[i]] = mine[i] + 1
                if take(remaining[n], kinds.units[supply.kind[row]]):
                    return
    if may_acquire[n]:
        _speak_for(n, runs, chosen, needs, kinds, pool, spoken_for, remaining[n])


@inner
def _speak_for(
    n: int,
    runs: Int32s,
    chosen: int,
    needs: NeedArrays,
    kinds: KindArrays,
    pool: PoolArrays,
    spoken_for: Int32s,
    remaining: Int64s,
) -> None:
    """Set aside what the gang will acquire, so that later gangs do not count on it.

    Idle before Speculative; a Need that pins types goes type by type, cheap ones first; any other
    by id.
    """
    domain_of_kind = kinds.domain[needs.same[n]]
    pinned = needs.pinned[n]
    left = copy_of_int64s(remaining)
    for speculative in range(2):
        while True:
            best: Int = np.int64(-1)
            for r in range(len(runs)):
                run = runs[r]
                kind = pool.kind[run]
                if (
                    pool.speculative[run] != (speculative == 1)
                    or spoken_for[run] >= pool.end[run]
                    or domain_of_kind[kind] != chosen
                    or (pinned and kinds.type_rank[kind] < 0)
                    or not may_use(n, run, needs, pool)
                ):
                    continue
                if best < 0 or _spoken_before(run, best, pinned, kinds, pool, spoken_for):
                    best = run
            if best < 0:
                break
            spoken_for[best] += 1
            if take(left, kinds.units[pool.kind[best]]):
                return


@step
def _spoken_before(
    a: Int, b: Int, pinned: bool, kinds: KindArrays, pool: PoolArrays, spoken_for: Int32s
) -> bool:
    if pinned:
        ka, kb = pool.kind[a], pool.kind[b]
        if kinds.type_rank[ka] != kinds.type_rank[kb]:
            return bool(kinds.type_rank[ka] < kinds.type_rank[kb])
        if kinds.price[ka] != kinds.price[kb]:
            return bool(kinds.price[ka] < kinds.price[kb])
    return bool(pool.rows[spoken_for[a]] < pool.rows[spoken_for[b]])
