"""The commit broker: proposals become claims here and nowhere else.

Bucket sequence numbers count the machines taken from a run, which is exactly its cursor: a proposal
is stale iff some run it could use no longer stands where its worker saw it. Proposals are committed
in precedence order; a stale one is proposed again on the spot against the claims as they are, so
the outcome is that of the naive single pass whatever the workers did (ADR-0005).
"""

from typing import NamedTuple

import numpy as np

from bigfleet.engine.kernels.acquire import candidates_left, propose, scratch_for
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s, kernel
from bigfleet.engine.kernels.records import KindArrays, NeedArrays, PoolArrays, SupplyArrays
from bigfleet.engine.kernels.vectors import grown, next_free, take

CONFLICT = -1

PROPOSALS, COMMITTED, CONFLICTS, DISPLACEMENTS, RETRIES = 0, 1, 2, 3, 4


@kernel
def commit(
    n: int,
    rows: Int32s,
    all_or_nothing: bool,
    holder: Int32s,
    precedence_of_need: Int64s,
    committed: Int32s,
    displaced: Int32s,
) -> tuple[int, int]:
    """Claim `rows` for Need n; returns how many were committed and how many Needs lost one.

    A machine is free, displaceable (its holder is strictly lower) or conflicted. Nothing changes
    before every machine is classified: all-or-nothing with a conflict, or nothing claimable at all,
    is a conflict as a whole. `displaced` receives each Need that lost a machine once.
    """
    size = 0
    for i in range(len(rows)):
        held_by = holder[rows[i]]
        if held_by < 0 or precedence_of_need[held_by] < precedence_of_need[n]:
            committed[size] = rows[i]
            size += 1
        elif all_or_nothing:
            return CONFLICT, 0
    if size == 0:
        return CONFLICT, 0
    losers = 0
    for i in range(size):
        held_by = holder[committed[i]]
        if held_by >= 0:
            known = False
            for j in range(losers):
                known = known or displaced[j] == held_by
            if not known:
                displaced[losers] = held_by
                losers += 1
        holder[committed[i]] = n
    return size, losers


@kernel
def contention_areas(queue: Int64s, key_of_need: Int32s, pool: PoolArrays) -> Int32s:
    """For each Need of the queue the area it contends in; -1: it may use nothing at all.

    Two Needs are in one area if a chain of shared runs leads from one to the other, so what
    happens in one area never matters in another.
    """
    parent = np.empty(len(pool.start), np.int32)
    for r in range(len(parent)):
        parent[r] = r
    for q in range(len(queue)):
        key = key_of_need[queue[q]]
        if pool.key_starts[key] == pool.key_starts[key + 1]:
            continue
        first = next_free(parent, pool.key_runs[pool.key_starts[key]])
        if q > 0 and key_of_need[queue[q - 1]] == key:
            continue
        for r in range(pool.key_starts[key] + 1, pool.key_starts[key + 1]):
            other = next_free(parent, pool.key_runs[r])
            parent[other] = first
    area = np.full(len(queue), -1, np.int32)
    for q in range(len(queue)):
        key = key_of_need[queue[q]]
        if pool.key_starts[key] < pool.key_starts[key + 1]:
            area[q] = next_free(parent, pool.key_runs[pool.key_starts[key]])
    return area


@kernel
def propose_slice(
    queue: Int64s,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    pool: PoolArrays,
    holder: Int32s,
    domain: Int32s,
    may_acquire: Bools,
    remaining: Int64s,
    cursor: Int32s,
) -> tuple[Int32s, Int64s]:
    """One worker's proposals for its share of the queue: rows, and where each Need's begin.

    The worker assumes its own earlier proposals will be committed and knows of no other's; `cursor`
    is where it sees the runs.
    """
    starts = np.zeros(len(queue) + 1, np.int64)
    scratch = scratch_for(pool)
    left = np.empty(remaining.shape[1], np.int64)
    kept = np.empty(max(16, len(queue)), np.int32)
    size = 0
    for q in range(len(queue)):
        n = queue[q]
        for d in range(len(left)):
            left[d] = remaining[n, d]
        found = propose(
            n, needs, kinds, supply, pool, holder, domain, may_acquire, cursor, left, scratch
        )
        while size + found > len(kept):
            kept = grown(kept)
        for i in range(found):
            kept[size + i] = scratch.rows[i]
        size += found
        starts[q + 1] = size
    return kept[:size], starts


class Ledger(NamedTuple):
    """What the broker writes: per machine its holder, per Need what it took and still lacks."""

    holder: Int32s  # M
    remaining: Int64s  # N x D
    taken: Int32s  # machines in the order they were claimed
    taken_start: Int64s  # N
    taken_count: Int64s  # N
    turn: Int32s  # N, position in the queue
    skew_stopped: Bools  # N
    counters: Int64s


@kernel
def commit_queue(
    queue: Int64s,
    worker: Int32s,
    contested: Bools,
    proposed: Int32s,
    proposed_start: Int64s,
    proposed_end: Int64s,
    workers: int,
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    pool: PoolArrays,
    domain: Int32s,
    may_acquire: Bools,
    all_or_nothing: Bools,
    ledger: Ledger,
) -> None:
    """Commit every proposal in order of the queue.

    `contested` marks Needs whose area was dealt to several workers: only they can be stale.
    """
    cursor = pool.start.copy()
    expected = np.empty((workers, len(cursor)), np.int32)
    for w in range(workers):
        for r in range(len(cursor)):
            expected[w, r] = cursor[r]
    committed = np.empty(len(pool.rows), np.int32)
    displaced = np.empty(len(pool.rows), np.int32)
    size = 0
    for q in range(len(queue)):
        n = queue[q]
        rows = proposed[proposed_start[q] : proposed_end[q]]
        ledger.counters[PROPOSALS] += 1
        stale = False
        if contested[q]:
            seen = expected[worker[q]]
            for r in range(pool.key_starts[needs.key[n]], pool.key_starts[needs.key[n] + 1]):
                stale = stale or seen[pool.key_runs[r]] != cursor[pool.key_runs[r]]
            for i in range(len(rows)):
                seen[pool.run_of_row[rows[i]]] += 1
        if stale:
            ledger.counters[CONFLICTS] += 1
            ledger.counters[RETRIES] += 1
            rows, _ = propose_slice(
                queue[q : q + 1],
                needs,
                kinds,
                supply,
                pool,
                ledger.holder,
                domain,
                may_acquire,
                ledger.remaining,
                cursor,
            )
        else:
            for i in range(len(rows)):
                cursor[pool.run_of_row[rows[i]]] += 1
        ledger.taken_start[n] = size
        if len(rows):
            count, losers = commit(
                n, rows, all_or_nothing[n], ledger.holder, needs.precedence, committed, displaced
            )
            ledger.counters[COMMITTED] += 1
            ledger.counters[DISPLACEMENTS] += losers
            ledger.taken_count[n] = count
            for i in range(count):
                ledger.taken[size] = committed[i]
                size += 1
                take(ledger.remaining[n], kinds.units[supply.kind[committed[i]]])
        if needs.spread[n] >= 0:
            ledger.skew_stopped[n] = candidates_left(n, needs, kinds, pool, cursor)
        ledger.turn[n] = q
