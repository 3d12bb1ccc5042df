"""Phase 2: which Configured machines make way for Needs that Phase 1 left short.

Victims are grouped into runs that score alike, so a Need weighs a few hundred runs instead of half
a million machines. All takers empty a run in id order, as they do the pool.
"""

import numpy as np

from bigfleet.engine.kernels.acquire import claimed_by_domain, domains_with_any
from bigfleet.engine.kernels.compiled import (
    Bools,
    Floats,
    Int,
    Int32s,
    Int64s,
    Int64Table,
    inner,
    kernel,
    step,
)
from bigfleet.engine.kernels.new_arrays import (
    copy_of_int64s,
    filled_int64s,
    new_bools,
    new_floats,
    new_int32s,
    new_int64s,
)
from bigfleet.engine.kernels.records import (
    KindArrays,
    NeedArrays,
    SupplyArrays,
    VictimArrays,
)
from bigfleet.engine.kernels.vectors import is_covered, take


def victim_score(
    gap: int,
    drain_seconds: float,
    interruption: float,
    reclamation: float,
    weights: Floats,
) -> float:
    """Higher is the better victim: far below, quick to drain, cheap to interrupt and to give up."""
    score = float(gap) * weights[0]
    score += weights[1] / max(1.0, drain_seconds)
    score += weights[2] / max(0.01, interruption)
    score += weights[3] / max(0.01, reclamation)
    return score


def grace_seconds(gap: int) -> int:
    """The further below, the less time a victim gets."""
    if gap > 900000:
        return 10
    if gap > 500000:
        return 30
    if gap > 100000:
        return 120
    return 600


#: As parts of a kernel; those above are for Python.
_score, _grace = step(victim_score), step(grace_seconds)


@step
def _goes_first(a: Int, b: Int, victims: VictimArrays, scores: Floats, cursor: Int64s) -> bool:
    if victims.excess[a] != victims.excess[b]:
        return bool(victims.excess[a])
    if scores[a] != scores[b]:
        return bool(scores[a] > scores[b])
    return bool(victims.rows[cursor[a]] < victims.rows[cursor[b]])


@inner
def _first_domains(
    n: int,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    holder: Int32s,
    taken: Int32s,
    draining: Int32s,
) -> tuple[Int64s, Bools]:
    """Counts of a spread Need per domain, and which domains have a machine of it.

    A domain in which it saw a candidate in Phase 1 is one of them: it took that machine, or stopped
    because it already had more there than its skew allows.
    """
    domain_of_kind = kinds.domain[needs.spread[n]]
    counts = claimed_by_domain(n, needs, kinds, supply, holder)
    for i in range(len(taken)):
        where = domain_of_kind[supply.kind[taken[i]]]
        if where >= 0:
            counts[where] += 1
    exists = domains_with_any(counts)
    for i in range(len(draining)):
        where = domain_of_kind[supply.kind[draining[i]]]
        if where >= 0:
            counts[where] += 1
            exists[where] = True
    return counts, exists


@step
def _lowest_run(runs: Int32s, victims: VictimArrays, cursor: Int64s) -> int:
    """The run whose next machine is lowest in priority, then first by id; -1: none is left."""
    lowest = -1
    for i in range(len(runs)):
        v = runs[i]
        if cursor[v] >= victims.end[v]:
            continue
        if (
            lowest < 0
            or victims.priority[v] < victims.priority[lowest]
            or (
                victims.priority[v] == victims.priority[lowest]
                and victims.rows[cursor[v]] < victims.rows[cursor[lowest]]
            )
        ):
            lowest = v
    return lowest


@inner
def _cost_of_domain(
    wanted: Int64s, runs: Int32s, kinds: KindArrays, victims: VictimArrays, cursor: Int64s
) -> tuple[Int, Int]:
    """How many machines of these runs cover `wanted`, the lowest first, and the highest priority
    among them; 0 machines: they do not cover it."""
    tried = new_int64s(len(runs))
    for i in range(len(runs)):
        tried[i] = cursor[runs[i]]
    left = copy_of_int64s(wanted)
    count = 0
    highest = np.int64(0)
    covered = False
    while not covered:
        v = _lowest_run(runs, victims, cursor)
        if v < 0:
            break
        highest = victims.priority[v]
        cursor[v] += 1
        count += 1
        covered = take(left, kinds.units[victims.kind[v]])
    for i in range(len(runs)):
        cursor[runs[i]] = tried[i]
    return (count if covered else 0), highest


