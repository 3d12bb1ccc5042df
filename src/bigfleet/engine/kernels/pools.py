"""Grouping the Idle and Speculative machines into runs."""

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Int, Int8s, Int32s, Int64s, kernel
from bigfleet.engine.kernels.new_arrays import filled_int32s, filled_int64s, new_bools, new_int32s

IDLE, SPECULATIVE = 3, 1


@kernel
def pool_runs(
    state: Int8s, held: Int8s, kind_of_row: Int32s, kinds: int, guarded: Int32s
) -> tuple[Int32s, Int32s, Int32s, Int32s, Int32s, Bools, Int32s, Int64s]:
    """Runs of equal state and kind; each guarded row (sorted) that is in the pool is its own run.

    Returns rows, run of each machine, and per run: start, end, kind, speculative, position in
    `guarded` (-1: free); last the pool's machines per kind, guarded ones included.
    """
    counts = filled_int32s(2 * kinds, np.int64(0))
    machines = filled_int64s(kinds, np.int64(0))
    lone = new_bools(len(guarded))
    size: Int = np.int64(0)
    g = 0
    for row in range(len(state)):
        while g < len(guarded) and guarded[g] < row:
            g += 1
        if (state[row] == IDLE or state[row] == SPECULATIVE) and held[row] == 0:
            machines[kind_of_row[row]] += 1
            size += 1
            if g < len(guarded) and guarded[g] == row:
                lone[g] = True
            else:
                counts[2 * kind_of_row[row] + (state[row] == SPECULATIVE)] += 1
    runs: Int = np.int64(0)
    for group in range(2 * kinds):
        runs += counts[group] > 0
    for g in range(len(guarded)):
        runs += lone[g]
    start = new_int32s(runs)
    end = new_int32s(runs)
    kind = new_int32s(runs)
    speculative = new_bools(runs)
    guard = filled_int32s(runs, np.int64(-1))
    run_of_group = filled_int32s(2 * kinds, np.int64(-1))
    r = 0
    place = 0
    for group in range(2 * kinds):
        if counts[group] > 0:
            run_of_group[group] = r
            start[r], end[r] = place, place
            kind[r], speculative[r] = group // 2, group % 2 == 1
            place += counts[group]
            r += 1
    rows = new_int32s(size)
    run_of_row = new_int32s(len(state))
    g = 0
    for row in range(len(state)):
        while g < len(guarded) and guarded[g] < row:
            g += 1
        if (state[row] != IDLE and state[row] != SPECULATIVE) or held[row] != 0:
            continue
        if g < len(guarded) and guarded[g] == row:
            start[r], end[r] = place, place + 1
            kind[r], speculative[r] = kind_of_row[row], state[row] == SPECULATIVE
            guard[r] = g
            rows[place] = row
            run_of_row[row] = r
            place += 1
            r += 1
        else:
            run = run_of_group[2 * kind_of_row[row] + (state[row] == SPECULATIVE)]
            rows[end[run]] = row
            run_of_row[row] = run
            end[run] += 1
    return rows, run_of_row, start, end, kind, speculative, guard, machines
