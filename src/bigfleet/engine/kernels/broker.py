"""The commit broker: proposals become claims here and nowhere else.

Bucket sequence numbers count the machines taken from a run, which is exactly its cursor: a proposal
is stale iff some run it could use no longer stands where its worker saw it. Proposals are committed
in precedence order; a stale one is proposed again against the claims as they are before the next is
committed, so the outcome is that of the naive single pass for any workers (ADR-0005).
"""

from typing import NamedTuple

import numpy as np

from bigfleet.engine.kernels.acquire import (
    candidates_left,
    merge_runs,
    scratch_for,
    spread_runs,
)
from bigfleet.engine.kernels.compiled import (
    Bools,
    Int,
    Int32s,
    Int32Table,
    Int64s,
    Int64Table,
    kernel,
    step,
)
from bigfleet.engine.kernels.new_arrays import (
    filled_int32s,
    filled_int64s,
    new_bools,
    new_int32s,
    new_int64s,
)
from bigfleet.engine.kernels.records import KindArrays, NeedArrays, PoolArrays, SupplyArrays
from bigfleet.engine.kernels.vectors import is_covered, may_use, next_free, take

CONFLICT = -1
#: Of a run no piece may use: above every piece.
_NO_PIECE = 2**31 - 1

#: Columns of the counters; their rows are modes: incremental, all-or-nothing.
PROPOSALS, COMMITTED, CONFLICTS, DISPLACEMENTS, RETRIES, RETRIES_COMMITTED = 0, 1, 2, 3, 4, 5


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


#: As part of a kernel; the one above is for Python.
_commit = step(commit)


@kernel
def contention_areas(asked: Bools, runs: int, key_starts: Int32s, key_runs: Int32s) -> Int32s:
    """For each key the area its Needs contend in; -1: they may use nothing at all.

    Two of the keys that are asked for are in one area if a chain of shared runs leads from one to
    the other, so what happens in one area never matters in another.
    """
    parent = new_int32s(runs)
    for r in range(len(parent)):
        parent[r] = r
    for key in range(len(asked)):
        if asked[key] and key_starts[key] < key_starts[key + 1]:
            first = next_free(parent, np.int64(key_runs[key_starts[key]]))
            for r in range(key_starts[key] + 1, key_starts[key + 1]):
                parent[next_free(parent, np.int64(key_runs[r]))] = first
    area = filled_int32s(len(asked), np.int64(-1))
    for key in range(len(asked)):
        if asked[key] and key_starts[key] < key_starts[key + 1]:
            area[key] = next_free(parent, np.int64(key_runs[key_starts[key]]))
    return area


@kernel
def conflicts_of_cut(
    key_of_place: Int32s, piece_of_place: Int32s, runs: int, key_starts: Int32s, key_runs: Int32s
) -> int:
    """How many places of an area may find their proposal stale if it is cut into these pieces.

    A place may be stale if an earlier piece may use one of its runs. Pieces are in queue order.
    """
    first_piece = filled_int32s(runs, np.int64(_NO_PIECE))
    asked_in = filled_int32s(len(key_starts) - 1, np.int64(-1))
    clashes = new_bools(len(key_starts) - 1)
    found = 0
    for place in range(len(key_of_place)):
        key, piece = key_of_place[place], piece_of_place[place]
        if asked_in[key] != piece:
            asked_in[key] = piece
            clashes[key] = False
            for r in range(key_starts[key], key_starts[key + 1]):
                run = key_runs[r]
                clashes[key] = clashes[key] or first_piece[run] < piece
                if piece < first_piece[run]:
                    first_piece[run] = piece
        found += clashes[key]
    return found


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
    remaining: Int64Table,
    cursor: Int32s,
) -> tuple[Int32s, Int64s]:
    """One worker's proposals for its share of the queue: rows, and where each Need's begin.

    The worker assumes its own earlier proposals will be committed and knows of no other's; `cursor`
    is where it sees the runs.
    """
    scratch = scratch_for(pool)
    usable, costs, heads, proposed = scratch
    # Columns named once: taking one out of its bundle inside the loop costs seven times the loop.
    key_of_need, same, spread, penalty = needs.key, needs.same, needs.spread, needs.penalty
    key_starts, key_runs, end, rows = pool.key_starts, pool.key_runs, pool.end, pool.rows
    kind_of_run, is_speculative, guard = pool.kind, pool.speculative, pool.guard
    price, probability, units = kinds.price, kinds.probability, kinds.units
    domain_of_kind, parked = kinds.domain, needs.parked
    starts = filled_int64s(len(queue) + 1, np.int64(0))
    left = new_int64s(remaining.shape[1])
    size: Int = np.int64(0)
    for q in range(len(queue)):
        n = queue[q]
        for d in range(len(left)):
            left[d] = remaining[n, d]
        if spread[n] >= 0:
            size = spread_runs(n, needs, kinds, supply, pool, holder, cursor, left, scratch, size)
        elif same[n] < 0 or (not parked[n] and domain[n] >= 0 and may_acquire[n]):
            for speculative in (False, True):
                live, best = 0, -1
                for r in range(key_starts[key_of_need[n]], key_starts[key_of_need[n] + 1]):
                    run = key_runs[r]
                    kind = kind_of_run[run]
                    if (
                        cursor[run] >= end[run]
                        or is_speculative[run] != speculative
                        or (same[n] >= 0 and domain_of_kind[same[n], kind] != domain[n])
                        or (guard[run] >= 0 and not may_use(n, run, needs, pool))
                    ):
                        continue
                    usable[live] = run
                    costs[live] = price[kind]
                    if probability[kind] > 0.0:
                        costs[live] += probability[kind] * penalty[n]
                    heads[live] = rows[cursor[run]]
                    if best < 0 or (
                        costs[live] < costs[best]
                        or (costs[live] == costs[best] and heads[live] < heads[best])
                    ):
                        best = live
                    live += 1
                size = merge_runs(
                    usable,
                    live,
                    best,
                    costs,
                    heads,
                    proposed,
                    size,
                    kind_of_run,
                    end,
                    rows,
                    units,
                    cursor,
                    left,
                )
                if is_covered(left):
                    break
        starts[q + 1] = size
    return proposed[:size], starts


