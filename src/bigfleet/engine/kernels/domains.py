"""Which domain serves a gang: totals per domain, compared rule by rule."""

import numpy as np

from bigfleet.engine.kernels.compiled import Int, Int32s, Int64s, Int64Table, step
from bigfleet.engine.kernels.vectors import covers


@step
def coverage(total: Int64s, wanted: Int64s, most: float) -> float:
    """Sum over wanted dimensions, in name order, of the share that `total` offers, each at most
    `most`."""
    score = 0.0
    for d in range(len(wanted)):
        if wanted[d] > 0:
            share = float(total[d]) / float(wanted[d])
            if share > most:
                share = most
            score += share
    return score


@step
def choose_domain(
    wanted: Int64s,
    domains: Int32s,
    count: Int64s,
    total: Int64Table,
    creditable: Int64Table,
    own: Int64Table,
) -> Int:
    """Index into `domains` of the one that serves the gang best, -1 if there is none.

    Satisfiable beats unsatisfiable. Among satisfiable ones: most already credited, most of it the
    gang's own, then the tightest fit. Among the others: the largest share, then most credited.
    Last: more machines, then the smaller value. `domains` numbers values in their order.
    """
    best: Int = np.int64(-1)
    for i in range(len(domains)):
        if count[i] == 0:
            continue
        if best < 0 or _is_better(i, best, wanted, domains, count, total, creditable, own):
            best = i
    return best


@step
def _is_better(
    a: Int,
    b: Int,
    wanted: Int64s,
    domains: Int32s,
    count: Int64s,
    total: Int64s,
    creditable: Int64s,
    own: Int64s,
) -> bool:
    a_fits, b_fits = covers(total[a], wanted), covers(total[b], wanted)
    if a_fits != b_fits:
        return bool(a_fits)
    a_credit, b_credit = (
        coverage(creditable[a], wanted, 1.0),
        coverage(creditable[b], wanted, 1.0),
    )
    if a_fits:
        if a_credit != b_credit:
            return bool(a_credit > b_credit)
        a_own, b_own = coverage(own[a], wanted, 1.0), coverage(own[b], wanted, 1.0)
        if a_own != b_own:
            return bool(a_own > b_own)
        a_size, b_size = coverage(total[a], wanted, np.inf), coverage(total[b], wanted, np.inf)
        if a_size != b_size:
            return bool(a_size < b_size)
    else:
        a_share, b_share = coverage(total[a], wanted, 1.0), coverage(total[b], wanted, 1.0)
        if a_share != b_share:
            return bool(a_share > b_share)
        if a_credit != b_credit:
            return bool(a_credit > b_credit)
    if count[a] != count[b]:
        return bool(count[a] > count[b])
    return bool(domains[a] < domains[b])