@inner
def _whole_domain(
    n: int,
    usable: Int32s,
    needs: NeedArrays,
    kinds: KindArrays,
    victims: VictimArrays,
    cursor: Int64s,
) -> tuple[int, Int32s]:
    """U26: the domain whose machines cover the gang alone, and its runs; -1: there is none.

    The one whose highest victim is lowest, then the one with fewest victims, then the first value.
    """
    domain_of_kind = kinds.domain[needs.same[n]]
    most: Int = np.int64(0)
    for u in range(len(usable)):
        if domain_of_kind[victims.kind[usable[u]]] + 1 > most:
            most = domain_of_kind[victims.kind[usable[u]]] + 1
    # Runs by domain: counted and laid out, since to compile a sort takes as long as all of this.
    ends = filled_int64s(most + 1, np.int64(0))
    for u in range(len(usable)):
        ends[domain_of_kind[victims.kind[usable[u]]] + 1] += 1
    for where in range(most):
        ends[where + 1] += ends[where]
    grouped = new_int32s(len(usable))
    for u in range(len(usable)):
        where = domain_of_kind[victims.kind[usable[u]]]
        grouped[ends[where]] = usable[u]
        ends[where] += 1
    best, best_priority = -1, np.int64(0)
    best_count: Int = np.int64(0)
    best_runs = usable[:0]
    first = 0
    for where in range(most):
        if first == ends[where]:
            continue
        runs = grouped[first : ends[where]]
        first = ends[where]
        count, highest = _cost_of_domain(needs.wanted[n], runs, kinds, victims, cursor)
        if count > 0 and (
            best < 0 or highest < best_priority or (highest == best_priority and count < best_count)
        ):
            best, best_count, best_priority = where, count, np.int64(highest)
            best_runs = runs
    return best, best_runs


@kernel
def preempt(
    queue: Int64s,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    victims: VictimArrays,
    holder: Int32s,
    domain: Int32s,
    taken: Int32s,
    taken_start: Int64s,
    taken_count: Int64s,
    draining: Int32s,
    draining_starts: Int64s,
    drain_seconds: float,
    weights: Floats,
    unresolved: Int64Table,
    preempts: Int64s,
    whole_domain: Bools,
) -> tuple[Int32s, Int32s, Int32s]:
    """Victims in order of emission, the Need each makes way for, and its grace in seconds.

    A gang without a domain that finds one to take whole has it in `domain` and `whole_domain`. The
    three have room for all victims behind them: keep copies.
    """
    cursor = new_int64s(len(victims.start))
    for v in range(len(victims.start)):
        cursor[v] = victims.start[v]
    scores = new_floats(len(victims.start))
    usable = new_int32s(len(victims.start))
    picked = new_int32s(len(victims.rows))
    picked_for = new_int32s(len(victims.rows))
    graces = new_int32s(len(victims.rows))
    # Columns named once: taking one out of its bundle inside the loop costs more than the loop.
    kind_of_run, priority, end = victims.kind, victims.priority, victims.end
    interruption, reclamation = victims.interruption, victims.reclamation
    eligible, domain_of_kind = kinds.eligible, kinds.domain
    size = 0
    for q in range(len(queue)):
        n = queue[q]
        key, same, spread_key = needs.key[n], needs.same[n], needs.spread[n]
        own_priority = needs.priority[n]
        homeless = same >= 0 and domain[n] < 0
        live = 0
        for v in range(len(kind_of_run)):
            kind = kind_of_run[v]
            if (
                priority[v] >= own_priority
                or cursor[v] >= end[v]
                or not eligible[key, kind]
                or (homeless and domain_of_kind[same, kind] < 0)
                or (same >= 0 and not homeless and domain_of_kind[same, kind] != domain[n])
                or (spread_key >= 0 and domain_of_kind[spread_key, kind] < 0)
            ):
                continue
            scores[v] = _score(
                own_priority - priority[v],
                drain_seconds,
                interruption[v],
                reclamation[v],
                weights,
            )
            usable[live] = v
            live += 1
        if live == 0:
            continue
        taken_whole = usable[:0]
        left = copy_of_int64s(needs.wanted[n])
        if homeless:
            chosen, taken_whole = _whole_domain(n, usable[:live], needs, kinds, victims, cursor)
            if chosen < 0:
                continue
            domain[n] = chosen
            whole_domain[n] = True
        spread = spread_key >= 0
        counts = new_int64s(np.int64(0))
        exists = new_bools(np.int64(0))
        slack = max(np.int64(1), needs.skew[n]) - 1
        if spread:
            counts, exists = _first_domains(
                n,
                needs,
                kinds,
                supply,
                holder,
                taken[taken_start[n] : taken_start[n] + taken_count[n]],
                draining[draining_starts[q] : draining_starts[q + 1]],
            )
            for u in range(live):
                exists[domain_of_kind[spread_key, kind_of_run[usable[u]]]] = True
        while not is_covered(left if homeless else unresolved[n]):
            lowest = np.int64(2**62)
            if spread:
                for where in range(len(counts)):
                    if exists[where] and counts[where] < lowest:
                        lowest = counts[where]
            best = _lowest_run(taken_whole, victims, cursor) if homeless else -1
            for u in range(0 if homeless else live):
                v = usable[u]
                if cursor[v] >= end[v]:
                    continue
                if spread and (counts[domain_of_kind[spread_key, kind_of_run[v]]] > lowest + slack):
                    continue
                if best < 0 or _goes_first(v, best, victims, scores, cursor):
                    best = v
            if best < 0:
                break
            picked[size] = victims.rows[cursor[best]]
            picked_for[size] = n
            graces[size] = _grace(own_priority - priority[best])
            size += 1
            cursor[best] += 1
            preempts[n] += 1
            if spread:
                counts[domain_of_kind[spread_key, kind_of_run[best]]] += 1
            take(unresolved[n], kinds.units[kind_of_run[best]])
            take(left, kinds.units[kind_of_run[best]])
    return picked[:size], picked_for[:size], graces[:size]