class Ledger(NamedTuple):
    """What the broker writes: per machine its holder, per Need what it took and still lacks."""

    holder: Int32s  # M
    remaining: Int64Table  # N x D
    taken: Int32s  # machines in the order they were claimed
    taken_start: Int64s  # N
    taken_count: Int64s  # N
    skew_stopped: Bools  # N
    counters: Int64Table  # 2 x 6


@kernel
def commit_queue(
    place: int,
    size: int,
    again: Int32s,
    is_again: bool,
    queue: Int64s,
    worker: Int32s,
    contested: Bools,
    proposed: Int32s,
    proposed_start: Int64s,
    proposed_end: Int64s,
    expected: Int32Table,
    cursor: Int32s,
    needs: NeedArrays,
    kinds: KindArrays,
    kind_of_row: Int32s,
    pool: PoolArrays,
    all_or_nothing: Bools,
    ledger: Ledger,
) -> tuple[int, int]:
    """Commit proposals in order of the queue, from `place` on, until one is stale.

    Returns the place of the stale one, or the length of the queue, and how many machines are taken.
    The caller proposes for that place again and calls with these numbers, the proposal as `again`
    and `is_again`; `propose_slice` has moved `cursor` then. `contested` marks Needs whose area was
    dealt to several workers: only they can be stale. Row w of `expected` is where worker w saw the
    runs before its next Need.
    """
    committed = new_int32s(len(pool.rows))
    displaced = new_int32s(len(pool.rows))
    for q in range(place, len(queue)):
        n = queue[q]
        mode = 1 if all_or_nothing[n] else 0
        rows = proposed[proposed_start[q] : proposed_end[q]]
        retried = is_again and q == place
        if retried:
            rows = again
        else:
            ledger.counters[mode, PROPOSALS] += 1
            stale = False
            if contested[q]:
                seen = expected[worker[q]]
                for r in range(pool.key_starts[needs.key[n]], pool.key_starts[needs.key[n] + 1]):
                    stale = stale or seen[pool.key_runs[r]] != cursor[pool.key_runs[r]]
                for i in range(len(rows)):
                    seen[pool.run_of_row[rows[i]]] += 1
            if stale:
                ledger.counters[mode, CONFLICTS] += 1
                ledger.counters[mode, RETRIES] += 1
                return q, size
            for i in range(len(rows)):
                cursor[pool.run_of_row[rows[i]]] += 1
        ledger.taken_start[n] = size
        if len(rows):
            count, losers = _commit(
                n, rows, all_or_nothing[n], ledger.holder, needs.precedence, committed, displaced
            )
            ledger.counters[mode, COMMITTED] += 1
            ledger.counters[mode, DISPLACEMENTS] += losers
            if retried:
                ledger.counters[mode, RETRIES_COMMITTED] += 1
            ledger.taken_count[n] = count
            for i in range(count):
                ledger.taken[size] = committed[i]
                size += 1
                take(ledger.remaining[n], kinds.units[kind_of_row[committed[i]]])
        if needs.spread[n] >= 0:
            ledger.skew_stopped[n] = candidates_left(n, needs, kinds, pool, cursor)
    return len(queue), size
